/* spec_tree.h: a job that is part of a larger JSON text. */
#ifndef EP_API_SPEC_SPEC_TREE_H
#define EP_API_SPEC_SPEC_TREE_H

#include "api/json/fields.h"
#include "api/spec/job_spec.h"

/* Reads the job `root` at the reader's place, as ep_job_spec_parse does. */
ep_status ep_job_spec_read(ep_field_reader *reader, const json_t *root, ep_job_spec **out);

#endif
