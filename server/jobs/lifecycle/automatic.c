#include "server/jobs/lifecycle/automatic.h"

#include <stdlib.h>

#include "engine/first_model/explanation.h"
#include "server/process/data_dir.h"

ep_status ep_automatic_explain(ep_jobs *jobs, const ep_dataset_meta *meta, ep_checked_spec *checked,
                               ep_problem *problem) {
  char folder[EP_PATH_BYTES];
  ep_error error = {0};
  const char *sha256 = checked->spec->data.sha256;
  ep_explained explained = {.facts = checked->facts,
                            .spec = checked->spec,
                            .meta = meta,
                            .folder = sha256[0] ? folder : NULL,
                            .shape = &checked->plan->shape};
  ep_status status = EP_OK;
  if (!checked->facts || checked->automatic) return EP_OK;
  if (checked->sweep) {
    explained.model_varies = ep_sweep_field_varies(checked->sweep, "/model");
    explained.epochs_vary = ep_sweep_field_varies(checked->sweep, "/epochs");
  }
  if (sha256[0]) status = ep_path_join(folder, &error, jobs->data_dir, "datasets", sha256, NULL);
  if (status == EP_OK) status = ep_first_model_explain(&explained, &checked->automatic, &error);
  return status == EP_OK ? EP_OK : ep_problem_from_error(problem, &error);
}
