/* connection.h: the file by which a relay finds its gateway: lines of NAME=VALUE, mode 0600. epochd
 * writes one for each worker that Slurm is to start. */
#ifndef EP_API_WIRE_CONNECTION_H
#define EP_API_WIRE_CONNECTION_H

#include <stddef.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/status.h"

/* X(line's name, member, capacity) */
#define EP_CONNECTION_TABLE(X)                                                                 \
  X("EPOCHD_ADDRESS", address, 256)                 /* HOST:PORT */                            \
  X("EPOCHD_CERTIFICATE", pin, EP_SHA256_HEX_BYTES) /* SHA-256 of the gateway's certificate */ \
  X("EPOCHD_WORKER", worker, EP_ID_BYTES)                                                      \
  X("EPOCHD_SECRET", secret, EP_SHA256_HEX_BYTES)                                              \
  X("EPOCHD_DEVICE", device, EP_DEVICE_ID_BYTES)      /* "auto", "cpu", "cuda:0" */            \
  X("EPOCHD_SHARED", shared, EP_LIMIT_PATH_BYTES + 1) /* the shared folder; "" = none */       \
  X("EPOCHD_DATA_BYTES_MAX", data_bytes_max, 24)      /* of the worker's options */            \
  X("EPOCHD_CHECKPOINT_AFTER", checkpoint_after, 24)                                           \
  X("EPOCHD_NODES", nodes, 16) /* of the allocation; others than the first wait for FILE.nodes */

typedef struct {
#define EP_CONNECTION_MEMBER(line, member, capacity) char member[capacity];
  EP_CONNECTION_TABLE(EP_CONNECTION_MEMBER)
#undef EP_CONNECTION_MEMBER
} ep_connection;

enum { EP_CONNECTION_BYTES = 4096 }; /* of a file's text */

/* text: [EP_CONNECTION_BYTES], written. EP_TOO_LARGE. */
ep_status ep_connection_format(const ep_connection *connection, char *text, ep_error *error);
/* Each line once, and no other line. EP_INVALID names the line. */
ep_status ep_connection_parse(const char *text, ep_connection *out, ep_error *error);

#endif
