/* address.h: which addresses a webhook may reach. By default those of the public internet alone: a
 * job's author must not have epochd call what only epochd's machine can reach. */
#ifndef EP_SERVER_WEBHOOKS_WIRE_ADDRESS_H
#define EP_SERVER_WEBHOOKS_WIRE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "api/limits.h"
#include "api/network.h"
#include "api/status.h"

enum { EP_ADDRESS_TEXT_BYTES = 64, EP_HOST_BYTES = 256 };

/* A host's name, or a network. */
typedef struct {
  char host[EP_HOST_BYTES]; /* "" = a network */
  ep_ip_network network;
} ep_allowed_address;

/* --webhook-allow. */
typedef struct {
  ep_allowed_address item[EP_LIMIT_ALLOWED_ADDRESSES];
  int count;
} ep_allowed_addresses;

/* Reads "10.0.0.0/8,::1,hooks.example.org"; "" allows nothing more. EP_INVALID. */
ep_status ep_allowed_addresses_parse(const char *text, ep_allowed_addresses *out, ep_error *error);

/* Whether the address is of the public internet: IPv4 within IPv6 is looked at as what it is. */
bool ep_address_is_public(const struct sockaddr *address);

/* Whether a webhook whose URL has this host may connect to this address, to which it resolved. */
bool ep_address_is_allowed(const ep_allowed_addresses *allowed, const char *host,
                           const struct sockaddr *address);

/* "127.0.0.1"; "?" of what is neither IPv4 nor IPv6. Returns text: [EP_ADDRESS_TEXT_BYTES]. */
const char *ep_address_text(const struct sockaddr *address, char *text);

#endif
