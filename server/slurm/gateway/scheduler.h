/* scheduler.h: what the gateway asks of a scheduler: workers for a device, a list of them, the end
 * of one. A row of the table each: a further scheduler is a file and a row.
 *
 * All functions but `words` start commands and wait for them. Any thread. */
#ifndef EP_SERVER_SLURM_GATEWAY_SCHEDULER_H
#define EP_SERVER_SLURM_GATEWAY_SCHEDULER_H

#include "api/wire/connection.h"
#include "server/slurm/gateway/tickets.h"

/* A worker that is to be started; its ticket is on disk. */
typedef struct {
  char worker[EP_ID_BYTES], secret[EP_SHA256_HEX_BYTES];
} ep_new_worker;

typedef struct {
  const ep_gateway_setup *setup;
  const ep_tickets *tickets;
  const char *pin;    /* of the gateway's certificate */
  const char *target; /* the device's id without the prefix: a partition, a namespace */
  const ep_slurm_request *request;
  const ep_new_worker *workers; /* [count], at most EP_LIMIT_SLURM_WORKERS */
  int count;
} ep_order;

enum { EP_WORKER_WORDS_BYTES = 160 };

typedef struct {
  const char *prefix; /* of its devices */
  const char *name;   /* in messages */

  /* All of an order, or none. *job: the number that the workers' tickets get, not 0. */
  ep_status (*submit)(const ep_order *order, int64_t *job, ep_error *error);
  /* What it knows of workers of these targets. ep_slurm_jobs_free. */
  ep_status (*list)(const char *const *targets, int count, ep_slurm_jobs *out, ep_error *error);
  /* Ends a worker. OK also where it has ended. */
  ep_status (*cancel)(const ep_ticket *ticket, ep_error *error);
  /* A worker has ended: removes what is left of its secret. NULL: ep_tickets_remove does. */
  void (*forget)(const ep_ticket *ticket);
  /* How a worker ended, in the scheduler's own words; false: it does not know. NULL: it never does.
   */
  bool (*ending)(const ep_ticket *ticket, char text[EP_WORKER_WORDS_BYTES]);
  /* How the scheduler's users call the worker, and where what it printed is. */
  void (*words)(const ep_ticket *ticket, char job[EP_WORKER_WORDS_BYTES],
                char log[EP_WORKER_WORDS_BYTES]);
} ep_scheduler;

extern const ep_scheduler ep_scheduler_slurm, ep_scheduler_kubernetes;

/* [count] */
const ep_scheduler *const *ep_schedulers(int *count);
/* Of a device. NULL: it is of none. */
const ep_scheduler *ep_scheduler_find(const char *device);

/* The text of the connection file of order->workers[index]. address, shared: as the worker sees
 * them; shared "" = it sees no shared folder. order.c. */
ep_status ep_order_connection(const ep_order *order, int index, const char *address,
                              const char *shared, char text[EP_CONNECTION_BYTES], ep_error *error);

#endif
