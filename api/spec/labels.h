/* labels.h: what can be changed of a job that is there: its name, its tags, notes on it, its
 * priority, whether it is pinned, who sees it. */
#ifndef EP_API_SPEC_LABELS_H
#define EP_API_SPEC_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/problem.h"
#include "api/limits.h"
#include "api/spec/job_spec.h"

/* Those that a PATCH names. */
typedef struct {
  bool has_name, has_tags, has_notes, has_priority, has_pinned, has_visibility;
  char name[EP_LIMIT_NAME_BYTES + 1];
  char notes[EP_LIMIT_NOTES_BYTES + 1];
  char *tags; /* JSON text: an array of strings; owned */
  int priority;
  bool pinned, private;
} ep_labels;

/* Reads {"name": "a" | null, "tags": ["b"], "notes": "c" | null, "priority": 1, "pinned": true,
 * "visibility": "private"}, or a part of it (RFC 7396). Anything else is a fault with its pointer
 * in *problem. The caller owns *out: ep_labels_deinit. */
ep_status ep_labels_parse(const char *text, size_t bytes, ep_labels *out, ep_problem *problem);
void ep_labels_deinit(ep_labels *labels);

/* Reads {"visibility": "private"} or {}: what can be changed of a dataset and of a model. The same
 * faults; *out owns nothing. */
ep_status ep_visibility_patch_parse(const char *text, size_t bytes, ep_labels *out,
                                    ep_problem *problem);

/* A spec as ep_job_spec_format wrote it, with these labels in the place of its own and not a byte
 * else changed. *out is owned by the caller (free). */
ep_status ep_labels_apply(const char *spec, const ep_labels *labels, char **out, ep_error *error);

/* Gives labels without a name that of the data: of the dataset, the file or the generator. Rows
 * that stand in the job have none, and neither has what no job may be called. */
void ep_labels_name(ep_job_spec *labels, const ep_data_spec *data);

/* ["a","b"]; tags: [count]. Owned by the caller (free); NULL when memory is short. */
char *ep_tags_format(const char *const *tags, int count);

#endif
