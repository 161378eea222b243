#include "clients/epochctl/http/session.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

static const char *variable_read(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static bool is_printable(const char *text) {
  for (; *text; text++)
    if (*text <= 0x20 || *text > 0x7e) return false;
  return true;
}

static ep_status server_set(ep_session *session, const char *server, ep_error *error) {
  const char *scheme = strstr(server, "://") ? "" : "http://";
  int bytes = snprintf(session->server, sizeof session->server, "%s%s", scheme, server);
  if (bytes < 0 || (size_t)bytes >= sizeof session->server || !is_printable(server))
    return ep_fail(error, EP_INVALID, "the server address is too long or has invalid characters");
  while (bytes > 0 && session->server[bytes - 1] == '/') session->server[--bytes] = 0;
  if (strncmp(session->server, "http://", 7) != 0 && strncmp(session->server, "https://", 8) != 0)
    return ep_fail(error, EP_INVALID,
                   "the server's address must start with http:// or https://, not \"%.100s\"",
                   server);
  return EP_OK;
}

static ep_status token_set(ep_session *session, const char *token, const char *from,
                           ep_error *error) {
  if (!*token || strlen(token) >= sizeof session->token || !is_printable(token))
    return ep_fail(error, EP_INVALID, "%.300s has no token: printable characters without spaces",
                   from);
  snprintf(session->token, sizeof session->token, "%s", token);
  return EP_OK;
}

/* The token is the first line that is neither empty nor a comment, as in epochd. */
static ep_status token_read(ep_session *session, const char *path, ep_error *error) {
  char line[EP_TOKEN_BYTES + 2] = "";
  FILE *file = fopen(path, "re");
  if (!file)
    return ep_fail(error, EP_INVALID, "the token file %.300s cannot be read: %s", path,
                   strerror(errno));
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\r\n")] = 0;
    if (*line && *line != '#') break;
    *line = 0;
  }
  fclose(file);
  return token_set(session, line, path, error);
}

static ep_status tls_set(ep_session *session, const ep_session_options *options, ep_error *error) {
  session->ca_file = options->ca_file ? options->ca_file : variable_read("EPOCHD_CA");
  session->certificate =
      options->certificate ? options->certificate : variable_read("EPOCHD_CERTIFICATE");
  session->key = options->key ? options->key : variable_read("EPOCHD_KEY");
  if (!session->certificate == !session->key) return EP_OK;
  return ep_fail(error, EP_INVALID, "--certificate FILE and --key FILE must be given together");
}

ep_status ep_session_open(ep_session *session, const ep_session_options *options, ep_error *error) {
  const char *server = options->server, *token_file = options->token_file;
  if (!server) server = variable_read("EPOCHD_SERVER");
  if (!server) server = variable_read("EPOCHD");
  ep_status status = server_set(session, server ? server : "http://127.0.0.1:8080", error);
  if (status == EP_OK) status = tls_set(session, options, error);
  if (status != EP_OK) return status;
  if (token_file) return token_read(session, token_file, error);
  const char *token = variable_read("EPOCHD_TOKEN");
  return token ? token_set(session, token, "EPOCHD_TOKEN", error) : EP_OK;
}

void ep_session_close(ep_session *session) {
  if (session->handle) curl_easy_cleanup(session->handle);
  session->handle = NULL;
  ep_session_refusal_clear(session);
}

void ep_session_refusal_clear(ep_session *session) {
  free(session->refusal);
  session->refusal = NULL;
  session->problem = (ep_problem){0};
}
