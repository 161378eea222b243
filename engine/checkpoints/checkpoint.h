/* checkpoint.h: how far a training has come, in a file, from which it goes on with the same bits:
 *
 *   JOB/checkpoint-<step>.safetensors
 *
 * is a weights file (engine/weights) with further tensors: "checkpoint.optimizer", the optimizer's
 * state, and "checkpoint.best", "checkpoint.best_optimizer", those of the best epoch where the job
 * keeps it. The note "checkpoint" has the numbers below as JSON, among them the weights' SHA-256,
 * the note "checkpoint_added_sha256" the SHA-256 of that JSON and of the further values: so each
 * byte is hashed once. Files of older versions have "checkpoint_sha256", of the JSON and of all
 * values. A file with this name is whole (durable_file.h).
 *
 * No compute: epochd links this. */
#ifndef EP_ENGINE_CHECKPOINTS_CHECKPOINT_H
#define EP_ENGINE_CHECKPOINTS_CHECKPOINT_H

#include "api/names.h"
#include "engine/weights/weights.h"

/* X(kind, member): the numbers of a checkpoint. Reals are written with the digits that read back
 * the same double. ADDED ones are missing in files of older versions, and 0 then. */
#define EP_CHECKPOINT_TABLE(X)                                                            \
  X(INTEGER, step)   /* optimizer steps done */                                           \
  X(INTEGER, epoch)  /* whole epochs done */                                              \
  X(INTEGER, epochs) /* of the job */                                                     \
  X(INTEGER, steps_per_epoch)                                                             \
  X(INTEGER, created_us)                                                                  \
  X(REAL, train_seconds)   /* spent in training so far */                                 \
  X(REAL, loss)            /* of the last whole epoch; NaN = none */                      \
  X(REAL, epoch_loss)      /* sum of the running epoch's losses, full batches count 1 */  \
  X(INTEGER, epoch_errors) /* misclassified targets of the running epoch */               \
  X(REAL, best)            /* early stopping: the metric's least value, its epoch, … */ \
  X(INTEGER, best_epoch)                                                                  \
  X(INTEGER, stops)   /* … and whether patience has run out: 0, 1 */                    \
  X(REAL, plateau_lr) /* reduce_on_plateau: the learning rate, the metric's best */       \
  X(REAL, plateau_best)                                                                   \
  X(INTEGER, plateau_best_epoch)                                                          \
  X(ADDED_INTEGER,                                                                        \
    lowest_epoch) /* early stopping: the epoch of `best`, the one that is kept, … */    \
  X(ADDED_INTEGER, kept_epoch)                                                            \
  X(ADDED_REAL, kept)       /* … and its metric */                                      \
  X(INTEGER, weights_bytes) /* of the weights alone, as a file: ep_checkpoint_extract */

typedef struct {
#define EP_CHECKPOINT_MEMBER_INTEGER(name) int64_t name;
#define EP_CHECKPOINT_MEMBER_REAL(name) double name;
#define EP_CHECKPOINT_MEMBER_ADDED_INTEGER(name) int64_t name;
#define EP_CHECKPOINT_MEMBER_ADDED_REAL(name) double name;
#define EP_CHECKPOINT_MEMBER(kind, name) EP_CHECKPOINT_MEMBER_##kind(name)
  EP_CHECKPOINT_TABLE(EP_CHECKPOINT_MEMBER)
#undef EP_CHECKPOINT_MEMBER
#undef EP_CHECKPOINT_MEMBER_ADDED_REAL
#undef EP_CHECKPOINT_MEMBER_ADDED_INTEGER
#undef EP_CHECKPOINT_MEMBER_REAL
#undef EP_CHECKPOINT_MEMBER_INTEGER
  int64_t bytes; /* of this file */
  char weights_sha256[EP_SHA256_HEX_BYTES];
  /* On other ones than these the same steps have other bits. */
  char executor[EP_EXECUTOR_BYTES]; /* "cpu/fused" */
  char machine[192];                /* name and instruction set of the device */
  char version[32];                 /* of epochd */
} ep_checkpoint;

/* The values of a checkpoint. state: [ep_program_state_floats]; optimizer: [optimizer_floats], or
 * NULL when that is 0; best, best_optimizer: the same, or NULL. Lent. */
typedef struct {
  const ep_plan *plan;
  const ep_scaling *scaling;
  const char *spec_text;
  const float *state, *optimizer, *best, *best_optimizer;
} ep_checkpoint_values;

/* Writes the file of checkpoint->step into the job's folder, synced; fills in weights_sha256,
 * weights_bytes and bytes. */
ep_status ep_checkpoint_write(const char *job_folder, ep_checkpoint *checkpoint,
                              const ep_checkpoint_values *values, ep_error *error);

/* The numbers of the file at `path`. Its values are not looked at. EP_DAMAGED: it is no
 * checkpoint. */
ep_status ep_checkpoint_read(const char *path, ep_checkpoint *out, ep_error *error);

/* Reads all of the file at `path`, for the plan. The outputs have the shapes of
 * ep_checkpoint_values and are written. best: [state floats + optimizer_floats], written if the
 * file has it, and *has_best says so; NULL = not wanted. EP_DAMAGED: a byte of it has changed;
 * EP_INVALID: of another model. */
ep_status ep_checkpoint_load(const char *path, const ep_plan *plan, ep_checkpoint *out,
                             float *state, float *optimizer, float *best, bool *has_best,
                             ep_error *error);

/* Whether it has the weights and the optimizer's state of the plan. EP_INVALID: it has not. */
ep_status ep_checkpoint_fits(const char *path, const ep_plan *plan, ep_error *error);

/* Looks at every byte of the file. EP_DAMAGED: one has changed. */
ep_status ep_checkpoint_check(const char *path, ep_error *error);

/* Writes the weights of the checkpoint at `path` as a weights file at `to`: the one whose SHA-256
 * and size are in the checkpoint. Checked as in ep_checkpoint_load. */
ep_status ep_checkpoint_extract(const char *path, const char *to, ep_error *error);

/* A snapshot of a time-lapse, JOB/moment-<epoch>.safetensors: the weights after an epoch, as a
 * weights file with two notes more, "snapshot", the epoch, and "snapshot_sha256", the SHA-256 of
 * the file without that note. Files of older versions have neither. Writes it, synced; of the
 * values the plan, the scaling, the spec and the state. */
ep_status ep_snapshot_write(const char *job_folder, int64_t epoch,
                            const ep_checkpoint_values *values, ep_error *error);

/* Looks at every byte of it; of one of an older version at its form. EP_DAMAGED: one has changed;
 * EP_NOT_FOUND without a file. */
ep_status ep_snapshot_check(const char *job_folder, int64_t epoch, ep_error *error);

#endif
