/* channel.h: records (api/wire/record.h) over TLS 1.3 over a connected socket that never blocks:
 * one side of what goes on between epochd's gateway and a relay.
 *
 * Whoever has a channel waits for ep_channel_events on ep_channel_socket, calls ep_channel_pump,
 * and takes the records that came. Writing never waits for reading, nor reading for writing. For
 * one thread. */
#ifndef EP_ENGINE_TUNNEL_CHANNEL_H
#define EP_ENGINE_TUNNEL_CHANNEL_H

#include <stdbool.h>

#include "api/wire/record.h"
#include "engine/tunnel/certificate.h"

typedef struct ep_channel ep_channel;

/* Takes ownership of the socket on success. The side that listens shows the certificate, which is
 * lent; the other one takes the certificate of that pin alone. The handshake is the pump's. */
ep_status ep_channel_listen(int socket, const ep_certificate *certificate, ep_channel **out,
                            ep_error *error);
ep_status ep_channel_connect(int socket, const char *pin, ep_channel **out, ep_error *error);
void ep_channel_close(ep_channel *channel); /* and its socket; NULL is allowed */

/* Until it is told to trust the other side, a channel takes no record larger than a HELLO. */
void ep_channel_trust(ep_channel *channel);

int ep_channel_socket(const ep_channel *channel);
/* What to poll for; reads: whether further records are wanted. */
short ep_channel_events(const ep_channel *channel, bool reads);
/* Whether input lies there already, which no poll reports. */
bool ep_channel_has_input(const ep_channel *channel);

/* Shakes hands, writes what is queued, reads what is there. EP_UNAVAILABLE: the connection has
 * ended; EP_FORBIDDEN: the other side is not the one of the pin; EP_MALFORMED, EP_TOO_LARGE: no
 * records. After an error the channel is good for nothing but to be closed; what came before is
 * still there to be taken. */
ep_status ep_channel_pump(ep_channel *channel, bool reads, ep_error *error);
bool ep_channel_is_open(const ep_channel *channel); /* hands were shaken */

/* Queues a record of the bytes of both parts, copied; second may be NULL. */
ep_status ep_channel_put(ep_channel *channel, ep_record_kind kind, uint64_t number,
                         const void *first, size_t first_bytes, const void *second,
                         size_t second_bytes, ep_error *error);
size_t ep_channel_queued(const ep_channel *channel); /* bytes that are not sent */

/* The first whole record, lent until ep_channel_drop or the next pump; false: there is none. */
bool ep_channel_peek(const ep_channel *channel, ep_record *out);
void ep_channel_drop(ep_channel *channel);

#endif
