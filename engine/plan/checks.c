/* checks.c: the spec against the data and against itself, where one field alone cannot tell.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "engine/layers/layer.h"
#include "engine/plan/cost.h"
#include "engine/plan/parts.h"
#include "kernels/operators/operator.h"

enum { PLACE_BYTES = EP_POINTER_BYTES };

/* Op "4.0" with "padding" is /model/layers/4/layers/0/padding. */
static const char *place_of(const ep_plan *plan, int op, const char *field,
                            char text[PLACE_BYTES]) {
  size_t used = (size_t)snprintf(text, PLACE_BYTES, "/model/layers/%d", ep_plan_layer_of(plan, op));
  const char *within = strchr(plan->names[op], '.');
  for (const char *step = within ? within + 1 : ""; *step && used < PLACE_BYTES; step++) {
    size_t digits = strcspn(step, ".");
    used += (size_t)snprintf(text + used, PLACE_BYTES - used, "/layers/%.*s", (int)digits, step);
    step += digits;
    if (!*step) break;
  }
  if (used < PLACE_BYTES) snprintf(text + used, PLACE_BYTES - used, "/%s", field);
  return text;
}

/* Where the width of the output is decided: the field of the last layer that has one. */
static const char *output_place(const ep_plan *plan, char text[PLACE_BYTES]) {
  for (int i = plan->program.ops_count - 1; i >= 0; i--) {
    const char *width = ep_layer_of(plan->ops[i].type)->width;
    const bool columns = i == 0 && plan->shape.embedded_columns > 0;
    if (width && !columns) return place_of(plan, i, width, text);
  }
  return "/model/layers";
}

static void classes_check(const ep_job_spec *spec, const ep_plan *plan, int rank,
                          ep_problem *problem) {
  const ep_data_shape *shape = &plan->shape;
  const char *loss = ep_loss_type_name(spec->loss);
  int64_t outputs = plan->program.out_features;
  char place[PLACE_BYTES], text[EP_SHAPE_BYTES];
  if (rank > 1)
    ep_problem_add(problem, EP_INVALID, "/model/layers",
                   "%s expects a vector of classes, the output of the last layer is %s: end with a "
                   "flatten layer",
                   loss, ep_shape_format(plan->ops[plan->program.ops_count - 1].out, rank, text));
  else if (shape->target_columns != 1)
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "%s expects one class per row, the target has %lld columns", loss,
                   (long long)shape->target_columns);
  else if (shape->classes < 1)
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "%s expects classes 0, 1, 2, …: not all targets are whole numbers of at least 0",
                   loss);
  else if (shape->classes > outputs)
    ep_problem_add(problem, EP_INVALID, output_place(plan, place),
                   "the largest target class is %lld: the last layer's output size is %lld and "
                   "must be at least %lld",
                   (long long)shape->classes - 1, (long long)outputs, (long long)shape->classes);
  else if (outputs > EP_LIMIT_CLASSES)
    ep_problem_add(problem, EP_INVALID, output_place(plan, place), "%lld classes: the limit is %d",
                   (long long)outputs, EP_LIMIT_CLASSES);
  else if (spec->class_weights && spec->class_weights_count != outputs)
    ep_problem_add(problem, EP_INVALID, "/loss/class_weights",
                   "has %d weights, the last layer's output size is %lld",
                   spec->class_weights_count, (long long)outputs);
}

/* A target of words, for a loss that takes numbers: false where these are none. */
static bool words_check(const ep_job_spec *spec, const ep_data_shape *shape, ep_problem *problem) {
  const char *loss = ep_loss_type_name(spec->loss);
  long long words = shape->target_words;
  if (words == 0 || (words <= 2 && ep_loss_is_classifier(spec->loss))) return true;
  ep_problem_add(problem, EP_INVALID, "/loss",
                 "the target is a category of %lld words, %s expects %s: use cross_entropy, with "
                 "out_features %lld in the last layer%s",
                 words, loss, ep_loss_is_classifier(spec->loss) ? "two" : "numbers", words,
                 words == 2 ? ", or bce_with_logits with one" : "");
  return false;
}

/* Losses that compare column by column. */
static void columns_check(const ep_job_spec *spec, const ep_plan *plan, ep_problem *problem) {
  const ep_data_shape *shape = &plan->shape;
  if (!words_check(spec, shape, problem)) return;
  const ep_op *last = &plan->ops[plan->program.ops_count - 1];
  char place[PLACE_BYTES];
  if (last->out_features != shape->target_columns)
    ep_problem_add(
        problem, EP_INVALID, output_place(plan, place),
        "the last layer's output size, %lld, differs from the number of target columns, %lld",
        (long long)last->out_features, (long long)shape->target_columns);
  if (!ep_loss_is_classifier(spec->loss)) return;
  if (!(shape->target_min >= 0 && shape->target_max <= 1))
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "%s expects targets from 0 to 1, these range from %g to %g",
                   ep_loss_type_name(spec->loss), shape->target_min, shape->target_max);
  /* Outside 0 … 1 the logarithm is not a number, so this could only fail, later. */
  if (spec->loss == EP_LOSS_BCE && last->type != EP_LAYER_SIGMOID && last->type != EP_LAYER_SOFTMAX)
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "bce expects probabilities: end with a sigmoid layer, or use bce_with_logits");
}

/* Which classes there are, where their shares are to be kept. Faults of losses that take classes
 * are found above. */
static void stratify_check(const ep_job_spec *spec, const ep_data_shape *shape,
                           ep_problem *problem) {
  const char *loss = ep_loss_type_name(spec->loss);
  if (!spec->data.stratify || ep_loss_takes_classes(spec->loss)) return;
  if (!ep_loss_is_classifier(spec->loss))
    ep_problem_add(problem, EP_INVALID, "/data/stratify",
                   "requires classes, and %s is not the loss of a classifier", loss);
  else if (shape->target_columns != 1)
    ep_problem_add(problem, EP_INVALID, "/data/stratify",
                   "requires a single target column, %s has %lld", loss,
                   (long long)shape->target_columns);
  else if (shape->classes < 1)
    ep_problem_add(problem, EP_INVALID, "/data/stratify",
                   "requires the classes 0 and 1: not all targets are 0 or 1");
}

void ep_plan_check_loss(const ep_job_spec *spec, const ep_plan *plan, int rank,
                        ep_problem *problem) {
  if (ep_loss_takes_classes(spec->loss))
    classes_check(spec, plan, rank, problem);
  else
    columns_check(spec, plan, problem);
  stratify_check(spec, &plan->shape, problem);
  if (ep_loss_is_classifier(spec->loss) && spec->data.standardize_y)
    ep_problem_add(problem, EP_INVALID, "/data/standardize",
                   "y cannot be standardized for %s: it contains classes",
                   ep_loss_type_name(spec->loss));
}

static void augment_check(const ep_data_spec *data, ep_shape row, bool image, ep_problem *problem) {
  const int64_t *crop = data->augment_crop;
  if (!data->augment_shift && !data->augment_flip && !crop[0]) return;
  if (!image)
    ep_problem_add(problem, EP_INVALID, "/data/augment",
                   "requires images [C, H, W]: set data.shape");
  else if (crop[0] > row.height || crop[1] > row.width)
    ep_problem_add(problem, EP_INVALID, "/data/augment/crop",
                   "%lldx%lld is larger than the images, %lldx%lld", (long long)crop[0],
                   (long long)crop[1], (long long)row.height, (long long)row.width);
  else if (data->augment_shift >= row.height || data->augment_shift >= row.width)
    ep_problem_add(problem, EP_INVALID, "/data/augment/shift",
                   "%d pixels shift the whole image, %lldx%lld, out of view", data->augment_shift,
                   (long long)row.height, (long long)row.width);
}

void ep_plan_check_data(const ep_job_spec *spec, const ep_plan *plan, int rank,
                        ep_problem *problem) {
  const ep_data_spec *data = &spec->data;
  ep_shape row = plan->program.stored;
  if (data->normalize && data->normalize_channels != 1 && data->normalize_channels != row.channels)
    ep_problem_add(problem, EP_INVALID, "/data/normalize", "has %d numbers, the rows have %lld %s",
                   data->normalize_channels, (long long)row.channels,
                   rank == 3 ? "channels" : "columns");
  augment_check(data, row, rank == 3, problem);
  bool embedded = ep_layers_embed(spec->layers, spec->layers_count);
  bool changed = data->standardize_x || data->normalize || (data->scale != 0 && data->scale != 1);
  if (embedded && changed)
    ep_problem_add(problem, EP_INVALID,
                   data->standardize_x ? "/data/standardize"
                   : data->normalize   ? "/data/normalize"
                                       : "/data/scale",
                   "an embedding requires unscaled whole numbers in x");
}

static bool any_metric(const ep_job_spec *spec) {
  bool any = false;
  for (int metric = 0; metric < EP_METRIC_COUNT; metric++) any |= spec->validation_metrics[metric];
  return any;
}

/* What looks at a validation split needs one. */
static void validation_check(const ep_job_spec *spec, const ep_plan *plan, ep_problem *problem) {
  if (plan->shape.validation_rows > 0) return;
  const struct {
    bool asked;
    const char *pointer, *what;
  } users[] = {
      {spec->schedule.type == EP_SCHEDULE_PLATEAU, "/schedule", "reduce_on_plateau"},
      {spec->early_stopping_patience > 0, "/early_stopping", "early stopping"},
      {any_metric(spec), "/validation_metrics", "validation_metrics"},
      {spec->keep_best && spec->early_stopping_patience == 0, "/keep", "keeping the best weights"},
      {ep_webhooks_have(spec, EP_WEBHOOK_BEST), "/webhooks", "the event best"},
  };
  for (size_t i = 0; i < sizeof users / sizeof users[0]; i++)
    if (users[i].asked)
      ep_problem_add(problem, EP_INVALID, users[i].pointer,
                     "%s requires a validation split: set data.validation or data.folds",
                     users[i].what);
}

static void steps_check(const ep_job_spec *spec, const ep_program *program, ep_problem *problem) {
  int64_t per_epoch = ep_program_steps_per_epoch(program);
  int64_t steps = ep_multiply_saturated(per_epoch, spec->epochs);
  if (steps > EP_LIMIT_STEPS)
    ep_problem_add(problem, EP_INVALID, "/epochs",
                   "%lld epochs of %lld steps exceed the limit of %lld steps",
                   (long long)spec->epochs, (long long)per_epoch, EP_LIMIT_STEPS);
}

/* Lines of one job: its epochs' and their batches'. */
static void batches_check(const ep_job_spec *spec, const ep_program *program, ep_problem *problem) {
  int64_t between = spec->report_batches;
  if (between == 0) return;
  int64_t per_epoch = (ep_program_steps_per_epoch(program) - 1) / between;
  if (ep_multiply_saturated(per_epoch, spec->epochs) > EP_LIMIT_REPORTED_EPOCHS)
    ep_problem_add(problem, EP_INVALID, "/report_batches",
                   "would report more than %d batches: report less often",
                   EP_LIMIT_REPORTED_EPOCHS);
}

/* A line of layers has room for so many. */
static void layers_check(const ep_job_spec *spec, const ep_program *program, ep_problem *problem) {
  if (!spec->report.layers) return;
  bool others = false;
  for (int i = 0; i < program->ops_count; i++)
    others |= program->ops[i].type != EP_LAYER_LINEAR && program->ops[i].weight >= 0;
  if (others && program->parameters > EP_LIMIT_LAYERS_PARAMETERS)
    ep_problem_add(problem, EP_INVALID, "/report/layers",
                   "%lld parameters, not all in linear layers: the limit for reports is %d",
                   (long long)program->parameters, EP_LIMIT_LAYERS_PARAMETERS);
  if (program->ops_count > EP_LIMIT_REPORTED_LAYERS)
    ep_problem_add(problem, EP_INVALID, "/report/layers", "%d layers: the limit for reports is %d",
                   program->ops_count, EP_LIMIT_REPORTED_LAYERS);
}

static void timelapse_check(const ep_job_spec *spec, const ep_program *program,
                            ep_problem *problem) {
  if (spec->timelapse_every == 0) return;
  const int64_t every = spec->timelapse_every;
  const int64_t moments = 1 + spec->epochs / every + (spec->epochs % every != 0);
  const int64_t bytes =
      ep_multiply_saturated(moments, (int64_t)sizeof(float) * ep_program_state_floats(program));
  if (bytes > EP_LIMIT_MOMENTS_BYTES)
    ep_problem_add(
        problem, EP_INVALID, "/timelapse_every",
        "would store %lld MiB of networks: the limit is %lld MiB, so store them less often",
        (long long)(bytes >> 20), (long long)(EP_LIMIT_MOMENTS_BYTES >> 20));
}

static void executor_check(const char *executor, ep_problem *problem) {
  char names[EP_MESSAGE_BYTES] = "";
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(executor, &count);
  if (!executor[0] || ep_cost_executor_find(executor)) return;
  for (int i = 0; i < count; i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", executors[i]->name);
  }
  ep_problem_add(problem, EP_INVALID, "/executor", "unknown executor \"%s\": the executors are %s",
                 executor, names);
}

static void metric_check(const ep_job_spec *spec, ep_metric metric, const char *pointer,
                         ep_problem *problem) {
  if (!ep_loss_has_metric(spec->loss, metric))
    ep_problem_add(problem, EP_INVALID, pointer, "jobs with the loss \"%s\" have no metric \"%s\"",
                   ep_loss_type_name(spec->loss), ep_metric_name((int)metric));
}

void ep_plan_check_training(const ep_job_spec *spec, const ep_plan *plan, ep_problem *problem) {
  executor_check(spec->executor, problem);
  if (spec->optimizer.nesterov && !(spec->optimizer.momentum > 0))
    ep_problem_add(problem, EP_INVALID, "/optimizer/nesterov",
                   "nesterov requires a momentum above 0");
  metric_check(spec, spec->early_stopping_metric, "/early_stopping/metric", problem);
  metric_check(spec, spec->schedule.metric, "/schedule/metric", problem);
  for (int metric = 0; metric < EP_METRIC_COUNT; metric++)
    if (spec->validation_metrics[metric])
      metric_check(spec, (ep_metric)metric, "/validation_metrics", problem);
  validation_check(spec, plan, problem);
  steps_check(spec, &plan->program, problem);
  batches_check(spec, &plan->program, problem);
  layers_check(spec, &plan->program, problem);
  timelapse_check(spec, &plan->program, problem);
}
