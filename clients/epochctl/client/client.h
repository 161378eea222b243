/* client.h: one run of epochctl: the server, the terminal, and the exit status. */
#ifndef EP_CLIENTS_EPOCHCTL_CLIENT_CLIENT_H
#define EP_CLIENTS_EPOCHCTL_CLIENT_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

#include "clients/epochctl/http/request.h"
#include "clients/epochctl/http/session.h"
#include "clients/epochctl/terminal/terminal.h"

/* The exit statuses; their texts are in manual/words.c. */
typedef enum {
  EP_EXIT_GOOD = 0,
  EP_EXIT_JOB = 1,     /* the job or sweep failed or was cancelled */
  EP_EXIT_USAGE = 2,   /* wrong usage, or the server refused the request */
  EP_EXIT_TROUBLE = 3, /* no response, no permission, or a failure on either side */
  EP_EXIT_DETACHED = 130
} ep_exit;

typedef struct ep_client {
  ep_session session;
  ep_terminal terminal;
  const struct ep_subcommand_table *subcommands; /* all that there are, for their help */
  bool json;                                     /* --json: print responses as received */
  ep_exit outcome; /* of a subcommand that returned EP_OK: the job's */
} ep_client;

/* Sends. With --json prints the response as received and sets *out to NULL; else *out is the parsed
 * response, the caller's (json_decref), NULL for an empty one. */
ep_status ep_client_send(ep_client *client, const ep_http_request *request, json_t **out,
                         ep_error *error);
/* The same of a GET. */
ep_status ep_client_get(ep_client *client, const char *path, json_t **out, ep_error *error);
/* Prints the "warnings" of a response, which are texts, on standard error. */
void ep_client_warn(const json_t *document);
/* Prints a response, which is not empty, as received, and the end of its line. */
void ep_client_print(const ep_http_response *response);

#endif
