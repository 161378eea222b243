/* calibration.h: what the work of a training costs on one device, as its worker measured it. A
 * worker sends it to epochd, which keeps it in a file and predicts with it. What the terms count is
 * engine/plan/cost.h's. */
#ifndef EP_API_WIRE_CALIBRATION_H
#define EP_API_WIRE_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/writer.h"
#include "api/limits.h"
#include "api/names.h"
#include "api/status.h"

struct json_t; /* jansson's */

enum {
  EP_COST_TERMS = EP_LIMIT_COST_TERMS, /* kinds of work that an executor's time is made of */
  EP_COST_EXECUTORS = 16,              /* of one device */
  EP_COST_VERSION = 6 /* another where terms mean something else, or an executor is new */
};

typedef struct {
  char executor[EP_EXECUTOR_BYTES];
  double start_seconds;          /* compiling and loading, before the first step */
  double again_seconds;          /* the same, of a program that was compiled before */
  double seconds[EP_COST_TERMS]; /* of one unit of each term */
  double error;                  /* mean of |predicted / measured - 1| over what was measured */
  int measured;                  /* programs that were timed */
  double drift; /* what jobs lately took, over what these say; 0 = not known. Not in the file */
} ep_executor_cost;

/* Executors that are not listed cannot be used on the device. */
typedef struct {
  ep_executor_cost executors[EP_COST_EXECUTORS];
  int count;
} ep_calibration;

/* What a calibration is good for: another processor, driver or program has other costs. */
typedef struct {
  char device[EP_DEVICE_ID_BYTES]; /* "cpu", "cuda:0" */
  char name[128];                  /* "NVIDIA H200" */
  char instruction_set[16];        /* "avx512", "sm_90" */
  int threads;
  char driver[32];  /* "CUDA 12.8"; "" for none */
  char version[32]; /* of the program */
} ep_calibration_key;

/* A file's text, owned by the caller (free); NULL when memory is short. */
char *ep_calibration_format(const ep_calibration_key *key, const ep_calibration *calibration);

/* EP_MALFORMED, EP_INVALID: not such a text; EP_CONFLICT: of another device or program than `key`
 * says. */
ep_status ep_calibration_parse(const char *text, size_t bytes, const ep_calibration_key *key,
                               ep_calibration *out, ep_error *error);

/* The array of executors within a larger text; reading is false when it is none, or has a number
 * that is not finite or below 0. */
void ep_calibration_write(ep_writer *writer, const ep_calibration *calibration);
bool ep_calibration_read(const struct json_t *executors, ep_calibration *out);

const ep_executor_cost *ep_calibration_find(const ep_calibration *calibration,
                                            const char *executor); /* NULL = not there */

#endif
