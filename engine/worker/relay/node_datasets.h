/* node_datasets.h: data sets that relays fetched over their connections, which stay on the node for
 * the relays after them: TMPDIR/epochd-datasets-UID/SHA256, of one Unix user alone. */
#ifndef EP_ENGINE_WORKER_RELAY_NODE_DATASETS_H
#define EP_ENGINE_WORKER_RELAY_NODE_DATASETS_H

#include <stdbool.h>

/* Links `own`, a path that does not exist, to the data set of this hash. False: it is not there. */
bool ep_node_datasets_link(const char *base, const char *sha256, const char *own);

/* Moves whole data sets of the folder, each a folder named by its hash, to the node's, and leaves
 * links to them. Beyond EP_LIMIT_NODE_DATASETS_BYTES those that no job began with for an hour go,
 * the oldest first. What cannot be moved stays where it is. */
void ep_node_datasets_keep(const char *base, const char *folder);

#endif
