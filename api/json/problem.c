#include "api/json/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The longest response: every text at its longest, every byte escaped to six. */
enum { PROBLEM_TEXT_LIMIT = 1 << 20 };

ep_status ep_problem_add(ep_problem *problem, ep_status status, const char *pointer,
                         const char *format, ...) {
  if (!problem) return status;
  char detail[EP_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  if (problem->status == EP_OK) {
    problem->status = status;
    snprintf(problem->detail, sizeof problem->detail, "%s", detail);
  }
  if (problem->errors_count < EP_LIMIT_PROBLEM_ERRORS) {
    ep_problem_error *error = &problem->errors[problem->errors_count++];
    snprintf(error->pointer, sizeof error->pointer, "%s", pointer);
    snprintf(error->detail, sizeof error->detail, "%s", detail);
  }
  return status;
}

ep_status ep_problem_set(ep_problem *problem, ep_status status, const char *format, ...) {
  if (!problem) return status;
  problem->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem->detail, sizeof problem->detail, format, arguments);
  va_end(arguments);
  return status;
}

ep_status ep_problem_fail_memory(ep_problem *problem) {
  return ep_problem_set(problem, EP_NO_MEMORY, "%s", ep_status_text(EP_NO_MEMORY));
}

ep_status ep_problem_from_error(ep_problem *problem, const ep_error *error) {
  if (error->pointer[0])
    return ep_problem_add(problem, error->status, error->pointer, "%s", error->message);
  return ep_problem_set(problem, error->status, "%s",
                        error->message[0] ? error->message : ep_status_text(error->status));
}

ep_status ep_problem_to_error(const ep_problem *problem, ep_error *error) {
  return ep_fail_at(error, problem->status, problem->errors[0].pointer, "%s", problem->detail);
}

void ep_problem_errors_write(ep_writer *writer, const ep_problem_error *error, int count) {
  for (int i = 0; i < count; i++) {
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "pointer", error[i].pointer);
    ep_writer_member_string(writer, "detail", error[i].detail);
    ep_writer_close(writer, '}');
  }
}

char *ep_problem_format(const ep_problem *problem, const char *instance) {
  ep_writer writer;
  char type[64];
  snprintf(type, sizeof type, "urn:epochd:problem:%s", ep_status_name(problem->status));
  ep_writer_init(&writer, PROBLEM_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "type", type);
  ep_writer_member_string(&writer, "title", ep_status_text(problem->status));
  ep_writer_member_integer(&writer, "status", ep_status_http(problem->status));
  ep_writer_member_string(&writer, "detail",
                          problem->detail[0] ? problem->detail : ep_status_text(problem->status));
  if (instance) {
    ep_writer_member_string(&writer, "instance", instance);
  }
  ep_writer_member_open(&writer, "errors", '[');
  ep_problem_errors_write(&writer, problem->errors, problem->errors_count);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
