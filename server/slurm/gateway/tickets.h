/* tickets.h: the workers that the gateway has submitted: each has a ticket, from its submission to
 * its end, with the hashes of its secrets. The list lies in DATA/slurm/workers too, for the gateway
 * after this one; secrets lie nowhere but in the worker's connection file, readable for its owner.
 *
 * The first secret is good for one connection. That one gets another secret, over TLS, for all
 * further ones of the same relay. */
#ifndef EP_SERVER_SLURM_GATEWAY_TICKETS_H
#define EP_SERVER_SLURM_GATEWAY_TICKETS_H

#include <pthread.h>

#include "api/wire/record.h"
#include "server/slurm/control/control.h"

typedef enum {
  EP_TICKET_FREE,
  EP_TICKET_WAITING,   /* submitted: the worker has not connected */
  EP_TICKET_CONNECTED, /* a thread has its connection */
  EP_TICKET_AWAY,      /* it was connected */
  EP_TICKET_ENDED      /* it is to end, or has ended: kept until Slurm says so too */
} ep_ticket_state;

typedef struct {
  ep_ticket_state state;
  char worker[EP_ID_BYTES];
  char device[EP_DEVICE_ID_BYTES];
  char hash[EP_SHA256_HEX_BYTES]; /* of the secret that is good now */
  ep_slurm_request request;
  char node[64];       /* where it was connected from last; "" = nowhere so far */
  bool leaves;         /* epochd was told that its node drains */
  int64_t job, task;   /* of Slurm; 0 = not submitted so far */
  int64_t since_us;    /* of the state; steady clock */
  int connection;      /* counts its connections: an older one's thread ends */
  int wake;            /* eventfd of the connection's thread; -1 = none */
  bool admitted, keep; /* what epochd has said of the connection */
  uint64_t taken;
  char text[EP_MESSAGE_BYTES]; /* why it is to end */
} ep_ticket;

enum { EP_TICKETS = 4 * EP_LIMIT_SLURM_WORKERS };

typedef struct {
  pthread_mutex_t mutex; /* guards all of it */
  char path[EP_LIMIT_PATH_BYTES + 32];
  char shared_dir[EP_LIMIT_PATH_BYTES + 1];
  ep_ticket ticket[EP_TICKETS];
  int refused, told; /* connections, in all and as epochd was told */
} ep_tickets;

/* Reads the list of the gateway before this one; its workers are away. */
ep_status ep_tickets_open(ep_tickets *tickets, const ep_gateway_setup *setup, ep_error *error);

/* A new ticket, and the secret for its connection file: [EP_SHA256_HEX_BYTES]. NULL: no room, or no
 * random numbers. Locked by the caller, like all below but ep_tickets_claim. */
ep_ticket *ep_tickets_add(ep_tickets *tickets, const char *device, const ep_slurm_request *request,
                          char *secret);
ep_ticket *ep_tickets_find(ep_tickets *tickets, const char *worker); /* NULL = none */
void ep_ticket_set(ep_ticket *ticket, ep_ticket_state state);
/* A connection is refused: it is counted. Locks. */
void ep_tickets_refuse(ep_tickets *tickets);
/* Wakes the thread of its connection. */
void ep_ticket_wake(const ep_ticket *ticket);
/* Forgets it, and removes its connection file. */
void ep_tickets_remove(ep_tickets *tickets, ep_ticket *ticket);
/* Writes the list. */
ep_status ep_tickets_save(const ep_tickets *tickets, ep_error *error);
/* Where a worker's connection file is: SHARED/workers/<worker>. */
ep_status ep_tickets_file(const ep_tickets *tickets, const char *worker, char *path, size_t bytes,
                          ep_error *error);

/* Whether the relay may connect: then its ticket is CONNECTED, wakes `wake`, and secret,
 * [EP_SHA256_HEX_BYTES], is good for its further connections. EP_FORBIDDEN: not, and *error says
 * why; it is counted. */
ep_status ep_tickets_claim(ep_tickets *tickets, const ep_record_hello *hello, int wake,
                           ep_ticket **ticket, int *connection, char *secret, ep_error *error);

#endif
