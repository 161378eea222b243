/* The figures of a header, which are lines of its first comment. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/weights/c/export.h"

enum { HEAD_BYTES = 4096 };

/* line: " * Model-Rows: 10000 test", changed. */
static void line_take(char *line, ep_c_figure_take *take, void *context) {
  static const char begin[] = " * Model-";
  char *colon = strstr(line, ": ");
  if (strncmp(line, begin, sizeof begin - 1) != 0 || !colon) return;
  *colon = 0;
  take(context, line + 3, colon + 2);
}

void ep_c_figures_read(int file, ep_c_figure_take *take, void *context) {
  char head[HEAD_BYTES];
  ssize_t bytes = pread(file, head, sizeof head - 1, 0);
  if (bytes <= 0) return;
  head[bytes] = 0;
  char *rest = head;
  for (char *line; (line = strsep(&rest, "\n")) && rest && !strstr(line, "*/");)
    line_take(line, take, context);
}
