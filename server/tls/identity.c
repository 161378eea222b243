#include "server/tls/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/tokens/secret_file.h"

struct ep_tls_identity {
  atomic_int references;
  gnutls_certificate_credentials_t credentials;
  bool demands; /* clients' certificates */
};

void ep_tls_init(ep_tls *tls) {
  tls->identity = NULL;
  pthread_mutex_init(&tls->mutex, NULL);
}

void ep_tls_deinit(ep_tls *tls) {
  ep_tls_identity_release(tls->identity);
  pthread_mutex_destroy(&tls->mutex);
}

void ep_tls_identity_release(ep_tls_identity *identity) {
  if (!identity || atomic_fetch_sub(&identity->references, 1) > 1) return;
  if (identity->credentials) gnutls_certificate_free_credentials(identity->credentials);
  free(identity);
}

/* Whether the client shows the daemon's own certificate: --probe does, which has the key. */
static bool is_own(gnutls_certificate_credentials_t credentials, const gnutls_datum_t *shown) {
  gnutls_datum_t own;
  return gnutls_certificate_get_crt_raw(credentials, 0, 0, &own) == 0 && own.size == shown->size &&
         memcmp(own.data, shown->data, own.size) == 0;
}

/* 0: the client is taken. GnuTLS has verified that the client has the certificate's key. */
static int client_verify(gnutls_session_t session) {
  static unsigned char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st data = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = purpose};
  void *credentials = NULL;
  unsigned count = 0, faults = 1;
  const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &count);
  if (!shown || count == 0 ||
      gnutls_credentials_get(session, GNUTLS_CRD_CERTIFICATE, &credentials) != 0)
    return GNUTLS_E_CERTIFICATE_ERROR;
  if (is_own(credentials, shown)) return 0;
  if (gnutls_certificate_verify_peers(session, &data, 1, &faults) != 0 || faults != 0)
    return GNUTLS_E_CERTIFICATE_ERROR;
  return 0;
}

static ep_status key_check(const char *path, ep_error *error) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, EP_IO, "the key file %.300s cannot be read: %s", path, strerror(errno));
  ep_status status = ep_secret_file_check(file, "key file", path, error);
  close(file);
  return status;
}

static ep_status end_find(gnutls_certificate_credentials_t credentials, int64_t *expires_s,
                          ep_error *error) {
  gnutls_datum_t raw;
  gnutls_x509_crt_t certificate;
  if (gnutls_x509_crt_init(&certificate) != 0) return ep_fail_memory(error);
  int failed = gnutls_certificate_get_crt_raw(credentials, 0, 0, &raw);
  if (failed == 0) failed = gnutls_x509_crt_import(certificate, &raw, GNUTLS_X509_FMT_DER);
  if (failed == 0) *expires_s = (int64_t)gnutls_x509_crt_get_expiration_time(certificate);
  gnutls_x509_crt_deinit(certificate);
  return failed == 0 ? EP_OK
                     : ep_fail(error, EP_INVALID, "the certificate: %s", gnutls_strerror(failed));
}

static ep_status identity_fill(ep_tls_identity *identity, const ep_tls_files *files,
                               int64_t *expires_s, ep_error *error) {
  if (gnutls_certificate_allocate_credentials(&identity->credentials) != 0)
    return ep_fail_memory(error);
  ep_status status = key_check(files->key, error);
  if (status != EP_OK) return status;
  int failed = gnutls_certificate_set_x509_key_file(identity->credentials, files->certificate,
                                                    files->key, GNUTLS_X509_FMT_PEM);
  if (failed < 0)
    return ep_fail(error, failed == GNUTLS_E_FILE_ERROR ? EP_IO : EP_INVALID,
                   "the certificate %.200s and the key %.200s, both PEM: %s", files->certificate,
                   files->key, gnutls_strerror(failed));
  status = end_find(identity->credentials, expires_s, error);
  if (status != EP_OK || !files->client_ca[0]) return status;
  int count = gnutls_certificate_set_x509_trust_file(identity->credentials, files->client_ca,
                                                     GNUTLS_X509_FMT_PEM);
  if (count <= 0)
    return ep_fail(error, count == GNUTLS_E_FILE_ERROR ? EP_IO : EP_INVALID,
                   "the authorities of clients %.300s have no certificate in PEM: %s",
                   files->client_ca, count < 0 ? gnutls_strerror(count) : "none");
  identity->demands = true;
  gnutls_certificate_set_verify_function(identity->credentials, client_verify);
  return EP_OK;
}

ep_status ep_tls_read(ep_tls *tls, const ep_tls_files *files, int64_t *expires_s, ep_error *error) {
  ep_tls_identity *identity = calloc(1, sizeof *identity);
  if (!identity) return ep_fail_memory(error);
  atomic_init(&identity->references, 1);
  ep_status status = identity_fill(identity, files, expires_s, error);
  if (status == EP_OK) {
    pthread_mutex_lock(&tls->mutex);
    ep_tls_identity *before = tls->identity;
    tls->identity = identity;
    pthread_mutex_unlock(&tls->mutex);
    identity = before;
  }
  ep_tls_identity_release(identity);
  return status;
}

ep_status ep_tls_session_start(ep_tls *tls, void *session, ep_tls_identity **out, ep_error *error) {
  pthread_mutex_lock(&tls->mutex);
  ep_tls_identity *identity = tls->identity;
  if (identity) atomic_fetch_add(&identity->references, 1);
  pthread_mutex_unlock(&tls->mutex);
  if (!identity || !session ||
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, identity->credentials) != 0) {
    ep_tls_identity_release(identity);
    return ep_fail(error, EP_INTERNAL, "a session of TLS cannot be started");
  }
  gnutls_certificate_server_set_request(session, identity->demands ? GNUTLS_CERT_REQUIRE
                                                                   : GNUTLS_CERT_IGNORE);
  *out = identity;
  return EP_OK;
}
