/* network_fixture.h: a network from its layers' JSON, planned for given data, with a state whose
 * values are all different: for tests of the weights' formats. */
#ifndef EP_TESTS_NETWORK_FIXTURE_H
#define EP_TESTS_NETWORK_FIXTURE_H

#include "engine/data/prepare/scaling.h"
#include "engine/plan/plan.h"

typedef struct {
  ep_job_spec *spec;
  ep_plan *plan;
  char *text;   /* the spec's */
  float *state; /* [ep_program_state_floats]; variances are positive */
} network;

/* `layers`: "[…]"; `rest`: further fields of the spec, without the first comma; the loss is mse
 * unless they say it. `row`: of x; `targets`: columns of y, classes where the loss takes them. */
void network_open(network *n, const char *layers, const char *rest, ep_shape row, ep_x_type x_type,
                  int64_t targets);
void network_close(network *n);

/* Reads a weights file for the plan. state: written; *scaling is the caller's to deinit. */
ep_status path_read(const char *path, const ep_plan *plan, float *state, ep_scaling *scaling,
                    ep_error *error);

#endif
