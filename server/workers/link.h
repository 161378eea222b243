/* link.h: one epoch-worker process and the socket to it. Nothing blocks but ep_worker_devices_list.
 *
 * One thread (the supervisor's) uses a link. */
#ifndef EP_SERVER_WORKERS_LINK_H
#define EP_SERVER_WORKERS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/names.h"
#include "api/wire/frame.h"
#include "server/workers/error_lines.h"

/* How workers are started. The strings are lent for as long as the supervisor lives. */
typedef struct {
  const char *path;                 /* the program */
  const char *plugin;               /* ep_backend_cuda.so; NULL: the worker finds it */
  const char *data_dir;             /* the worker's argument, like those below */
  int64_t checkpoint_after_seconds; /* the worker's argument, like data_bytes_max */
  int64_t data_bytes_max;           /* of device memory, for training rows; 0 = what is free */
  const char *allow_path;           /* see engine/data/sources/allowed_paths.h; NULL = none */
} ep_worker_program;

typedef struct {
  pid_t pid;   /* 0: no process */
  int pidfd;   /* readable when the process ended; -1 = none */
  int socket;  /* -1 = none */
  uint8_t *in; /* received and not yet taken; frames start at its beginning; owned */
  size_t in_bytes, in_capacity;
  uint8_t *out; /* not yet sent; owned */
  size_t out_bytes, out_sent, out_capacity;
  ep_error_lines errors; /* its stderr */
} ep_worker_link;

#define EP_WORKER_LINK_NONE ((ep_worker_link){.pidfd = -1, .socket = -1, .errors = {.fd = -1}})

/* Starts the program for `device`. *link is EP_WORKER_LINK_NONE before, and after a failure. */
ep_status ep_worker_link_start(ep_worker_link *link, const ep_worker_program *program,
                               const char *device, ep_error *error);

/* Takes a whole frame from an encoder of api/wire/frame.h and writes as much as the socket takes;
 * ep_worker_link_flush writes the rest. */
ep_status ep_worker_link_send(ep_worker_link *link, uint8_t *frame, size_t bytes, ep_error *error);
ep_status ep_worker_link_flush(ep_worker_link *link, ep_error *error);
static inline size_t ep_worker_link_output(const ep_worker_link *link) { /* bytes not yet sent */
  return link->out_bytes - link->out_sent;
}

/* Called with each whole frame; the payload is aligned to 8 bytes and lent. false: not now: the
 * next ep_worker_link_offer offers the frame again. */
typedef bool ep_worker_link_visit(void *context, ep_frame_kind kind, const uint8_t *payload,
                                  size_t bytes);

/* Reads once; *ended: the other side has closed. */
ep_status ep_worker_link_receive(ep_worker_link *link, bool *ended, ep_error *error);
/* Offers whole frames until one is refused (*refused) or none is left. EP_MALFORMED: the bytes are
 * not frames. */
ep_status ep_worker_link_offer(ep_worker_link *link, ep_worker_link_visit *visit, void *context,
                               bool *refused, ep_error *error);

/* Bounds what the process may allocate beyond what it has by now; 0: no bound. Allocations fail
 * there: the job is told so, and the process lives. A process that cannot be bounded is not. */
void ep_worker_link_bound(const ep_worker_link *link, int64_t bytes);

void ep_worker_link_kill(ep_worker_link *link); /* SIGKILL */

/* True once the process has ended, which is then reaped. cause: how, such as "the worker was killed
 * by signal 9 (SIGKILL)". */
bool ep_worker_link_reap(ep_worker_link *link, char *cause, size_t cause_bytes);

/* Closes the socket, at which the worker ends. */
void ep_worker_link_hang_up(ep_worker_link *link);
/* Logs what is left of its stderr, and frees everything but the process; the link is
 * EP_WORKER_LINK_NONE then. */
void ep_worker_link_close(ep_worker_link *link);

/* Runs the program to list the devices that it could open, at most EP_LIMIT_DEVICES. Waits at most
 * timeout_ms. */
ep_status ep_worker_devices_list(const ep_worker_program *program, int timeout_ms,
                                 char (*ids)[EP_DEVICE_ID_BYTES], int *count, ep_error *error);

#endif
