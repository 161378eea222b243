#include "server/jobs/live/state.h"

ep_status ep_jobs_owner(ep_jobs *jobs, ep_owned kind, const char *name, char owner[EP_OWNER_BYTES],
                        ep_error *error) {
  return ep_store_owner(jobs->store, kind, name, owner, error);
}
