#include "engine/tunnel/certificate.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"

enum { VALID_SECONDS = 20 * 365 * 86400, SERIAL_BYTES = 16 };

struct ep_certificate {
  gnutls_certificate_credentials_t credentials;
};

static ep_status tls_fail(ep_error *error, const char *what, int failed) {
  return ep_fail(error, EP_IO, "%s: %s", what, gnutls_strerror(failed));
}

static int certificate_fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key) {
  static const char name[] = "CN=epochd";
  unsigned char serial[SERIAL_BYTES];
  time_t now = time(NULL);
  int failed = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
  serial[0] &= 0x7f; /* it is a positive number */
  if (failed == 0) failed = gnutls_x509_crt_set_version(certificate, 3);
  if (failed == 0) failed = gnutls_x509_crt_set_serial(certificate, serial, sizeof serial);
  if (failed == 0) failed = gnutls_x509_crt_set_dn(certificate, name, NULL);
  /* The clocks of nodes may be late. */
  if (failed == 0) failed = gnutls_x509_crt_set_activation_time(certificate, now - 86400);
  if (failed == 0) failed = gnutls_x509_crt_set_expiration_time(certificate, now + VALID_SECONDS);
  if (failed == 0) failed = gnutls_x509_crt_set_key(certificate, key);
  if (failed == 0)
    failed = gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
  return failed;
}

static ep_status text_write(const char *path, const gnutls_datum_t *text, ep_error *error) {
  ep_durable_file *file = NULL;
  ep_status status = ep_durable_file_create(path, &file, error);
  if (status != EP_OK) return status;
  status = ep_durable_file_write(file, text->data, text->size, error);
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}

/* The key first: a certificate that is there has its key. */
static ep_status pair_write(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key,
                            const char *certificate_path, const char *key_path, ep_error *error) {
  gnutls_datum_t text = {0};
  int failed = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text);
  if (failed != 0) return tls_fail(error, "the key of the workers' certificate", failed);
  ep_status status = text_write(key_path, &text, error);
  gnutls_free(text.data);
  text = (gnutls_datum_t){0};
  if (status == EP_OK) {
    failed = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text);
    status = failed == 0 ? text_write(certificate_path, &text, error)
                         : tls_fail(error, "the workers' certificate", failed);
    gnutls_free(text.data);
  }
  return status;
}

static ep_status pair_make(const char *certificate_path, const char *key_path, ep_error *error) {
  gnutls_x509_crt_t certificate = NULL;
  gnutls_x509_privkey_t key = NULL;
  int failed = gnutls_x509_crt_init(&certificate);
  if (failed == 0) failed = gnutls_x509_privkey_init(&key);
  if (failed == 0)
    failed = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
  if (failed == 0) failed = certificate_fill(certificate, key);
  ep_status status = failed == 0 ? pair_write(certificate, key, certificate_path, key_path, error)
                                 : tls_fail(error, "the workers' certificate", failed);
  if (key) gnutls_x509_privkey_deinit(key);
  if (certificate) gnutls_x509_crt_deinit(certificate);
  return status;
}

ep_status ep_certificate_open(const char *folder, ep_certificate **out, ep_error *error) {
  char certificate_path[EP_PATH_BYTES], key_path[EP_PATH_BYTES];
  ep_status status = ep_path_join(certificate_path, error, folder, "certificate.pem", NULL);
  if (status == EP_OK) status = ep_path_join(key_path, error, folder, "key.pem", NULL);
  if (status == EP_OK && access(certificate_path, F_OK) != 0)
    status = pair_make(certificate_path, key_path, error);
  if (status != EP_OK) return status;
  ep_certificate *certificate = calloc(1, sizeof *certificate);
  if (!certificate) return ep_fail_memory(error);
  int failed = gnutls_certificate_allocate_credentials(&certificate->credentials);
  if (failed == 0)
    failed = gnutls_certificate_set_x509_key_file(certificate->credentials, certificate_path,
                                                  key_path, GNUTLS_X509_FMT_PEM);
  if (failed < 0) {
    ep_certificate_close(certificate);
    return tls_fail(error, certificate_path, failed);
  }
  *out = certificate;
  return EP_OK;
}

void ep_certificate_close(ep_certificate *certificate) {
  if (!certificate) return;
  if (certificate->credentials) gnutls_certificate_free_credentials(certificate->credentials);
  free(certificate);
}

ep_status ep_certificate_pin(const ep_certificate *certificate, char *pin, ep_error *error) {
  gnutls_datum_t raw;
  int failed = gnutls_certificate_get_crt_raw(certificate->credentials, 0, 0, &raw);
  if (failed != 0) return tls_fail(error, "the workers' certificate", failed);
  return ep_sha256_of(raw.data, raw.size, pin, error);
}

void *ep_certificate_credentials(const ep_certificate *certificate) {
  return certificate->credentials;
}
