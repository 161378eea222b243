/* forwarded.h: the client's address behind trusted proxies (--trusted-proxy), of the header
 * X-Forwarded-For: each proxy appends the address that it was connected to. What a client wrote
 * there itself lies further to the left, and is not read. */
#ifndef EP_SERVER_HTTP_ACCESS_FORWARDED_H
#define EP_SERVER_HTTP_ACCESS_FORWARDED_H

#include "api/network.h"
#include "server/http/messages/request.h"

typedef struct {
  ep_ip_network item[EP_LIMIT_ALLOWED_ADDRESSES];
  int count;
} ep_trusted_proxies;

/* Reads "127.0.0.1,10.0.0.0/8"; "" trusts nobody. EP_INVALID. */
ep_status ep_trusted_proxies_parse(const char *text, ep_trusted_proxies *out, ep_error *error);

/* Replaces `address`, the peer's, by the rightmost address that is not a trusted proxy's, if the
 * peer is one. A header that cannot be read up to there changes nothing. */
void ep_forwarded_find(const ep_trusted_proxies *proxies, const ep_request *request,
                       char address[EP_IP_TEXT_BYTES]);

#endif
