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
#include "api/wire/result.h"

enum { EP_FRAME_HEADER_BYTES = 8 };

typedef enum { EP_FRAME_COMMAND = 1, EP_FRAME_REPLY = 2, EP_FRAME_PROGRESS = 3 } ep_frame_kind;

typedef enum {
  EP_COMMAND_TRAIN,    /* job, attempt, spec, executor */
  EP_COMMAND_CANCEL,   /* job */
  EP_COMMAND_PREDICT,  /* request, job, x [rows, columns] */
  EP_COMMAND_PROBE,    /* request: do a little real work on the device and answer */
  EP_COMMAND_CALIBRATE /* request: find out what work costs here, unless there is a job to do */
} ep_command_kind;

typedef struct {
  ep_command_kind kind;
  uint64_t request;      /* echoed in the reply */
  char job[EP_ID_BYTES]; /* its folder is jobs/<job> below the data folder */
  int attempt; /* echoed in all that the worker says of this training: a late worker is known by it
                */
  char *spec;  /* train: the stored spec's JSON text, owned */
  char executor[EP_EXECUTOR_BYTES]; /* train: the one of an earlier start, to be used again; "" =
                                       choose */
  double *x;                        /* predict: owned */
  int64_t rows, columns;
} ep_command;

typedef enum {
  EP_REPLY_READY,     /* the worker's first words: device */
  EP_REPLY_STARTED,   /* job, attempt, executor, parameters, bytes */
  EP_REPLY_FINISHED,  /* job, attempt, result */
  EP_REPLY_PREDICTED, /* request, output [rows, columns] in the units of the data, or error */
  EP_REPLY_PROBED,    /* request, error (status EP_OK when the device works) */
  EP_REPLY_CALIBRATED /* request, calibration, or error: EP_BUSY when a job came in between */
} ep_reply_kind;

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
  ep_device_info device;
  ep_job_result result; /* owned parts: ep_reply_deinit */
  double *output;       /* [rows, columns], owned */
  int64_t rows, columns;
  ep_calibration calibration;
  ep_error error;
} ep_reply;

typedef struct {
  char job[EP_ID_BYTES];
  int attempt;
  uint32_t count; /* 0: the training goes on and has nothing to report; the watchdog waits anew. So
                     is the first of each, before the job is looked at: the worker has begun */
  const ep_progress_record *records; /* [count]; decoded ones point into the frame's payload copy */
} ep_progress;

/* Encoders return a whole frame (header and payload) in one block that the caller frees; NULL when
 * memory is short or it would be over EP_LIMIT_FRAME_BYTES. */
uint8_t *ep_command_encode(const ep_command *command, size_t *bytes);
uint8_t *ep_reply_encode(const ep_reply *reply, size_t *bytes);
uint8_t *ep_progress_encode(const ep_progress *progress, size_t *bytes);

/* Reads a header. EP_TOO_LARGE over the limit, EP_MALFORMED for an unknown kind. */
ep_status ep_frame_header(const uint8_t header[EP_FRAME_HEADER_BYTES], ep_frame_kind *kind,
                          size_t *payload_bytes, ep_error *error);

/* Decoders take a payload (without header). The payload of progress must be 8-byte aligned and
 * outlive *out. */
ep_status ep_command_decode(const uint8_t *payload, size_t bytes, ep_command *out, ep_error *error);
ep_status ep_reply_decode(const uint8_t *payload, size_t bytes, ep_reply *out, ep_error *error);
ep_status ep_progress_decode(const uint8_t *payload, size_t bytes, ep_progress *out,
                             ep_error *error);
void ep_command_deinit(ep_command *command);
void ep_reply_deinit(ep_reply *reply);

#endif
