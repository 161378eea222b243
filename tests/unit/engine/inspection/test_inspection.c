/* What layers look like, held to one step of cpu/reference: the weights that it changes have
 * changed by the gradient. */
#include "engine/inspection/inspection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/spec.h"
#include "engine/data/prepare/prepare.h"
#include "engine/data/prepare/shape.h"
#include "engine/plan/plan.h"
#include "kernels/backend.h"
#include "tests/suite.h"

enum { ROWS = 24 };

typedef struct {
  ep_job_spec *spec;
  ep_plan *plan;
  ep_prepared data;
  float *before, *after; /* [parameters + buffers] */
} planned;

/* A plan, and its first weights. */
static void planned_open(planned *p, const char *text) {
  static ep_problem problem;
  ep_data_shape shape;
  ep_error error = {0};
  problem = (ep_problem){0};
  ck_assert_msg(ep_job_spec_parse(text, strlen(text), &p->spec, &problem) == EP_OK, "%s %s",
                problem.errors[0].pointer, problem.detail);
  ck_assert_int_eq(ep_data_shape_find(&p->spec->data, NULL, &shape, &problem), EP_OK);
  ck_assert_msg(ep_plan_create(p->spec, &shape, &p->plan, &problem) == EP_OK, "%s %s",
                problem.errors[0].pointer, problem.detail);
  ck_assert_msg(ep_prepare(&p->spec->data, p->spec->loss, NULL, &p->data, &error) == EP_OK, "%s",
                error.message);
  size_t floats = (size_t)ep_program_state_floats(&p->plan->program);
  p->before = calloc(floats, sizeof *p->before);
  p->after = calloc(floats, sizeof *p->after);
  ck_assert(p->before && p->after);
  ep_plan_initialize(p->plan, p->spec, p->before);
}

static void planned_close(planned *p) {
  free(p->after);
  free(p->before);
  ep_prepared_deinit(&p->data);
  ep_plan_destroy(p->plan);
  ep_job_spec_destroy(p->spec);
}

/* One step of plain SGD with a rate of 1 over all rows. */
static void step_make(planned *p) {
  ep_backend *backend;
  ep_instance *instance;
  const ep_backend_ops *ops = ep_backend_cpu();
  float lr = 1, loss;
  int32_t errors;
  ep_segment segment = {0, 1, &lr, 1, &loss, &errors};
  ck_assert_int_eq(ops->open(0, &backend, NULL), EP_OK);
  ck_assert_int_eq(ops->compile(backend, &p->plan->program, "cpu/reference", &instance, NULL),
                   EP_OK);
  ck_assert_int_eq(ops->load_data(instance, EP_SPLIT_TRAIN, p->data.x[EP_SPLIT_TRAIN],
                                  ep_prepared_targets(&p->data, EP_SPLIT_TRAIN), ROWS, NULL),
                   EP_OK);
  ck_assert_int_eq(ops->import_state(instance, p->before, NULL, NULL), EP_OK);
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_OK);
  ck_assert_int_eq(ops->export_state(instance, p->after, NULL, NULL), EP_OK);
  ops->release(instance);
  ops->close(backend);
}

/* Norms of one op, by the step and by the weights. */
static void norms_check(const planned *p, int number, const ep_layer_figures *layer) {
  const ep_program *program = &p->plan->program;
  int64_t end = program->parameters;
  for (int i = program->ops_count - 1; i > number; i--)
    if (program->ops[i].weight >= 0) end = program->ops[i].weight;
  double grad = 0, weight = 0;
  for (int64_t i = program->ops[number].weight; i < end; i++) {
    double difference = (double)p->before[i] - (double)p->after[i];
    grad += difference * difference;
    weight += (double)p->before[i] * (double)p->before[i];
  }
  ck_assert(layer->has_parameters && isfinite(layer->grad_norm) && layer->grad_norm > 0);
  ck_assert_msg(fabs(layer->grad_norm - sqrt(grad)) < 1e-5 + 1e-4 * sqrt(grad), "%s: %g, %g",
                layer->name, layer->grad_norm, sqrt(grad));
  ck_assert(fabs(layer->weight_norm - sqrt(weight)) < 1e-9 + 1e-9 * sqrt(weight));
}

/* Returns the records of a spec's first weights, each of which was held to the step. */
static int inspected(planned *p, const char *spec, ep_progress_record *records) {
  ep_inspection *inspection;
  planned_open(p, spec);
  step_make(p);
  const ep_program *program = &p->plan->program;
  ck_assert_int_eq(ep_inspection_create(program, p->plan->names, p->data.x[EP_SPLIT_TRAIN],
                                        ep_prepared_targets(&p->data, EP_SPLIT_TRAIN), 1000,
                                        &inspection, NULL),
                   EP_OK);
  int count = ep_inspection_run(inspection, p->before, 7, records);
  ck_assert_int_gt(count, 0);
  for (int i = 0, op = 0; i < count; i++, op++) {
    const ep_layer_figures *layer = &records[i].layer;
    while (strcmp(p->plan->names[op], layer->name) != 0) op++; /* layers that say nothing */
    ck_assert(records[i].kind == EP_PROGRESS_LAYER && records[i].epoch == 7);
    ck_assert(layer->number == i && layer->count == count && layer->low <= layer->high);
    int64_t outputs = 0;
    for (int bin = 0; bin < EP_LIMIT_HISTOGRAM_BINS; bin++) outputs += layer->bins[bin];
    ck_assert_int_eq(outputs, ROWS * program->ops[op].out_features);
    if (program->ops[op].weight >= 0)
      norms_check(p, op, layer);
    else
      ck_assert(isnan(layer->grad_norm) && isnan(layer->weight_norm));
  }
  ep_inspection_destroy(inspection);
  return count;
}

#define SPEC(rows, layers, loss)                                              \
  "{\"data\":{" rows "},\"model\":{\"layers\":[" layers "]},\"loss\":\"" loss \
  "\",\"optimizer\":{\"lr\":1},\"epochs\":1}"
#define DISC "\"generator\":\"disc\",\"rows\":24,\"seed\":3"
#define LINEAR(features) "{\"type\":\"linear\",\"out_features\":" features "}"

START_TEST(dense_networks) {
  static ep_progress_record records[EP_LIMIT_REPORTED_LAYERS];
  planned p;
  int count =
      inspected(&p,
                SPEC(DISC,
                     LINEAR("37") ",{\"type\":\"relu\"},{\"type\":\"dropout\",\"p\":0}," LINEAR(
                         "5") ",{\"type\":\"tanh\"}," LINEAR("1"),
                     "bce_with_logits"),
                records);
  ck_assert_int_eq(count, 5); /* dropout passes on what it gets */
  ck_assert_str_eq(records[2].layer.name, "3");
  ck_assert_int_eq(records[1].layer.units, 37);
  ck_assert(records[1].layer.dead >= 0 && records[1].layer.dead < 37 && records[1].layer.low == 0);
  ck_assert_int_eq(records[3].layer.dead, -1);
  planned_close(&p);
}
END_TEST

START_TEST(norms_and_residuals) {
  static ep_progress_record records[EP_LIMIT_REPORTED_LAYERS];
  planned p;
  int count = inspected(
      &p,
      SPEC(DISC,
           LINEAR("6") ",{\"type\":\"batch_norm\"},{\"type\":\"residual\",\"layers\":[" LINEAR(
               "6") ",{\"type\":\"relu\"}," LINEAR("6") "]},{\"type\":\"layer_norm\"}," LINEAR("2"),
           "cross_entropy"),
      records);
  ck_assert_int_eq(count, 8);
  ck_assert_str_eq(records[2].layer.name, "2.0");
  planned_close(&p);
}
END_TEST

START_TEST(images) {
  static ep_progress_record records[EP_LIMIT_REPORTED_LAYERS];
  char spec[8192], rows[6144] = "\"inline\":{\"x\":[";
  planned p;
  size_t used = strlen(rows);
  for (int i = 0; i < ROWS; i++) {
    used += (size_t)snprintf(rows + used, sizeof rows - used, "%s[", i > 0 ? "," : "");
    for (int j = 0; j < 25; j++)
      used += (size_t)snprintf(rows + used, sizeof rows - used, "%s%d", j > 0 ? "," : "",
                               (i * 7 + j * 3 + i * j) % 5 - 2);
    used += (size_t)snprintf(rows + used, sizeof rows - used, "]");
  }
  used += (size_t)snprintf(rows + used, sizeof rows - used, "],\"y\":[");
  for (int i = 0; i < ROWS; i++)
    used += (size_t)snprintf(rows + used, sizeof rows - used, "%s%d", i > 0 ? "," : "", i % 3);
  snprintf(rows + used, sizeof rows - used, "]},\"shape\":[1,5,5]");
  snprintf(spec, sizeof spec,
           "{\"data\":{%s},\"model\":{\"layers\":[{\"type\":\"conv2d\",\"out_channels\":4,"
           "\"kernel_size\":3},{\"type\":\"relu\"},{\"type\":\"max_pool2d\",\"kernel_size\":2},"
           "{\"type\":\"flatten\"}," LINEAR("3") "]},\"loss\":\"cross_entropy\",\"optimizer\":"
                                                 "{\"lr\":1},\"epochs\":1}",
           rows);
  ck_assert_int_eq(inspected(&p, spec, records), 4);
  ck_assert_int_eq(records[1].layer.units, 4); /* channels */
  planned_close(&p);
}
END_TEST

/* A relu that gets nothing above 0 is dead; a weight that is not finite leaves nothing to say. */
START_TEST(dead_and_broken) {
  static ep_progress_record records[EP_LIMIT_REPORTED_LAYERS];
  ep_inspection *inspection;
  planned p;
  planned_open(&p, SPEC(DISC, LINEAR("4") ",{\"type\":\"relu\"}," LINEAR("1"), "bce_with_logits"));
  ck_assert_int_eq(ep_inspection_create(&p.plan->program, p.plan->names, p.data.x[EP_SPLIT_TRAIN],
                                        ep_prepared_targets(&p.data, EP_SPLIT_TRAIN), 8,
                                        &inspection, NULL),
                   EP_OK);
  for (int i = 0; i < 4; i++) p.before[p.plan->ops[0].bias + i] = i < 3 ? -100 : 100;
  ck_assert_int_eq(ep_inspection_run(inspection, p.before, 1, records), 3);
  ck_assert_int_eq(records[1].layer.dead, 3);
  p.before[0] = NAN;
  ck_assert_int_eq(ep_inspection_run(inspection, p.before, 2, records), 0);
  ep_inspection_destroy(inspection);
  planned_close(&p);
}
END_TEST

EP_SUITE("engine/inspection") {
  TCase *all = ep_suite_case(suite, "layers");
  tcase_add_test(all, dense_networks);
  tcase_add_test(all, norms_and_residuals);
  tcase_add_test(all, images);
  tcase_add_test(all, dead_and_broken);
}
