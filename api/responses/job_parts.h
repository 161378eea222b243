/* job_parts.h: what jobs and sweeps are shown with alike, for the files of this room. */
#ifndef EP_API_RESPONSES_JOB_PARTS_H
#define EP_API_RESPONSES_JOB_PARTS_H

#include "api/responses/job.h"

/* Each writes members of the object that is open. */
/* id, object, name, tags, priority, pinned, status, device, executor */
void ep_job_head_write(ep_writer *writer, const ep_job_view *job, const char *object);
void ep_job_waiting_write(ep_writer *writer,
                          const ep_job_view *job); /* in the queue, or until when */
void ep_job_error_write(ep_writer *writer, const ep_job_view *job);
void ep_job_times_write(ep_writer *writer, const ep_job_view *job);

/* Opens "warnings", with what the submission was warned of, if anything. */
void ep_warnings_begin(ep_writer *writer, const char *remarks);

/* What ended the training before its last epoch, or NULL. */
const char *ep_job_stopped(const ep_job_view *job);

#endif
