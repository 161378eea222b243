/* network.h: addresses and networks of IPv4 and IPv6. An IPv4 address a.b.c.d is ::ffff:a.b.c.d. */
#ifndef EP_API_NETWORK_H
#define EP_API_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { EP_IP_BYTES = 16, EP_IP_BITS = 8 * EP_IP_BYTES, EP_IP_TEXT_BYTES = 46 /* with its 0 */ };

typedef struct {
  uint8_t bytes[EP_IP_BYTES];
  int bits; /* of the prefix */
} ep_ip_network;

void ep_ip_from_ipv4(const void *four, uint8_t out[EP_IP_BYTES]);
/* false: neither IPv4 nor IPv6. */
bool ep_ip_from_socket(const struct sockaddr *address, uint8_t out[EP_IP_BYTES]);
/* "127.0.0.1" or "2001:db8::1". false: it is neither. */
bool ep_ip_parse(const char *text, uint8_t out[EP_IP_BYTES]);
/* The same in the form of inet_ntop(3): one text for each address. */
void ep_ip_text(const uint8_t bytes[EP_IP_BYTES], char out[EP_IP_TEXT_BYTES]);

/* "10.0.0.0/8"; an address alone is a network of one. false: no address; out->bits -1: its length
 * is wrong. */
bool ep_ip_network_parse(const char *text, ep_ip_network *out);
bool ep_ip_network_has(const ep_ip_network *network, const uint8_t address[EP_IP_BYTES]);

#endif
