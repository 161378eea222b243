/* deliveries.h: the messages of webhooks: what is to be delivered, and what came of it. A row is a
 * webhook of a job and an event of it. A row of a job's end is stored in the transaction that
 * stores the end: a trigger of the connection makes it from the job's spec, however the job ends,
 * and another one removes a deleted job's rows. Thread-safe, as store.h. */
#ifndef EP_SERVER_STORE_DELIVERIES_H
#define EP_SERVER_STORE_DELIVERIES_H

#include "server/store/store.h"

enum { EP_DELIVERY_ID_BYTES = 40, EP_DELIVERY_DETAILS_BYTES = 128, EP_DELIVERY_FAULT_BYTES = 256 };

typedef struct {
  char job[EP_ID_BYTES];
  int hook; /* its index in the spec */
  ep_webhook event;
  char id[EP_DELIVERY_ID_BYTES]; /* of the message: the same in each attempt */
  char url[EP_LIMIT_URL_BYTES + 1];
  char details[EP_DELIVERY_DETAILS_BYTES]; /* of `best`: JSON; "" = none */
  int64_t created_us;
  int64_t due_us; /* of the next attempt; 0 = there is none */
  int attempts;
  int status;                          /* HTTP's, of the last attempt; 0 = there was no response */
  bool delivered;                      /* otherwise, where none is due, it was given up */
  char fault[EP_DELIVERY_FAULT_BYTES]; /* of the last attempt; "" = none */
} ep_delivery;

/* Those due by now_us, at most EP_LIMIT_HOST_TRANSFERS of a host, the oldest of each owner first,
 * then the second of each: neither a host that is slow nor an owner of many holds up others. One
 * that is under way counts among them, and is returned again.
 * rows: [limit], of which *count are written. */
ep_status ep_store_deliveries_due(ep_store *store, int64_t now_us, ep_delivery *rows, int limit,
                                  int *count, ep_error *error);
/* When the first one after now_us is due; INT64_MAX: none is. */
ep_status ep_store_deliveries_next(ep_store *store, int64_t now_us, int64_t *due_us,
                                   ep_error *error);
/* Writes due_us, attempts, status, delivered and fault, if the row still has that id. Not synced:
 * after a crash of the machine the message may be delivered once more. */
ep_status ep_store_delivery_note(ep_store *store, const ep_delivery *row, ep_error *error);
/* A message about a new best figure, in the place of the last one. Not synced. */
ep_status ep_store_delivery_best(ep_store *store, const char *job, const char *details,
                                 int64_t now_us, ep_error *error);
/* Those of a job. rows: [EP_LIMIT_WEBHOOKS * EP_WEBHOOK_COUNT]. */
ep_status ep_store_deliveries_of(ep_store *store, const char *job, ep_delivery *rows, int *count,
                                 ep_error *error);

#endif
