/* request.h: what epochd sends to the process that reads a file, and what that replies, as they lie
 * in memory: both ends are the same program. */
#ifndef EP_SERVER_INGEST_REQUEST_H
#define EP_SERVER_INGEST_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json/problem.h"
#include "api/limits.h"
#include "api/vocabulary.h"
#include "engine/data/dialect/dialect.h"
#include "engine/files/path.h"

enum { EP_INGEST_FILES = EP_SPLIT_COUNT * 3 /* roles */, EP_INGEST_FIRST_FILE = 3 };

typedef struct {
  bool there[EP_INGEST_FILES]; /* by split and role; their descriptors follow one another from
                                  EP_INGEST_FIRST_FILE on */
  bool whole, upload, predicts, deep, skip_broken;
  ep_dialect dialect;
  int height, width, channels;
  char table[EP_LIMIT_NAME_BYTES + 1];
  char sha256[EP_SHA256_HEX_BYTES]; /* of an upload's file */
  char folder[EP_PATH_BYTES];       /* the working folder, by its name */
  int64_t max_output_bytes, memory_bytes, seconds, reserve_bytes;
} ep_ingest_request;

typedef struct {
  ep_error error;    /* its status may be EP_OK */
  ep_problem faults; /* those of the file, one by one; or none */
} ep_ingest_reply;

#endif
