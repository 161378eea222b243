#include "server/jobs/lifecycle/automatic.h"

#include <stdlib.h>

#include "engine/first_model/explanation.h"
#include "server/process/data_dir.h"

/* Chooses, with the content that the job's data has at the moment; `data` holds it. */
static ep_status choose(ep_jobs *jobs, const ep_automatic_job *job, ep_checked_spec *data,
                        ep_model_facts *facts, char **chosen, ep_problem *problem) {
  ep_job found;
  ep_status status = ep_spec_data_find(jobs, data, &found, problem);
  if (status == EP_OK)
    status = ep_model_facts_find(job, found.described ? &found.meta : NULL, facts, problem);
  ep_job_close(&found);
  if (status != EP_OK) return status;
  *chosen = ep_first_model_choose(facts);
  return *chosen ? EP_OK : ep_problem_fail_memory(problem);
}

ep_status ep_automatic_spec_fill(ep_jobs *jobs, struct json_t *request, bool sweep,
                                 ep_checked_spec *checked, ep_problem *problem) {
  ep_automatic_job job;
  bool asked;
  char *chosen = NULL;
  ep_status status = ep_automatic_read(request, sweep ? "job" : NULL, &asked, &job, problem);
  if (status != EP_OK || !asked) return status;
  ep_checked_spec data = {.by = checked->by, .spec = job.spec};
  checked->facts = calloc(1, sizeof *checked->facts);
  status = checked->facts ? choose(jobs, &job, &data, checked->facts, &chosen, problem)
                          : ep_problem_fail_memory(problem);
  if (status != EP_OK && sweep) ep_spec_pointers_move(problem);
  if (status == EP_OK) status = ep_automatic_fill(&job, chosen, problem);
  free(chosen);
  job.spec = NULL; /* deinit frees it with its pins */
  ep_checked_spec_deinit(jobs, &data);
  ep_automatic_deinit(&job);
  return status;
}

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
