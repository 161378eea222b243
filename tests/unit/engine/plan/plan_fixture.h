/* plan_fixture.h: jobs on images, and their plans. */
#ifndef EP_TESTS_ENGINE_PLAN_FIXTURE_H
#define EP_TESTS_ENGINE_PLAN_FIXTURE_H

#include "engine/plan/plan.h"

/* A job of these layers on 60000 MNIST images: mse against as many target columns as the network
 * has outputs. */
#define JOB(layers, more)                                                               \
  "{\"data\":{\"dataset\":\"mnist\",\"shape\":[1,28,28]},\"model\":{\"layers\":" layers \
  "},\"loss\":\"cross_entropy\",\"epochs\":1,\"batch_size\":200" more "}"
#define NOTEBOOK                                                                            \
  "[{\"type\":\"conv2d\",\"out_channels\":10,\"kernel_size\":5},"                           \
  "{\"type\":\"max_pool2d\",\"kernel_size\":2},{\"type\":\"relu\"},"                        \
  "{\"type\":\"conv2d\",\"out_channels\":20,\"kernel_size\":5},{\"type\":\"dropout2d\"},"   \
  "{\"type\":\"max_pool2d\",\"kernel_size\":2},{\"type\":\"relu\"},{\"type\":\"flatten\"}," \
  "{\"type\":\"linear\",\"out_features\":50},{\"type\":\"relu\"},{\"type\":\"dropout\"},"   \
  "{\"type\":\"linear\",\"out_features\":10},{\"type\":\"log_softmax\"}]"
#define C(more) "{\"type\":\"conv2d\",\"out_channels\":4,\"kernel_size\":3" more "}"
#define OUT "{\"type\":\"flatten\"},{\"type\":\"linear\",\"out_features\":10}"

#define ON(data, layers)                                                 \
  "{\"data\":{\"dataset\":\"m\"" data "},\"model\":{\"layers\":[" layers \
  "]},\"loss\":\"nll\",\"epochs\":1}"

extern const ep_data_shape mnist;

/* Parsed, or the test fails. The caller destroys it. */
ep_job_spec *spec_of(const char *text);

/* Planned, or the test fails. The caller destroys both. */
ep_plan *plan_of(const char *text, const ep_data_shape *shape, ep_job_spec **spec);

#endif
