/* child.h: the ordinary worker, a relay's child. */
#ifndef EP_ENGINE_WORKER_RELAY_CHILD_H
#define EP_ENGINE_WORKER_RELAY_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/wire/connection.h"
#include "api/wire/frame.h"

typedef struct {
  pid_t pid;  /* 0 = it has ended and was reaped */
  int socket; /* does not block */
  uint8_t *in, *out;
  size_t in_bytes, in_capacity, out_bytes, out_capacity;
} ep_relay_child;

enum { EP_CHILD_SOCKET = 3, EP_CHILD_FILES = EP_LIMIT_RANKS };

/* Starts a program, which gets the signals as at login but for SIGTERM, which is kept from it, and
 * of this process's descriptors standard ones and `files`, [count], as EP_CHILD_SOCKET and those
 * behind it. Returns 0 or an errno. */
int ep_relay_program_start(const char *program, char *const *arguments, const int *files, int count,
                           pid_t *pid);

/* Starts the worker. Its device is the connection's: of "auto" the first GPU that the program
 * lists, else the CPU. nodes: [count], the sockets to other nodes of its trainings: then it is the
 * CPU. */
ep_status ep_relay_child_start(ep_relay_child *child, const char *program, const char *plugin,
                               const ep_connection *connection, const char *data_dir,
                               const int *nodes, int count, ep_error *error);

/* Reads what is there. EP_UNAVAILABLE: it has ended. */
ep_status ep_relay_child_read(ep_relay_child *child, ep_error *error);
/* The first whole frame, header included, lent until the next call; false: there is none.
 * EP_MALFORMED goes to *status. */
bool ep_relay_child_peek(const ep_relay_child *child, ep_frame_kind *kind, const uint8_t **frame,
                         size_t *bytes, ep_status *status, ep_error *error);
void ep_relay_child_drop(ep_relay_child *child, size_t bytes);

/* Queues a frame, copied, and writes what the child takes. */
ep_status ep_relay_child_send(ep_relay_child *child, const uint8_t *frame, size_t bytes,
                              ep_error *error);
ep_status ep_relay_child_flush(ep_relay_child *child, ep_error *error);

/* Closes the socket, waits for the end, SIGKILL after a while; cause: how it ended. */
void ep_relay_child_end(ep_relay_child *child, char *cause, size_t cause_bytes);

#endif
