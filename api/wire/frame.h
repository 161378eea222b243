/* frame.h: what epochd and a worker say to each other: length-prefixed frames, little-endian.
 *
 * A frame is a header of 8 bytes (u32 payload bytes, u32 kind) and the payload: JSON for commands
 * and replies (after it, where there is a matrix, a 0 and its doubles, so that NaN and every bit
 * survive), an array of records for progress. Nothing in a frame assumes one host but the names
 * of files, which are relative to the data folder. This file encodes and decodes; it owns no
 * socket. */
#ifndef EP_API_WIRE_FRAME_H
#define EP_API_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/wire/calibration.h"
#include "api/wire/event.h"
#include "api/wire/plot.h"
#include "api/wire/result.h"
#include "api/wire/trial.h"

enum { EP_FRAME_HEADER_BYTES = 8, EP_COMMAND_FILE_BYTES = 128 };

typedef enum {
  EP_FRAME_COMMAND = 1,
  EP_FRAME_REPLY = 2,
  EP_FRAME_PROGRESS = 3,
  EP_FRAME_TRIALS = 4, /* progress of a sweep */
  EP_FRAME_POINTS = 5, /* of a sweep: its worker hands them to a helper, through epochd */
  EP_FRAME_RESULTS = 6 /* of those points: back the same way */
} ep_frame_kind;

/* X(code, JSON name): what epochd tells a worker to do. */
#define EP_COMMAND_TABLE(X)                                                                        \
  X(TRAIN, "train")     /* job, attempt, spec, executor, epochs_logged, thinning, gpus */          \
  X(CANCEL, "cancel")   /* job */                                                                  \
  X(PAUSE, "pause")     /* job: it ends with EP_PAUSED, and a checkpoint */                        \
  X(PREDICT, "predict") /* request, job, checkpoint, weights_sha256, windows, x [rows, columns] */ \
  X(EXPORT, "export")   /* request, job, weights_sha256, quantize, file: write the weights as C */ \
  X(PLOT, "plot")       /* request, job, weights_sha256, plot, file: write its numbers as JSON */  \
  X(PROBE, "probe")     /* request: compute something small on the device and reply */             \
  X(HELP, "help")       /* job, attempt, lease, spec: train points of another worker's sweep */    \
  X(RELEASE, "release") /* job, attempt, lease: no longer */                                       \
  X(HELPERS,                                                                                       \
    "helpers") /* job, attempt, leases: all that the sweep has, after WANTS and changes */         \
  X(CALIBRATE, "calibrate") /* request: measure what work costs, unless a job is waiting */

typedef enum {
#define EP_COMMAND_ENUM(code, name) EP_COMMAND_##code,
  EP_COMMAND_TABLE(EP_COMMAND_ENUM)
#undef EP_COMMAND_ENUM
} ep_command_kind;

typedef struct {
  ep_command_kind kind;
  uint64_t request;      /* echoed in the reply */
  char job[EP_ID_BYTES]; /* its folder is jobs/<job> below the data folder */
  int attempt; /* echoed in all that the worker says of this training: a late worker is known by it
                */
  char *spec;  /* train, help: the stored spec's JSON text, owned */
  char executor[EP_EXECUTOR_BYTES]; /* train: the one of an earlier start, to be used again; "" =
                                       choose */
  int64_t epochs_logged;            /* train: the last epoch in the job's log */
  int thinning;                     /* train: the log keeps one of 2^thinning reports */
  int gpus[EP_LIMIT_DEVICES];       /* train: [gpus_count], the numbers of the GPUs of its ranks */
  int gpus_count;                   /* 0 = the worker's own device alone */
  uint64_t lease;                   /* help, release: no two of all time are the same */
  uint64_t leases[EP_LIMIT_SWEEP_WORKERS]; /* helpers: [leases_count] */
  int leases_count;
  int64_t
      checkpoint; /* predict: with the weights after so many steps; 0 = those that the job left */
  char weights_sha256[EP_SHA256_HEX_BYTES]; /* predict, export, plot: what the job's weights must
                                               have; "" = any */
  bool quantize;                            /* export: weights as int8 */
  char file[EP_COMMAND_FILE_BYTES];         /* export, plot: to be written, below the data folder */
  ep_plot_request plot;
  double *x; /* predict: owned */
  int64_t rows, columns;
  int64_t windows; /* predict: examples of a row of x: 1, or several of a series */
} ep_command;

/* X(code, JSON name): what a worker sends. */
#define EP_REPLY_TABLE(X)                                                                          \
  X(READY, "ready")     /* device: the first frame of a worker */                                  \
  X(STARTED, "started") /* job, attempt, executor, parameters, bytes, epoch, note, remarks */      \
  X(CHECKPOINTED, "checkpointed") /* job, attempt, step, epoch, bytes, or error */                 \
  X(WAITING, "waiting")           /* job, attempt, error: the disk refuses its results */          \
  X(FINISHED, "finished")         /* job, attempt, result */                                       \
  X(PREDICTED,                                                                                     \
    "predicted")          /* request, output [rows, columns] in the units of the data, or error */ \
  X(EXPORTED, "exported") /* request, error */                                                     \
  X(PLOTTED, "plotted")   /* request, error */                                                     \
  X(PROBED, "probed")     /* request, error (status EP_OK when the device works) */                \
  X(WANTS, "wants")       /* job, attempt, helpers: how many its sweep has work for */             \
  X(HELPED, "helped")     /* job, attempt, lease, error: why the help has ended */                 \
  X(LEAVING, "leaving") /* of a worker on another machine: it ends soon, and takes no more jobs */ \
  X(CALIBRATED,                                                                                    \
    "calibrated") /* request, calibration, or error: EP_BUSY when a job came in between */

typedef enum {
#define EP_REPLY_ENUM(code, name) EP_REPLY_##code,
  EP_REPLY_TABLE(EP_REPLY_ENUM)
#undef EP_REPLY_ENUM
} ep_reply_kind;

const char *ep_command_kind_name(ep_command_kind kind);
int ep_command_kind_from_name(const char *name); /* -1 when there is no such name */
const char *ep_reply_kind_name(ep_reply_kind kind);
int ep_reply_kind_from_name(const char *name);

typedef struct {
  char name[128];              /* "NVIDIA H200", "Intel(R) Xeon(R) …" */
  char id[EP_DEVICE_ID_BYTES]; /* "cpu", "cuda:0" */
  char instruction_set[16];    /* "amx", "avx512", "avx2", "baseline"; "sm_90" */
  char driver[32];             /* "CUDA 12.8"; "" for none */
  int64_t memory_bytes, memory_free_bytes;
  int threads; /* CPU threads, or multiprocessors */
} ep_device_info;

typedef struct {
  ep_reply_kind kind;
  uint64_t request;
  char job[EP_ID_BYTES];
  int attempt;
  char executor[EP_EXECUTOR_BYTES];
  int64_t parameters, bytes;
  int64_t epoch, step;         /* whole epochs and steps done; started: of the checkpoint it has */
  char note[EP_MESSAGE_BYTES]; /* started: why a newer checkpoint was not used; "" = none */
  char remarks[EP_MESSAGE_BYTES]; /* started: of the data, a sentence a line; "" = none */
  ep_device_info device;
  ep_job_result result; /* owned parts: ep_reply_deinit */
  double *output;       /* [rows, columns], owned */
  int64_t rows, columns;
  int helpers;
  uint64_t lease;
  ep_calibration calibration;
  ep_error error;
} ep_reply;

typedef struct {
  char job[EP_ID_BYTES];
  int attempt;
  uint32_t count; /* 0: the training goes on and has nothing to report; the watchdog waits anew. So
                     is the first of each, before the job is looked at: the worker has begun */
  const ep_progress_record *records; /* [count]; decoded ones point into the frame's payload copy */
  const ep_trial_record *trials;     /* of a sweep, [count] instead of records; the same */
} ep_progress;

/* The payload of progress, and of trials: this, then `count` records. */
typedef struct {
  char job[EP_ID_BYTES];
  int32_t attempt;
  uint32_t count;
} ep_progress_prefix;

_Static_assert(sizeof(ep_progress_prefix) == 48, "no padding on the wire");
_Static_assert(sizeof(ep_progress_record) == 96 + sizeof(ep_layer_figures),
               "no padding on the wire");

/* Frames of points and of results. */
typedef struct {
  char job[EP_ID_BYTES];
  int attempt;
  uint64_t lease;
  uint32_t count;                 /* of results 0: the helper is ready, or goes on */
  int slots;                      /* of results: trainings that the helper takes at a time */
  bool together;                  /* of results: as populations */
  const ep_trial_point *points;   /* [count]; decoded ones point into the payload */
  const ep_trial_record *results; /* [count] instead of points; the same */
} ep_points;

/* The payload: this, then `count` points or records. */
typedef struct {
  char job[EP_ID_BYTES];
  int32_t attempt;
  uint32_t count;
  uint64_t lease;
  int32_t slots;
  int32_t together;
} ep_points_prefix;

_Static_assert(sizeof(ep_points_prefix) == 64, "no padding on the wire");

/* Encoders return a whole frame (header and payload) in one block that the caller frees; NULL when
 * memory is short or it would be over EP_LIMIT_FRAME_BYTES. */
uint8_t *ep_command_encode(const ep_command *command, size_t *bytes);
uint8_t *ep_reply_encode(const ep_reply *reply, size_t *bytes);
uint8_t *ep_progress_encode(const ep_progress *progress, size_t *bytes);

uint8_t *ep_points_encode(const ep_points *points, ep_frame_kind kind, size_t *bytes);

/* Reads a header. EP_TOO_LARGE over the limit, EP_MALFORMED for an unknown kind. */
ep_status ep_frame_header(const uint8_t header[EP_FRAME_HEADER_BYTES], ep_frame_kind *kind,
                          size_t *payload_bytes, ep_error *error);

/* Decoders take a payload (without header). The payload of progress must be 8-byte aligned and
 * outlive *out. */
ep_status ep_command_decode(const uint8_t *payload, size_t bytes, ep_command *out, ep_error *error);
ep_status ep_reply_decode(const uint8_t *payload, size_t bytes, ep_reply *out, ep_error *error);
ep_status ep_progress_decode(const uint8_t *payload, size_t bytes, ep_progress *out,
                             ep_error *error);
/* The same of a frame of trials. */
ep_status ep_trials_decode(const uint8_t *payload, size_t bytes, ep_progress *out, ep_error *error);
/* Points or results, by the kind; as above. */
ep_status ep_points_decode(ep_frame_kind kind, const uint8_t *payload, size_t bytes, ep_points *out,
                           ep_error *error);
void ep_command_deinit(ep_command *command);
void ep_reply_deinit(ep_reply *reply);

#endif
