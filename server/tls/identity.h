/* identity.h: the daemon's certificate, its key, and the authorities of clients' certificates.
 *
 * Files are read again at SIGHUP: each new connection shows what was read last, and each old one
 * keeps what it began with. Thread-safe, once initialized. */
#ifndef EP_SERVER_TLS_IDENTITY_H
#define EP_SERVER_TLS_IDENTITY_H

#include <pthread.h>
#include <stdint.h>

#include "api/status.h"

/* TLS 1.2 and 1.3, forward secrecy, authenticated encryption; no SHA-1. In the words of GnuTLS. */
#define EP_TLS_PRIORITIES                                                                        \
  "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:"   \
  "+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1:" \
  "%SERVER_PRECEDENCE"

/* PEM. The certificate's file has the chain behind it. */
typedef struct {
  const char *certificate, *key;
  const char *client_ca; /* "" = clients need no certificate */
} ep_tls_files;

/* What one connection shows. Shared. */
typedef struct ep_tls_identity ep_tls_identity;

typedef struct {
  pthread_mutex_t mutex;     /* guards the member below */
  ep_tls_identity *identity; /* NULL = no TLS */
} ep_tls;

/* Without TLS until ep_tls_read has succeeded. */
void ep_tls_init(ep_tls *tls);
void ep_tls_deinit(ep_tls *tls);

/* Reads the files in place of what was read before; after a failure that stays. *expires_s: when
 * the certificate ends, in seconds since 1970. EP_INVALID: no certificate, no key, or not a pair;
 * EP_FORBIDDEN: others may read the key; EP_IO. */
ep_status ep_tls_read(ep_tls *tls, const ep_tls_files *files, int64_t *expires_s, ep_error *error);

/* Before the handshake of `session`, a gnutls_session_t: it shows what was read last, and demands a
 * client's certificate where there is a client_ca. *out: to be released after the session's last
 * use. */
ep_status ep_tls_session_start(ep_tls *tls, void *session, ep_tls_identity **out, ep_error *error);

/* NULL is allowed. */
void ep_tls_identity_release(ep_tls_identity *identity);

#endif
