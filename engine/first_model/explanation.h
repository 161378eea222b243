/* explanation.h: what an automatic job got, for the one who sent it. */
#ifndef EP_ENGINE_FIRST_MODEL_EXPLANATION_H
#define EP_ENGINE_FIRST_MODEL_EXPLANATION_H

#include "engine/first_model/first_model.h"
#include "engine/plan/plan.h"

typedef struct {
  const ep_model_facts *facts; /* what the choice was made by */
  const ep_job_spec *spec;     /* what became of it; of a sweep at its first point */
  const ep_dataset_meta *meta; /* NULL: there is no description */
  const char *folder;          /* of a dataset; NULL: none */
  const ep_data_shape *shape;
  bool model_varies, epochs_vary; /* in a sweep */
} ep_explained;

/* {"summary": …, "task": …, "target": …, …} as docs/reference/api.md has it. May read the targets,
 * to count classes that the description has not counted. The caller owns *out (free). Faults as
 * ep_columns_plan's. */
ep_status ep_first_model_explain(const ep_explained *explained, char **out, ep_error *error);

#endif
