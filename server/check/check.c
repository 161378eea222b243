#include "server/check/check.h"

#include <unistd.h>

#include "server/check/checkup.h"
#include "server/process/data_dir.h"

typedef ep_status check_function(ep_checkup *checkup, ep_error *error);

static check_function *const checks[] = {
#define CHECK_ROW(function) function,
    EP_CHECKS(CHECK_ROW)
#undef CHECK_ROW
};

/* A check that cannot go on is a fault, and the others go on. */
static void checks_run(ep_checkup *checkup) {
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    ep_error error = {0};
    if (checks[i](checkup, &error) != EP_OK)
      ep_checkup_fault(checkup, checkup->data_dir, "%s", error.message);
  }
}

ep_status ep_check_run(const char *data_dir, FILE *out, int64_t *faults, ep_error *error) {
  char path[EP_PATH_BYTES];
  int lock = -1;
  ep_checkup checkup = {.data_dir = data_dir, .out = out};
  ep_error why = {0};
  ep_status status = ep_data_dir_lock(data_dir, &lock, error);
  if (status == EP_OK) status = ep_path_join(path, error, data_dir, EP_STORE_FILE, NULL);
  if (status == EP_OK) {
    if (!ep_data_dir_exists(path))
      ep_checkup_fault(&checkup, path, "it is not there; --rescue builds a new one");
    else if (ep_store_open(path, &checkup.store, &why) != EP_OK)
      ep_checkup_fault(&checkup, path, "%s", why.message);
    else
      checks_run(&checkup);
    ep_store_close(checkup.store);
  }
  if (lock >= 0) close(lock);
  *faults = checkup.faults;
  return status;
}
