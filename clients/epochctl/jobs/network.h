/* network.h: the layers of a job, as a spec or a validation has them, in lines of text. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_NETWORK_H
#define EP_CLIENTS_EPOCHCTL_JOBS_NETWORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { EP_NETWORK_LINE_BYTES = 512 };

/* Whether a layer has a name, or reads other layers than the one before it. */
bool ep_network_is_graph(const json_t *layers);

/* "linear 16" of a layer, its size where it has one; of a graph with its name, and where it reads
 * others than the layer above with their names: "all: concat <- left, right". It is the server's:
 * escape it. text: ends in 0; cut. */
void ep_network_line(const json_t *layers, size_t index, bool graph,
                     char text[EP_NETWORK_LINE_BYTES]);

#endif
