/* notice.c: see notice.h. */
#include "server/process/notice.h"

#include <stdarg.h>
#include <stdio.h>

static ep_notice_sink *notice_sink;

void ep_notice_set_sink(ep_notice_sink *sink) {
  notice_sink = sink;
}

void ep_notice(ep_notice_level level, const char *format, ...) {
  static const char *const names[] = {"debug", "info", "warning", "error"};
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (notice_sink != NULL) {
    notice_sink(level, text);
  } else if (level >= EP_NOTICE_INFO) {
    fprintf(stderr, "%s: %s\n", names[level], text);
  }
}
