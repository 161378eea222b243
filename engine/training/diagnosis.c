#include "engine/training/diagnosis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inspection/inspection.h"
#include "engine/training/verdict.h"
#include "kernels/operators/values.h"

/* Outputs that differ by less than this part of what the targets differ by are the same. */
static const double constant_most = 1e-3;
/* So many of a layer's units are worth a warning: a few die in any network, and half of them where
 * all inputs are positive. */
static const double dead_least = 0.75;
/* A sample of so many rows; fewer where the passes would take more operations than these, some
 * milliseconds of a core, or the outputs of a layer more values; none where few would be left. */
enum { SAMPLE_ROWS = 256, SAMPLE_ROWS_LEAST = 32, SAMPLE_VALUES = 1 << 22 };
static const double sample_operations = 1e8;

static float range_of(const float *values, int64_t count) {
  float least = INFINITY, most = -INFINITY;
  for (int64_t i = 0; i < count; i++) {
    if (values[i] < least) least = values[i];
    if (values[i] > most) most = values[i];
  }
  return most - least;
}

void ep_diagnosis_observe(ep_trainer *t, ep_split split, const float *outputs) {
  const ep_program *program = &t->plan->program;
  int64_t rows = t->data.rows[split];
  const float *y = t->data.y[split];
  if (rows == 0 || !outputs) return;
  bool one_number = program->out_features == 1 && !ep_loss_is_classifier(program->loss);
  t->constant = one_number && y && range_of(y, rows) > 0 &&
                range_of(outputs, rows) <= constant_most * range_of(y, rows);
}

/* The network up to op `last`, whose output is predicted. Parameters that follow stay unused. */
static ep_program program_cut(const ep_program *whole, int last) {
  ep_program cut = *whole;
  cut.out_features = cut.target_columns = whole->ops[last].out_features;
  cut.loss = EP_LOSS_MSE;
  cut.loss_parameter = 0;
  cut.label_smoothing = 0;
  cut.class_weights = NULL;
  cut.optimizer = (ep_optimizer){.type = EP_OPTIMIZER_SGD};
  cut.optimizer_floats = 0;
  cut.train_rows = cut.batch_size = cut.max_predict_rows = SAMPLE_ROWS;
  cut.data_bytes_max = 0;
  cut.parallel = (ep_parallel){0};
  return cut;
}

/* Outputs of op `last` for the sample: [rows, its out_features], written. */
static ep_status outputs_find(ep_trainer *t, int last, const void *sample, int64_t rows,
                              float *outputs, ep_error *error) {
  const ep_backend_ops *ops = t->job->backend_ops;
  ep_program cut = program_cut(&t->plan->program, last);
  ep_op *part = malloc((size_t)(last + 1) * sizeof *part);
  if (!part) return ep_fail_memory(error);
  cut.ops = part;
  cut.ops_count = ep_program_part(&t->plan->program, last, part);
  /* of a GPU the one that is not compiled for the network */
  const bool on_gpu = strcmp(ops->name, "cuda") == 0;
  const char *executor = on_gpu ? "cuda/general" : NULL;
  /* Nothing is trained there: no way back is prepared, and no product is searched. */
  const ep_parameter_group frozen = {.count = cut.parameters, .frozen = true};
  if (on_gpu) cut.groups = &frozen, cut.groups_count = 1;
  ep_instance *instance = NULL;
  ep_status status = ops->compile(t->job->backend, &cut, executor, &instance, error);
  if (status == EP_OK) status = ops->import_state(instance, t->state, NULL, error);
  if (status == EP_OK) status = ops->predict(instance, sample, rows, outputs, error);
  if (instance) ops->release(instance);
  free(part);
  return status;
}

/* Rows at equal distances, as they are stored: [rows]; owned by the caller. */
static void *sample_take(const ep_trainer *t, int64_t rows) {
  const ep_program *program = &t->plan->program;
  size_t value_bytes = program->x_type == EP_X_UINT8 ? 1 : sizeof(float);
  size_t row_bytes = (size_t)ep_shape_count(program->stored) * value_bytes;
  uint8_t *sample = malloc((size_t)rows * row_bytes);
  for (int64_t i = 0; sample && i < rows; i++)
    memcpy(sample + (size_t)i * row_bytes,
           (const uint8_t *)t->data.x[EP_SPLIT_TRAIN] +
               (size_t)(i * t->data.rows[EP_SPLIT_TRAIN] / rows) * row_bytes,
           row_bytes);
  return sample;
}

/* Rows that all passes can afford; 0: too few to say anything. */
static int64_t sample_rows(const ep_trainer *t) {
  const ep_program *program = &t->plan->program;
  double row_operations = (double)t->plan->operations / (double)t->data.rows[EP_SPLIT_TRAIN];
  int64_t passes = 0, widest = 1, rows = SAMPLE_ROWS;
  for (int i = 0; i < program->ops_count; i++) {
    passes += program->ops[i].type == EP_LAYER_RELU;
    if (program->ops[i].out_features > widest) widest = program->ops[i].out_features;
  }
  if (passes == 0) return 0;
  double affordable = sample_operations / ((double)passes * (row_operations + 1));
  if (affordable < (double)rows) rows = (int64_t)affordable;
  if (rows > SAMPLE_VALUES / widest) rows = SAMPLE_VALUES / widest;
  if (rows > t->data.rows[EP_SPLIT_TRAIN]) rows = t->data.rows[EP_SPLIT_TRAIN];
  return rows < SAMPLE_ROWS_LEAST && rows < t->data.rows[EP_SPLIT_TRAIN] ? 0 : rows;
}

/* A sentence for the layer that has lost most. */
static void dead_units_find(ep_trainer *t, char out[EP_MESSAGE_BYTES]) {
  const ep_program *program = &t->plan->program;
  int64_t rows = sample_rows(t), worst_dead = 0;
  int worst = -1;
  out[0] = 0;
  if (rows == 0) return;
  void *sample = sample_take(t, rows);
  float *outputs = malloc(SAMPLE_VALUES * sizeof *outputs);
  ep_status status = sample && outputs ? EP_OK : EP_NO_MEMORY;
  for (int i = 0; i < program->ops_count && status == EP_OK; i++) {
    if (program->ops[i].type != EP_LAYER_RELU) continue;
    status = outputs_find(t, i, sample, rows, outputs, NULL);
    if (status != EP_OK) break;
    int64_t dead = ep_dead_units_count(outputs, rows, program->ops[i].out);
    bool worse = worst < 0 || (double)dead / (double)program->ops[i].out.channels >
                                  (double)worst_dead / (double)program->ops[worst].out.channels;
    if (worse) worst = i, worst_dead = dead;
  }
  if (status == EP_OK &&
      (double)worst_dead >= dead_least * (double)program->ops[worst].out.channels)
    snprintf(out, EP_MESSAGE_BYTES,
             "%lld of the %lld units of layer %d (relu) are 0 for all of %lld training rows: these "
             "units are dead and cannot learn; try a lower learning rate, leaky_relu, or "
             "batch_norm before it",
             (long long)worst_dead, (long long)program->ops[worst].out.channels,
             program->ops[worst].layer, (long long)rows);
  free(outputs);
  free(sample);
}

void ep_diagnosis_make(ep_trainer *t, ep_job_result *result) {
  char sentence[EP_MESSAGE_BYTES];
  result->warnings[0] = 0;
  ep_judged_split judged = ep_result_judged(result);
  if (t->constant && judged.metrics)
    snprintf(sentence, sizeof sentence,
             "the network predicts the same value for all %lld %s rows: it learned nothing from "
             "the columns; try " EP_CONSTANT_REMEDY,
             (long long)judged.metrics->rows, judged.name);
  else
    ep_result_verdict(result, &t->plan->program, sentence);
  ep_result_line_add(result->warnings, sentence);
  dead_units_find(t, sentence);
  ep_result_line_add(result->warnings, sentence);
}
