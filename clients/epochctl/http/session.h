/* session.h: a server, the token for it, and the connection to it. */
#ifndef EP_CLIENTS_EPOCHCTL_HTTP_SESSION_H
#define EP_CLIENTS_EPOCHCTL_HTTP_SESSION_H

#include "api/json/problem.h"

enum {
  EP_SERVER_BYTES = 1024,
  EP_TOKEN_BYTES = 1024,
};

typedef struct {
  char server[EP_SERVER_BYTES];  /* "http://127.0.0.1:8080", no slash at its end */
  char token[EP_TOKEN_BYTES];    /* "" for none */
  const char *ca_file;           /* PEM, lent; NULL = the system's roots */
  const char *certificate, *key; /* PEM, the client's own, lent; NULL = none */
  long timeout_s;                /* of a response that is neither a stream nor a transfer */
  void *handle;                  /* libcurl's, with its open connections */
  ep_problem problem;            /* of the last request that was refused */
  char *refusal;                 /* its JSON as received, owned; NULL for none */
} ep_session;

/* What the command line says of a session; each may be NULL. Lent, as long as the session lasts. */
typedef struct {
  const char *server, *token_file, *ca_file, *certificate, *key;
} ep_session_options;

/* Sets the server: `server`, else EPOCHD_SERVER, else EPOCHD, else http://127.0.0.1:8080; the
 * token: the first line of `token_file`, else EPOCHD_TOKEN, else none; and the files of TLS, else
 * EPOCHD_CA, EPOCHD_CERTIFICATE, EPOCHD_KEY. EP_INVALID for a server that is no address, for a
 * token that is none, and for a certificate without its key. */
ep_status ep_session_open(ep_session *session, const ep_session_options *options, ep_error *error);
void ep_session_close(ep_session *session);

/* Forgets the last refusal: what follows is another attempt. */
void ep_session_refusal_clear(ep_session *session);

#endif
