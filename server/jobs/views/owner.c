#include "server/jobs/live/state.h"

ep_status ep_jobs_owner(ep_jobs *jobs, ep_owned kind, const char *name, ep_ownership *out,
                        ep_error *error) {
  return ep_store_owner(jobs->store, kind, name, out, error);
}

ep_status ep_jobs_see(ep_jobs *jobs, const ep_viewer *viewer, ep_owned kind, const char *name,
                      ep_error *error) {
  ep_ownership of;
  ep_status status = ep_store_owner(jobs->store, kind, name, &of, error);
  if (status != EP_OK || ep_viewer_sees(viewer, of.owner, of.private)) return status;
  return ep_owned_missing(kind, name, error);
}
