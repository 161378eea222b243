/* sweep_file.h: the sweep of a command line: a file, and the options of `epochctl sweep`. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_SWEEP_FILE_H
#define EP_CLIENTS_EPOCHCTL_INPUT_SWEEP_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "api/arguments/arguments.h"

/* Reads the file of the first word: a whole request with "job", or a job, which becomes one. Then
 * applies the options: --set with values or a range (axis.h) adds to the space, any other --set
 * changes the job. *out, the text of the request, is the caller's (free). EP_INVALID for a file
 * that is not a JSON object, for an edit that fails, and for an empty space. */
ep_status ep_sweep_file_read(const ep_arguments *arguments, char **out, size_t *out_bytes,
                             ep_error *error);
/* The same of a job on data: where no --set varies anything, the space is the server's to choose.
 * The sweep has the job's name, which `job` loses. */
ep_status ep_sweep_job_format(const ep_arguments *arguments, json_t *job, char **out,
                              size_t *out_bytes, ep_error *error);

#endif
