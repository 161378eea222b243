/* join.h: `epoch-worker --join FILE`: a process on a node of an allocation other than the first.
 *
 * It waits for FILE, which the relay of the first node writes (nodes.h), connects to it, proves
 * itself by the secret, and starts a child that has no network and no files, which does what the
 * training's leader says (`epoch-worker --serve-node`). It ends with the connection or the child.
 */
#ifndef EP_ENGINE_WORKER_RELAY_JOIN_H
#define EP_ENGINE_WORKER_RELAY_JOIN_H

/* Returns the exit status: 0 = the training's leader has ended. */
int ep_relay_join(const char *file, const char *program);

#endif
