#include "server/jobs/views/ranks.h"

#include <string.h>

#include "api/json/scanner.h"
#include "engine/data/prepare/job.h"

bool ep_job_ranks_find(const char *data_dir, const ep_job_row *row, ep_parallel_view *out) {
  ep_scanner spec = {row->spec, row->spec + strlen(row->spec)};
  if (!ep_scan_member(&spec, "parallel") || ep_scan_peek(&spec) != '{') return false;
  ep_job job;
  bool found =
      ep_job_open(&(ep_job_source){.text = row->spec, .data_dir = data_dir}, &job, NULL) == EP_OK &&
      ep_plan_parallel(job.plan, job.spec, out);
  ep_job_close(&job);
  return found;
}
