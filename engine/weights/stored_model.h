/* stored_model.h: a model as its weights file or a checkpoint has it, opened once: the shape of its
 * data, its columns and classes, and, where they are asked for, its spec and plan. No compute:
 * epochd links this. */
#ifndef EP_ENGINE_WEIGHTS_STORED_MODEL_H
#define EP_ENGINE_WEIGHTS_STORED_MODEL_H

#include "engine/data/prepare/prepare.h"
#include "engine/plan/plan.h"
#include "engine/weights/safetensors.h"

typedef struct {
  ep_tensors file;
  ep_data_shape shape;   /* that the plan is made from */
  ep_encoding *encoding; /* how the columns of a table became x: each cell itself where they were
                            plain numbers; NULL where these have no names */
  ep_words classes;      /* empty where they are numbers */
  /* From ep_stored_model_spec_load on, else NULL: */
  const char *spec_text; /* lent by the file */
  ep_job_spec *spec;
  /* From ep_stored_model_plan on: */
  ep_plan *plan;
  ep_scaling scaling;
  ep_normalization normalization;
} ep_stored_model;

/* The file is not trusted: EP_DATA. ep_stored_model_close, also on failure. */
ep_status ep_stored_model_open(const char *path, ep_stored_model *out, ep_error *error);
/* EP_INTERNAL: it has a spec that this version refuses. */
ep_status ep_stored_model_spec_load(ep_stored_model *model, ep_error *error);
/* The plan of the training, on one rank, which is of any executor then; the spec as well. predicts:
 * the plan is for a few rows at a time, given as float32. */
ep_status ep_stored_model_plan(ep_stored_model *model, bool predicts, ep_error *error);
void ep_stored_model_close(ep_stored_model *model); /* a zeroed one is allowed */

#endif
