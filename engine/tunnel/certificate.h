/* certificate.h: the certificate that epochd makes for its workers on other machines. Nobody signs
 * it but itself: a relay knows its SHA-256, and takes no other. */
#ifndef EP_ENGINE_TUNNEL_CERTIFICATE_H
#define EP_ENGINE_TUNNEL_CERTIFICATE_H

#include "api/names.h"
#include "api/status.h"

typedef struct ep_certificate ep_certificate; /* shared by threads once it is there */

/* Reads FOLDER/certificate.pem and FOLDER/key.pem; makes both where they are missing, readable for
 * their owner alone. */
ep_status ep_certificate_open(const char *folder, ep_certificate **out, ep_error *error);
void ep_certificate_close(ep_certificate *certificate); /* NULL is allowed */

/* SHA-256 of the certificate (DER), in hex. pin: [EP_SHA256_HEX_BYTES], written. */
ep_status ep_certificate_pin(const ep_certificate *certificate, char *pin, ep_error *error);

/* A gnutls_certificate_credentials_t, lent. */
void *ep_certificate_credentials(const ep_certificate *certificate);

#endif
