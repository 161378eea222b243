#include "server/check/checkup.h"

#include <stdarg.h>
#include <string.h>

#include "engine/files/path.h"

void ep_checkup_fault(ep_checkup *checkup, const char *what, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(checkup->out, "%s: ", what);
  vfprintf(checkup->out, format, arguments);
  fputc('\n', checkup->out);
  va_end(arguments);
  checkup->faults++;
}

ep_status ep_checkup_rows(ep_checkup *checkup, ep_checkup_row *visit, ep_error *error) {
  char after[EP_ID_BYTES] = "~"; /* sorts after every id */
  ep_status status = EP_OK;
  for (bool more = true; status == EP_OK && more;) {
    ep_job_rows list;
    ep_job_page page = {.state = -1, .after = after, .limit = EP_LIMIT_LIST_JOBS};
    status = ep_store_jobs_list(checkup->store, &page, &list, error);
    for (int64_t i = 0; status == EP_OK && i < list.count; i++) {
      memcpy(after, list.rows[i].id, sizeof after);
      visit(checkup, &list.rows[i]);
    }
    more = status == EP_OK && list.count > 0;
    ep_job_rows_deinit(&list);
  }
  return status;
}

ep_status ep_checkup_path(const ep_checkup *checkup, const char *id, const char *file, char *path,
                          ep_error *error) {
  return ep_path_join(path, error, checkup->data_dir, "jobs", id, file, NULL);
}
