/* notice.c: see notice.h. */
#include "server/process/log.h"

#include <stdarg.h>
#include <stdio.h>

static ep_log_sink *notice_sink;

void ep_log_set_sink(ep_log_sink *sink) {
  notice_sink = sink;
}

void ep_log(ep_log_level level, const char *format, ...) {
  static const char *const names[] = {"debug", "info", "warning", "error"};
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (notice_sink) {
    notice_sink(level, text);
  } else if (level >= EP_LOG_INFO) {
    fprintf(stderr, "%s: %s\n", names[level], text);
  }
}
