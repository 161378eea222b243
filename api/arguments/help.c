#include "api/arguments/help.h"

#include <string.h>

#include "api/json/utf8.h"

enum { WIDTH = 96, INDENT = 2, NAME_WIDTH = 26 };

void ep_help_label(const ep_option *option, char label[EP_HELP_LABEL_BYTES]) {
  char letter[8] = "";
  if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  snprintf(label, EP_HELP_LABEL_BYTES, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
           option->value ? option->value : "");
}

void ep_help_wrap(FILE *out, const char *text, int indent, int from) {
  int column = from;
  while (*text) {
    if (*text == '\n') {
      fprintf(out, "\n");
      if (text[1] == '\n') fprintf(out, "\n");
      text += strspn(text, "\n");
      column = 0;
      continue;
    }
    int bytes = (int)strcspn(text, " \n");
    if (column > indent && column + 1 + bytes > WIDTH) {
      fprintf(out, "\n");
      column = 0;
    }
    if (column == 0) {
      fprintf(out, "%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      fprintf(out, " ");
      column++;
    }
    fprintf(out, "%.*s", bytes, text);
    column += bytes;
    text += bytes;
    while (*text == ' ') text++;
  }
  fprintf(out, "\n");
}

static int characters_count(const char *text) {
  int count = 0;
  for (size_t bytes = strlen(text); bytes > 0; count++) {
    size_t taken = ep_utf8_character(text, bytes);
    if (taken == 0) taken = 1;
    text += taken;
    bytes -= taken;
  }
  return count;
}

void ep_help_row(FILE *out, const char *name, const char *text) {
  int pad = NAME_WIDTH - INDENT - characters_count(name);
  fprintf(out, "%*s%s", INDENT, "", name);
  if (pad < 2)
    fprintf(out, "\n%*s", NAME_WIDTH, "");
  else
    fprintf(out, "%*s", pad, "");
  ep_help_wrap(out, text, NAME_WIDTH, NAME_WIDTH);
}

void ep_help_options(FILE *out, const ep_option *table) {
  char label[EP_HELP_LABEL_BYTES];
  for (; table->name; table++) {
    if (table->group) fprintf(out, "\n%s\n", table->group);
    ep_help_label(table, label);
    ep_help_row(out, label, table->doc);
  }
}
