#include "api/hash/sha256.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>

#if OPENSSL_VERSION_NUMBER < 0x30000000L /* 1.1: one implementation, which needs no search */
#define EVP_MD_fetch(library, name, properties) EVP_sha256()
#endif

static const EVP_MD *algorithm; /* NULL: each hash looks for its own */

static ep_status refusal_tell(ep_error *error) {
  return ep_fail(error, EP_NO_MEMORY,
                 "OpenSSL provides no SHA-256: out of memory, or disabled in its configuration");
}

ep_status ep_sha256_prepare(ep_error *error) {
  algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
  return algorithm ? EP_OK : refusal_tell(error);
}

ep_status ep_sha256_init(ep_sha256 *hash, ep_error *error) {
  hash->context = EVP_MD_CTX_new();
  if (!hash->context) return ep_fail_memory(error);
  if (EVP_DigestInit_ex(hash->context, algorithm ? algorithm : EVP_sha256(), NULL) == 1)
    return EP_OK;
  ep_sha256_deinit(hash);
  return refusal_tell(error);
}

void ep_sha256_update(ep_sha256 *hash, const void *bytes, size_t count) {
  int taken = EVP_DigestUpdate(hash->context, bytes, count);
  assert(taken == 1);
  (void)taken;
}

void ep_sha256_final(ep_sha256 *hash, char text[EP_SHA256_HEX_BYTES]) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned bytes = 0;
  int ended = EVP_DigestFinal_ex(hash->context, digest, &bytes);
  assert(ended == 1 && 2 * bytes + 1 == EP_SHA256_HEX_BYTES);
  (void)ended;
  for (unsigned i = 0; i < bytes; i++) snprintf(text + (size_t)2 * i, 3, "%02x", digest[i]);
  ep_sha256_deinit(hash);
}

void ep_sha256_deinit(ep_sha256 *hash) {
  EVP_MD_CTX_free(hash->context);
  hash->context = NULL;
}

ep_status ep_sha256_of(const void *bytes, size_t count, char text[EP_SHA256_HEX_BYTES],
                       ep_error *error) {
  ep_sha256 hash;
  ep_status status = ep_sha256_init(&hash, error);
  if (status != EP_OK) return status;
  ep_sha256_update(&hash, bytes, count);
  ep_sha256_final(&hash, text);
  return EP_OK;
}
