/* A plug-in whose GPUs, cuda:0 to cuda:3, are the CPU once more: what is done with several
 * devices, and with a device that trains populations, is tested on a machine without a GPU. Its
 * executors are the CPU's, whatever is asked for; a population is trained one by one. */
#include <math.h>
#include <stdlib.h>

#include "kernels/backend.h"
#include "kernels/population.h"

enum { DEVICES = 4, PARAMETERS_MOST = 200 };

const ep_backend_ops *ep_backend_plugin(void);

static ep_status device_open(int device, ep_backend **out, ep_error *error) {
  if (device >= DEVICES) return ep_fail(error, EP_NOT_FOUND, "there is no cuda:%d", device);
  return ep_backend_cpu()->open(0, out, error);
}

static ep_status any_compile(ep_backend *backend, const ep_program *program, const char *executor,
                             ep_instance **out, ep_error *error) {
  (void)executor;
  return ep_backend_cpu()->compile(backend, program, NULL, out, error);
}

static int64_t population_size(ep_backend *backend, const ep_program *program) {
  (void)backend;
  return program->parameters <= PARAMETERS_MOST ? 64 : 0;
}

/* Trains on an instance that has the data and the state. */
static ep_status steps_train(ep_instance *instance, ep_member *member, ep_error *error) {
  size_t steps = (size_t)member->steps;
  float *loss = malloc((steps + 1) * sizeof *loss);
  int32_t *errors = malloc((steps + 1) * sizeof *errors);
  ep_segment segment = {.first_step = member->first_step,
                        .steps = member->steps,
                        .lr = member->lr,
                        .lr_count = member->lr_count,
                        .loss = loss,
                        .errors = errors};
  ep_status status = loss && errors ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK && steps > 0)
    status = ep_backend_cpu()->train_segment(instance, &segment, error);
  for (size_t s = 0; status == EP_OK && s < steps; s++)
    member->finite = member->finite && isfinite(loss[s]);
  free(loss);
  free(errors);
  return status;
}

static ep_status member_train(ep_backend *backend, ep_population *population, int64_t number,
                              ep_error *error) {
  const ep_backend_ops *cpu = ep_backend_cpu();
  ep_member *member = &population->members[number];
  const ep_population_rows *train = &population->train;
  ep_instance *instance = NULL;
  member->finite = true;
  ep_status status = cpu->compile(backend, member->program, NULL, &instance, error);
  if (status != EP_OK) return status;
  status = cpu->load_data(instance, EP_SPLIT_TRAIN, train->x, train->y, train->rows, error);
  if (status == EP_OK)
    status = cpu->import_state(instance, member->state, member->optimizer, error);
  if (status == EP_OK) status = steps_train(instance, member, error);
  if (status == EP_OK)
    status = cpu->export_state(instance, member->state, member->optimizer, error);
  for (int split = 0; status == EP_OK && split < 3; split++) {
    const ep_population_rows *rows = &population->predict[split];
    if (rows->rows == 0) continue;
    int64_t place = number * rows->rows * member->program->out_features;
    status = cpu->predict(instance, rows->x, rows->rows, population->outputs[split] + place, error);
  }
  cpu->release(instance);
  return status;
}

static ep_status train_population(ep_backend *backend, ep_population *population, ep_error *error) {
  ep_status status = EP_OK;
  for (int64_t i = 0; status == EP_OK && i < population->count; i++)
    status = member_train(backend, population, i, error);
  return status;
}

const ep_backend_ops *ep_backend_plugin(void) {
  static ep_backend_ops ops;
  ops = *ep_backend_cpu();
  ops.name = "cuda";
  ops.open = device_open;
  ops.compile = any_compile;
  ops.population_size = population_size;
  ops.train_population = train_population;
  return &ops;
}
