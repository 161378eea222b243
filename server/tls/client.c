#include "server/tls/client.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

struct ep_tls_client {
  gnutls_session_t session;
  gnutls_certificate_credentials_t credentials;
};

static int session_open(ep_tls_client *client, int socket, const ep_tls_files *files) {
  int failed = gnutls_certificate_allocate_credentials(&client->credentials);
  if (failed == 0)
    failed = gnutls_certificate_set_x509_key_file(client->credentials, files->certificate,
                                                  files->key, GNUTLS_X509_FMT_PEM);
  if (failed < 0) return failed;
  failed = gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
  if (failed == 0) failed = gnutls_priority_set_direct(client->session, EP_TLS_PRIORITIES, NULL);
  if (failed == 0)
    failed = gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials);
  if (failed != 0) return failed;
  gnutls_transport_set_int(client->session, socket);
  do failed = gnutls_handshake(client->session);
  while (failed == GNUTLS_E_INTERRUPTED);
  return failed;
}

ep_status ep_tls_client_open(int socket, const ep_tls_files *files, ep_tls_client **out,
                             ep_error *error) {
  ep_tls_client *client = calloc(1, sizeof *client);
  if (!client) return ep_fail_memory(error);
  int failed = session_open(client, socket, files);
  if (failed == 0) {
    *out = client;
    return EP_OK;
  }
  ep_tls_client_close(client);
  return ep_fail(error, EP_IO, "TLS: %s", gnutls_strerror(failed));
}

void ep_tls_client_close(ep_tls_client *client) {
  if (!client) return;
  if (client->session) gnutls_deinit(client->session);
  if (client->credentials) gnutls_certificate_free_credentials(client->credentials);
  free(client);
}

/* What GnuTLS returned, as the C library would. */
static ssize_t count_of(ssize_t result) {
  if (result >= 0) return result;
  if (result == GNUTLS_E_PREMATURE_TERMINATION) return 0;
  errno = result == GNUTLS_E_INTERRUPTED ? EINTR : result == GNUTLS_E_AGAIN ? EAGAIN : EPROTO;
  return -1;
}

ssize_t ep_tls_client_send(ep_tls_client *client, const void *data, size_t bytes) {
  return count_of(gnutls_record_send(client->session, data, bytes));
}

ssize_t ep_tls_client_receive(ep_tls_client *client, void *buffer, size_t bytes) {
  return count_of(gnutls_record_recv(client->session, buffer, bytes));
}
