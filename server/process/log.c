#include "server/process/log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const LEVELS[] = {"debug", "info", "warning", "error"};

static ep_log_sink *log_sink;

const char *ep_log_level_name(ep_log_level level) {
  return LEVELS[level];
}

void ep_log_set_sink(ep_log_sink *sink) {
  log_sink = sink;
}

void ep_log(ep_log_level level, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (log_sink) {
    log_sink(level, text);
  } else if (level >= EP_LOG_INFO) {
    fprintf(stderr, "%s: %s\n", LEVELS[level], text);
  }
}
