#include "api/json/warnings.h"

#include <stdio.h>
#include <stdlib.h>

void ep_warnings_add(ep_warnings *warnings, const char *pointer, const char *detail) {
  warnings->count++;
  if (!warnings->entry && warnings->count == 1)
    warnings->entry = calloc(EP_LIMIT_PROBLEM_ERRORS, sizeof *warnings->entry);
  if (!warnings->entry || warnings->listed == EP_LIMIT_PROBLEM_ERRORS) return;
  ep_problem_error *entry = &warnings->entry[warnings->listed++];
  snprintf(entry->pointer, sizeof entry->pointer, "%s", pointer);
  snprintf(entry->detail, sizeof entry->detail, "%s", detail);
}

void ep_warnings_write(ep_writer *writer, const ep_warnings *warnings) {
  if (warnings->count == 0) return;
  ep_writer_member_open(writer, "warnings", '[');
  ep_problem_errors_write(writer, warnings->entry, warnings->listed);
  ep_writer_close(writer, ']');
  if (warnings->count > warnings->listed)
    ep_writer_member_integer(writer, "warnings_left_out", warnings->count - warnings->listed);
}

void ep_warnings_line(const ep_warnings *warnings, char *out, size_t bytes) {
  size_t used = 0;
  *out = 0;
  for (int i = 0; i < warnings->listed && used < bytes; i++)
    used += (size_t)snprintf(out + used, bytes - used, "%s%s: %s", used ? "; " : "",
                             warnings->entry[i].pointer, warnings->entry[i].detail);
  if (warnings->count > warnings->listed && used < bytes)
    snprintf(out + used, bytes - used, "%sand %lld more", used ? "; " : "",
             (long long)(warnings->count - warnings->listed));
}

void ep_warnings_deinit(ep_warnings *warnings) {
  free(warnings->entry);
  *warnings = (ep_warnings){0};
}
