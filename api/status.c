#include "api/status.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  ep_class class_;
  int http;
  const char *text;
} statuses[EP_STATUS_COUNT] = {
#define EP_STATUS_ROW(code, name_, class__, http_, text_) {name_, EP_CLASS_##class__, http_, text_},
    EP_STATUS_TABLE(EP_STATUS_ROW)
#undef EP_STATUS_ROW
};

__attribute__((format(printf, 4, 0))) static void error_set(ep_error *error, ep_status status,
                                                            const char *pointer, const char *format,
                                                            va_list arguments) {
  if (!error) return;
  error->status = status;
  snprintf(error->pointer, sizeof error->pointer, "%s", pointer);
  vsnprintf(error->message, sizeof error->message, format, arguments);
}

ep_status ep_fail(ep_error *error, ep_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  error_set(error, status, "", format, arguments);
  va_end(arguments);
  return status;
}

ep_status ep_fail_at(ep_error *error, ep_status status, const char *pointer, const char *format,
                     ...) {
  va_list arguments;
  va_start(arguments, format);
  error_set(error, status, pointer, format, arguments);
  va_end(arguments);
  return status;
}

ep_status ep_fail_memory(ep_error *error) {
  return ep_fail(error, EP_NO_MEMORY, "%s", ep_status_text(EP_NO_MEMORY));
}

const char *ep_status_name(ep_status status) {
  assert(status < EP_STATUS_COUNT);
  return statuses[status].name;
}

const char *ep_status_text(ep_status status) {
  assert(status < EP_STATUS_COUNT);
  return statuses[status].text;
}

int ep_status_http(ep_status status) {
  assert(status < EP_STATUS_COUNT);
  return statuses[status].http;
}

ep_class ep_status_class(ep_status status) {
  assert(status < EP_STATUS_COUNT);
  return statuses[status].class_;
}

ep_status ep_status_from_name(const char *name) {
  for (int i = 0; i < EP_STATUS_COUNT; i++)
    if (strcmp(statuses[i].name, name) == 0) return (ep_status)i;
  return EP_INTERNAL;
}

ep_status ep_status_from_errno(int number) {
  return number == ENOSPC || number == EDQUOT || number == EROFS ? EP_UNAVAILABLE : EP_IO;
}
