/* The audit log: each line follows the one before. */
#include "server/audit/audit.h"

#include "server/check/checkup.h"

ep_status ep_check_audit(ep_checkup *checkup, ep_error *error) {
  int64_t lines = 0;
  ep_error why = {0};
  (void)error;
  if (ep_audit_check(checkup->data_dir, &lines, &why) != EP_OK)
    ep_checkup_fault(checkup, EP_AUDIT_FILE, "%s", why.message);
  return EP_OK;
}
