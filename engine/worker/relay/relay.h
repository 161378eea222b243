/* relay.h: `epoch-worker --connect FILE`: a worker on another machine, which a scheduler started.
 *
 * The relay connects to epochd's gateway, starts the ordinary worker as its child, in a data folder
 * of its own, and hands on what the two say (api/wire/record.h), and the files that they speak of.
 * The worker knows nothing of it. */
#ifndef EP_ENGINE_WORKER_RELAY_RELAY_H
#define EP_ENGINE_WORKER_RELAY_RELAY_H

/* Returns the exit status: 0 = epochd ended it, or it left as it was told to (SIGTERM). */
int ep_relay_run(const char *connection_file, const char *program, const char *plugin);

#endif
