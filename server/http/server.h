/* server.h: what all requests share: settings, jobs, threads, access. */
#ifndef EP_SERVER_HTTP_SERVER_H
#define EP_SERVER_HTTP_SERVER_H

#include <stdatomic.h>

#include "server/audit/audit.h"
#include "server/http/access/auth.h"
#include "server/http/access/forwarded.h"
#include "server/http/access/guard.h"
#include "server/http/streams/waiter.h"
#include "server/http/thread_pool.h"
#include "server/jobs/jobs.h"
#include "server/process/budget.h"
#include "server/process/config.h"
#include "server/tls/identity.h"

enum { EP_BOOT_BYTES = 17 }; /* 16 hexadecimal digits, and 0 */

typedef struct ep_server {
  const ep_config *config;
  const struct ep_routes *routes;
  ep_jobs *jobs;
  ep_waiters *waiters;
  struct ep_curves *curves; /* of long logs; the handlers' */
  ep_thread_pool *ingest;   /* reads uploads and files: a task takes minutes */
  ep_thread_pool *exports;  /* hashes results, and writes them in other formats: the same */
  ep_thread_pool *plots;    /* waits for workers that compute plots, and draws */
  ep_thread_pool *commits;  /* requests that change the store: each waits for the disk */
  ep_thread_pool *metrics;  /* of /metrics alone, which is answered whatever the others do */
  ep_thread_pool *work;     /* every other task that would hold up an HTTP thread */
  ep_auth auth;
  ep_guard guard;
  ep_trusted_proxies proxies;
  ep_tls tls;
  ep_audit *audit;        /* NULL = none is kept */
  int access_log;         /* a file; 0 = none */
  atomic_ullong requests; /* that got an id here */
  ep_budget held; /* of bodies, their trees, work and responses in memory, of all requests */
  ep_memory_shares memory;
  atomic_llong response_bytes; /* of these, those of responses */
  char boot[EP_BOOT_BYTES]; /* random, of this run: versions of jobs are counted anew in each run */
} ep_server;

#endif
