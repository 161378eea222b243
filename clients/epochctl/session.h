/* session.h: whom epochctl speaks to, as whom, and how it shows what it hears. */
#ifndef EP_CLIENTS_EPOCHCTL_SESSION_H
#define EP_CLIENTS_EPOCHCTL_SESSION_H

#include <stdbool.h>

#include "api/json/problem.h"
#include "clients/epochctl/terminal.h"

enum {
  EP_SERVER_BYTES = 1024,
  EP_TOKEN_BYTES = 1024,
};

/* How the program ends; the documentation's words are in pages.c. */
typedef enum {
  EP_EXIT_GOOD = 0,
  EP_EXIT_JOB = 1,     /* the job failed or was cancelled */
  EP_EXIT_USAGE = 2,   /* wrong usage, or the server refused what was asked */
  EP_EXIT_TROUBLE = 3, /* no answer, no permission, or a failure on either side */
  EP_EXIT_DETACHED = 130
} ep_exit;

typedef struct {
  char server[EP_SERVER_BYTES]; /* "http://127.0.0.1:8080", no slash at its end */
  char token[EP_TOKEN_BYTES];   /* "" for none */
  long timeout_s;               /* of an answer that is not a stream or a transfer */
  bool json;                    /* print what the server says, unchanged */
  ep_terminal terminal;
  void *handle;       /* the library's, kept so that connections are */
  ep_problem problem; /* what was wrong with the last request that was refused */
  char *refusal;      /* its JSON as it came, owned; NULL for none */
  ep_exit outcome;    /* of a command that did what it should: the job's */
} ep_session;

/* Fills in server and token: the arguments may be NULL, then the environment says (EPOCHD_SERVER,
 * EPOCHD; EPOCHD_TOKEN), then http://127.0.0.1:8080 and no token. EP_INVALID for what cannot be an
 * address or a token. */
ep_status ep_session_open(ep_session *session, const char *server, const char *token_file,
                          ep_error *error);
void ep_session_close(ep_session *session);

#endif
