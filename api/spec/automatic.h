/* automatic.h: a job that leaves its model, or its loss, to epochd: "model": "auto", "loss":
 * "auto". What is left open is chosen by engine/first_model and filled into the request's tree,
 * which is then read as any other. */
#ifndef EP_API_SPEC_AUTOMATIC_H
#define EP_API_SPEC_AUTOMATIC_H

#include "api/spec/spec.h"

#define EP_AUTOMATIC "auto"

typedef struct {
  struct json_t *job; /* in the request; a loan */
  ep_job_spec *spec;  /* of which `data` alone is read; owned */
  bool model;         /* the model is left open, and with it every field that is not given */
  bool loss;          /* the loss is; else it is spec->loss */
  bool test;          /* data.test is, */
  bool validation;    /* data.validation is: no folds are given either, */
  bool compared;      /* a sweep's trials or a job's epochs are, which takes a validation split */
  bool columns; /* and what is done to x: data.columns, features, exclude, standardize and so on */
  ep_layer_type last;   /* of a model that is given: its last layer, */
  int64_t last_outputs; /* and the width of that one where it is linear; else 0 */
} ep_automatic_job;

/* Reads a request; member: where the job stands in it ("job" of a sweep), NULL: it is one. *asked:
 * it leaves its model or its loss open. Else, and on failure, there is nothing to deinit; faults of
 * a request that leaves nothing open are none here. Faults of data: as ep_job_spec_parse. */
ep_status ep_automatic_read(struct json_t *request, const char *member, bool *asked,
                            ep_automatic_job *out, ep_problem *problem);

/* chosen: {"data": {…}, "model": {…}, "loss": …, …}, JSON: each field of it that the job does not
 * give becomes the job's, those of data one by one. On failure some are. */
ep_status ep_automatic_fill(ep_automatic_job *job, const char *chosen, ep_problem *problem);

void ep_automatic_deinit(ep_automatic_job *job); /* a zeroed one is allowed */

#endif
