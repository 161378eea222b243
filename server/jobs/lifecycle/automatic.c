#include "server/jobs/lifecycle/automatic.h"

#include <stdlib.h>

#include "engine/first_model/first_model.h"

/* Chooses, with the content that the job's data has at the moment; `checked` holds it. */
static ep_status choose(ep_jobs *jobs, const ep_automatic_job *job, ep_checked_spec *checked,
                        char **chosen, ep_problem *problem) {
  ep_dataset_meta meta = {0};
  ep_model_facts facts;
  bool described;
  ep_status status = ep_spec_data_find(jobs, checked, &described, &meta, problem);
  if (status != EP_OK) return status;
  status = ep_model_facts_find(job, described ? &meta : NULL, &facts, problem);
  ep_dataset_meta_deinit(&meta);
  if (status != EP_OK) return status;
  *chosen = ep_first_model_choose(&facts);
  ep_model_facts_deinit(&facts);
  return *chosen ? EP_OK : ep_problem_fail_memory(problem);
}

ep_status ep_automatic_spec_fill(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                                 bool sweep, ep_problem *problem) {
  ep_automatic_job job;
  bool asked;
  char *chosen = NULL;
  ep_status status = ep_automatic_read(request, sweep ? "job" : NULL, &asked, &job, problem);
  if (status != EP_OK || !asked) return status;
  ep_checked_spec checked = {.by = *by, .spec = job.spec};
  status = choose(jobs, &job, &checked, &chosen, problem);
  if (status != EP_OK && sweep) ep_spec_pointers_move(problem);
  if (status == EP_OK) status = ep_automatic_fill(&job, chosen, problem);
  free(chosen);
  job.spec = NULL; /* deinit frees it with its pins */
  ep_checked_spec_deinit(jobs, &checked);
  ep_automatic_deinit(&job);
  return status;
}
