/* The store itself: SQLite's own check of its pages and indices. */
#include "server/check/checkup.h"
#include "server/store/integrity.h"

static void fault_print(void *context, const char *text) {
  ep_checkup_fault(context, EP_STORE_FILE, "%s", text);
}

ep_status ep_check_store(ep_checkup *checkup, ep_error *error) {
  return ep_store_integrity(checkup->store, fault_print, checkup, error);
}
