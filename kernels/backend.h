/* backend.h: the one interface of all compute. A backend holds a device; compiling a program gives
 * an instance, run by the fastest executor that can do it; the engine asks the instance for
 * segments of training: thousands of steps where it has nothing to decide.
 *
 * Threads: a backend may be used by several threads at once, an instance by one at a time.
 * Errors: EP_DEVICE means that the device's context is lost and the process must end. */
#ifndef EP_KERNELS_BACKEND_H
#define EP_KERNELS_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"
#include "kernels/population.h"
#include "kernels/program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EP_BACKEND_VERSION 7

typedef struct ep_backend ep_backend;
typedef struct ep_instance ep_instance;

typedef struct {
  char name[128];           /* as the vendor calls it */
  char instruction_set[16]; /* "amx", "avx512", "avx2", "baseline"; "sm_90" */
  char driver[32];          /* "CUDA 12.8"; "" for none */
  int64_t memory_bytes, memory_free_bytes;
  int threads; /* hardware threads, or multiprocessors */
} ep_backend_info;

/* One rank of a program that has several. Seconds: in train_segment, since compile. */
typedef struct {
  int64_t bytes; /* that it holds by itself */
  double compute_seconds;
  double communication_seconds; /* sums over replicas, and copies from stage to stage */
  double idle_seconds;          /* waiting for other ranks: of a pipeline, its bubble */
  int64_t node;                 /* that it is on; 0 = this process's */
} ep_rank_info;

typedef struct {
  const char *executor; /* "cpu/fused"; static */
  int64_t bytes;        /* device memory that the instance holds, data included once loaded */
  bool rows_apart;      /* what is predicted of a row has the same bits whatever rows are with it */
  int ranks;            /* 0 unless the program has several */
  ep_rank_info rank[EP_LIMIT_RANKS];
} ep_instance_info;

/* `steps` optimizer steps from `first_step`, counted from the start of training: step s is batch
 * s % steps_per_epoch of epoch s / steps_per_epoch. Cutting training into other segments changes no
 * bit of the result. */
typedef struct {
  int64_t first_step;
  int64_t steps;
  const float *lr;  /* [lr_count]: one a step, or one for all */
  int64_t lr_count; /* 1 or steps */
  float *loss;     /* out [steps]: the batch's mean loss before its update; written, not added to */
  int32_t *errors; /* out [steps]: misclassified targets of the batch; zeros for a regression */
} ep_segment;

/* A classifier's error: cross_entropy, nll: argmax of the output (the first maximum) is not the
 * class; bce: (output > 0.5) != (y > 0.5); bce_with_logits: (output > 0) != (y > 0.5); for each
 * target. */

typedef struct {
  uint32_t version; /* EP_BACKEND_VERSION */
  const char *name; /* "cpu", "cuda" */

  /* Opens device number `device` (0 for the CPU). EP_UNSUPPORTED with a clear message when it is
   * too old, EP_NOT_FOUND when there is none. The caller closes it, after all its instances. */
  ep_status (*open)(int device, ep_backend **out, ep_error *error);
  void (*close)(ep_backend *backend);
  ep_status (*info)(ep_backend *backend, ep_backend_info *out, ep_error *error);

  /* Does a little real work on the device and checks the answer. */
  ep_status (*probe)(ep_backend *backend, ep_error *error);

  /* `executor` NULL: the most special one that can do it; else that one or EP_UNSUPPORTED. The
   * program is lent until `release`. Parameters, buffers and optimizer state are zero until
   * import_state. */
  ep_status (*compile)(ep_backend *backend, const ep_program *program, const char *executor,
                       ep_instance **out, ep_error *error);
  void (*release)(ep_instance *instance);
  /* Whether nothing is gained by waiting: `compile` of the program by that executor would find its
   * kernels compiled, or they cannot be compiled ahead. If not, they are from now on, in the
   * background, for later: a second or more. No slot: this backend's kernels are always there. */
  bool (*compile_ahead)(ep_backend *backend, const ep_program *program, const char *executor);
  void (*instance_info)(const ep_instance *instance, ep_instance_info *out);

  /* x: [rows, the stored shape's count] of x_type; y: [rows, target_columns] float32, or int32
   * [rows] of classes when ep_loss_takes_classes. Host memory, lent until release or the next load
   * of that split. */
  ep_status (*load_data)(ep_instance *instance, ep_split split, const void *x, const void *y,
                         int64_t rows, ep_error *error);

  /* Returns when the segment is done. A loss that is not finite is the engine's to see. */
  ep_status (*train_segment)(ep_instance *instance, const ep_segment *segment, ep_error *error);

  /* Mean loss over the split's rows with the present weights, and its misclassified targets. */
  ep_status (*evaluate)(ep_instance *instance, ep_split split, double *loss, int64_t *errors,
                        ep_error *error);

  /* The network's output, as in evaluation. x: host [rows, the stored shape's count] of x_type,
   * which need not be copied when they are rows of a split that is loaded; output: host [rows,
   * out_features], written. */
  ep_status (*predict)(ep_instance *instance, const void *x, int64_t rows, float *output,
                       ep_error *error);

  /* parameters: [parameters + buffers]; optimizer: [optimizer_floats] (NULL when that is 0). Host
   * memory. */
  ep_status (*export_state)(ep_instance *instance, float *parameters, float *optimizer,
                            ep_error *error);
  ep_status (*import_state)(ep_instance *instance, const float *parameters, const float *optimizer,
                            ep_error *error);

  /* Keeps a copy of the state on the device, and goes back to it; to replay a segment that
   * diverged. */
  ep_status (*snapshot)(ep_instance *instance, ep_error *error);
  ep_status (*rollback)(ep_instance *instance, ep_error *error);

  /* How many trainings of this shape are worth doing in one call of train_population; 0: such
   * programs are trained one by one, as instances. */
  int64_t (*population_size)(ep_backend *backend, const ep_program *program);
  /* Trains all members from their states on, and predicts. Returns when all of it is done. The rows
   * may stay on the device until the next call with others: they are known by their addresses and
   * counts, and are not changed in between. EP_UNSUPPORTED where population_size is 0. */
  ep_status (*train_population)(ep_backend *backend, ep_population *population, ep_error *error);
} ep_backend_ops;

/* The CPU's, always there. */
const ep_backend_ops *ep_backend_cpu(void);

/* What a process lacks in its environment for the CPU backend to be as fast as the processor: a
 * library reads such a variable when the program starts, so it must be started anew. *name, *value:
 * static. false: nothing. */
bool ep_backend_cpu_lacks(const char **name, const char **value);

/* A plug-in exports this symbol: `const ep_backend_ops *ep_backend_plugin(void)`. */
#define EP_BACKEND_PLUGIN_SYMBOL "ep_backend_plugin"

#ifdef __cplusplus
}
#endif
#endif
