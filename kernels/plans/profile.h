/* profile.h: what an executor says of itself before it runs anything: which programs it takes, and
 * what a step of one costs. Each executor's plan.c has one constant ep_executor_profile, which the
 * table of its backend names (kernels/cpu/executors/table.h, kernels/cuda/executors/table.h). The
 * backend, the plan, the cost model, the calibrator and the tests walk that table. No compute. */
#ifndef EP_KERNELS_PLANS_PROFILE_H
#define EP_KERNELS_PLANS_PROFILE_H

#include "api/limits.h"
#include "kernels/plans/capabilities.h"
#include "kernels/plans/cpu_traits.h"
#include "kernels/plans/gpu_traits.h"

/* The device's own kind is filled in. */
typedef struct {
  ep_cpu_traits cpu;
  ep_gpu_traits gpu;
} ep_device_traits;

/* A kind of work that steps are made of. */
typedef struct {
  const char *unit; /* "turns" */
  double seconds;   /* of one unit, on the machine that the figures were fitted on */
} ep_cost_term;

/* A program that the executor is measured by. */
typedef struct {
  int in_features; /* channels, with a side */
  int width;       /* of each hidden layer; out channels of each convolution */
  int hidden;      /* layers, relu between them, and one output */
  int rows;
  int side;     /* 0: dense; else images of side × side and convolutions of 3 × 3 */
  int batch;    /* rows of a step, shuffled; 0 = all */
  int replicas; /* 0 = one */
  ep_precision precision;
} ep_calibration_program;

typedef struct {
  const char *name; /* "cuda/grid": the backend and the executor's folder */
  ep_capabilities capabilities;
  unsigned gpu_features; /* EP_GPU_…: what a GPU must have */
  bool ranks;            /* it takes programs of several ranks, and no others */

  /* Whether it takes a program whose words it knows, on a device that has what it needs: sizes. */
  bool (*accepts)(const ep_program *program, const ep_device_traits *device);

  /* Cycles that a step is expected to take. Of executors that say so, the first of the table yields
   * to a later one that takes the program too and expects less. NULL: its place in the table says
   * all. */
  double (*cycles)(const ep_program *program, const ep_device_traits *device);

  /* What a step of `rows` rows consists of, in units of `terms`. units: zeros, written. */
  void (*work)(const ep_program *program, const ep_device_traits *device, int64_t rows,
               double units[EP_LIMIT_COST_TERMS]);

  /* Processor cores that a step could use; NULL: one. */
  int (*cores)(const ep_program *program, const ep_device_traits *device);

  /* The usual cost, until the machine is measured. */
  ep_cost_term terms[EP_LIMIT_COST_TERMS]; /* the first ones are its own; unit NULL: no term */
  double start_seconds;                    /* compiling and loading, before the first step */
  double again_seconds;                    /* the same, of a program that was compiled before */

  const ep_calibration_program *programs; /* [programs_count] */
  int programs_count;
} ep_executor_profile;

/* For an initializer. */
#define EP_CALIBRATION_PROGRAMS(table) \
  .programs = (table), .programs_count = (int)(sizeof(table) / sizeof *(table))

/* Whether the executor can run the program on the device. */
bool ep_executor_can(const ep_executor_profile *profile, const ep_program *program,
                     const ep_device_traits *device);

/* Whether number `at` of a backend's table takes the program: it can, and yields to none behind it.
 * A backend chooses the first that takes it. profiles: [count]. */
bool ep_executor_takes(const ep_executor_profile *const *profiles, int count, int at,
                       const ep_program *program, const ep_device_traits *device);

/* Seconds that a step of a whole batch usually takes, by the profile's terms. */
double ep_executor_usual_seconds(const ep_executor_profile *profile, const ep_program *program,
                                 const ep_device_traits *device);

/* The same as cycles of a GPU, for `cycles`. */
double ep_executor_usual_cycles(const ep_executor_profile *profile, const ep_program *program,
                                const ep_device_traits *device);

/* `accepts` of an executor that runs every program whose words it knows. */
bool ep_executor_accepts_all(const ep_program *program, const ep_device_traits *device);

#endif
