#include "server/webhooks/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/tokens/secret_file.h"

enum { FILE_BYTES = 4096 };

static const char PREFIX[] = "whsec_";

static ep_status secret_parse(const char *line, size_t length, ep_webhook_secrets *out,
                              ep_error *error) {
  const size_t prefix = sizeof PREFIX - 1;
  size_t *bytes = &out->bytes[out->count];
  if (length > prefix && strncmp(line, PREFIX, prefix) == 0 &&
      sodium_base642bin(out->key[out->count], EP_SECRET_BYTES_MAX, line + prefix, length - prefix,
                        NULL, bytes, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
      *bytes >= EP_SECRET_BYTES_MIN) {
    out->count++;
    return EP_OK;
  }
  return ep_fail(error, EP_INVALID,
                 "a webhook secret is a line of whsec_ and base64 of %d to %d random bytes: "
                 "echo \"whsec_$(openssl rand -base64 32)\" makes one",
                 EP_SECRET_BYTES_MIN, EP_SECRET_BYTES_MAX);
}

ep_status ep_webhook_secrets_parse(const char *text, ep_webhook_secrets *out, ep_error *error) {
  ep_status status = EP_OK;
  *out = (ep_webhook_secrets){0};
  for (const char *line = text; status == EP_OK && *line;) {
    size_t length = strcspn(line, "\r\n");
    if (length > 0 && out->count == EP_LIMIT_WEBHOOK_SECRETS)
      status = ep_fail(error, EP_INVALID, "more than %d webhook secrets", EP_LIMIT_WEBHOOK_SECRETS);
    else if (length > 0)
      status = secret_parse(line, length, out, error);
    line += length + (line[length] != 0);
  }
  if (status == EP_OK && out->count == 0) return secret_parse("", 0, out, error);
  return status;
}

ep_status ep_webhook_secrets_read(const char *path, ep_webhook_secrets *out, ep_error *error) {
  char text[FILE_BYTES];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO,
                   "the webhook secret file %.300s cannot be read: %s", path, strerror(errno));
  ep_status status = ep_secret_file_check(file, "webhook secret file", path, error);
  ssize_t got = status == EP_OK ? read(file, text, sizeof text - 1) : 0;
  if (status == EP_OK && got < 0)
    status = ep_fail(error, EP_IO, "the webhook secret file %.300s: %s", path, strerror(errno));
  close(file);
  if (status != EP_OK) return status;
  text[got] = 0;
  status = ep_webhook_secrets_parse(text, out, error);
  sodium_memzero(text, sizeof text);
  return status;
}

void ep_webhook_sign(const ep_webhook_secrets *secrets, const char *id, int64_t time_s,
                     const char *body, size_t bytes, char out[EP_SIGNATURE_TEXT_BYTES]) {
  char head[128];
  size_t used = 0;
  int length = snprintf(head, sizeof head, "%s.%lld.", id, (long long)time_s);
  out[0] = 0;
  for (int i = 0; i < secrets->count; i++) {
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(crypto_auth_hmacsha256_BYTES,
                                        sodium_base64_VARIANT_ORIGINAL)];
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, secrets->key[i], secrets->bytes[i]);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)head, (size_t)length);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)body, bytes);
    crypto_auth_hmacsha256_final(&state, mac);
    sodium_bin2base64(text, sizeof text, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    used += (size_t)snprintf(out + used, EP_SIGNATURE_TEXT_BYTES - used, "%sv1,%s",
                             i > 0 ? " " : "", text);
  }
}
