/* first_model.h: a sensible first network for a job that leaves its model or its loss to epochd:
 * from what is known of its data without reading them. Nothing is searched: the choice is where a
 * user begins, who sees all of it in the job's spec. */
#ifndef EP_ENGINE_FIRST_MODEL_FIRST_MODEL_H
#define EP_ENGINE_FIRST_MODEL_FIRST_MODEL_H

#include "api/spec/automatic.h"
#include "engine/data/datasets/dataset.h"
#include "kernels/program.h"

/* A column that names rows. */
typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
  const char *reason; /* "counts the rows"; static */
} ep_identifier;

/* What the choice depends on. */
typedef struct {
  bool model, loss; /* left open, as in ep_automatic_job; else the loss is `given_loss` */
  ep_loss_type given_loss;
  ep_layer_type last; /* of a given model, as in ep_automatic_job */
  int64_t last_outputs;
  int64_t rows;           /* that neither test nor validate as the job stands */
  int64_t features;       /* of a row that a network takes */
  ep_shape row;           /* the same as a shape */
  int64_t target_columns; /* numbers to predict */
  int64_t classes;        /* of the target; 0: it is a number */
  int64_t labels;         /* of these classes, as many occur */
  bool test, validation;  /* these splits may be chosen */
  bool ordered;           /* time, groups or windows decide the splits, */
  bool grouped;           /* among them groups, of any size */
  int64_t example_rows;   /* successive ones, the target's counted; 0 as 1 */
  bool validated;         /* there is a validation split anyway */
  bool compared;          /* and there has to be one */
  bool table;             /* x is open, and its columns are those of a table, */
  bool pixels;            /* or bytes, or pictures of 16 bits; else numbers */
  double least, most;     /* of 16 bits; both 0: of bytes */
  bool columns;           /* x is open */
  ep_identifier *exclude; /* [exclude_count]: columns to leave out, owned */
  int64_t exclude_count;
  int64_t unsure; /* the target has so few whole numbers that it may be classes or a number; 0: it
                     is one of these for sure, or the job says which */
} ep_model_facts;

/* What there is to know of the job's data; meta: their description, NULL where they stand in the
 * spec or are made. Faults as ep_data_shape_find's, and a target of one value. On failure there is
 * nothing to deinit. */
ep_status ep_model_facts_find(const ep_automatic_job *job, const ep_dataset_meta *meta,
                              ep_model_facts *out, ep_problem *problem);
void ep_model_facts_deinit(ep_model_facts *facts);

/* The choice: the fields of a job as JSON, {"data": {"test": 0.2, …}, "model": {…}, "loss": …, …};
 * of a model that is given the loss alone. Owned by the caller (free); NULL when memory is short.
 *
 * Dense networks have two layers with dropout, images two to five convolutions with pools between;
 * AdamW with a decay that is the stronger, the fewer rows there are. The learning rate falls along
 * a cosine, and where rows suffice for a validation split the weights are those of its best epoch,
 * of a small one the last that is not much worse. */
char *ep_first_model_choose(const ep_model_facts *facts);

#endif
