#include "clients/epochctl/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_UNKNOWN = 80, WIDTH_MAX = 1000 };

static const char *variable_read(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

/* As setlocale(3) chooses, without setlocale: printed numbers keep their point. */
static bool is_utf8(void) {
  const char *locale = variable_read("LC_ALL");
  if (!locale) locale = variable_read("LC_CTYPE");
  if (!locale) locale = variable_read("LANG");
  return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

ep_terminal ep_terminal_find(void) {
  const char *kind = variable_read("TERM");
  bool able = isatty(STDOUT_FILENO) && kind && strcmp(kind, "dumb") != 0;
  return (ep_terminal){
      .live = able, .colour = able && !variable_read("NO_COLOR"), .unicode = is_utf8()};
}

int ep_terminal_width(const ep_terminal *terminal) {
  struct winsize size;
  const char *columns = variable_read("COLUMNS");
  long width = columns ? strtol(columns, NULL, 10) : 0;
  if (terminal->live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    width = size.ws_col;
  if (width <= 0) width = terminal->live ? WIDTH_UNKNOWN : 0;
  return (int)(width > WIDTH_MAX ? WIDTH_MAX : width);
}

const char *ep_terminal_colour(const ep_terminal *terminal, ep_colour colour) {
  static const char *const SEQUENCES[EP_COLOUR_COUNT] = {
      [EP_COLOUR_PLAIN] = "\x1b[0m",  [EP_COLOUR_BOLD] = "\x1b[1m",
      [EP_COLOUR_DIM] = "\x1b[2m",    [EP_COLOUR_RED] = "\x1b[31m",
      [EP_COLOUR_GREEN] = "\x1b[32m", [EP_COLOUR_YELLOW] = "\x1b[33m",
      [EP_COLOUR_BLUE] = "\x1b[34m"};
  return terminal->colour ? SEQUENCES[colour] : "";
}
