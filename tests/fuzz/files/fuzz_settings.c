/* Any bytes as the administrator's files: the settings of epochd, and, behind an 's', the secrets
 * that sign webhooks. Refused with a reason, or within their limits. */
#include "server/process/config.h"
#include "server/webhooks/signature.h"
#include "tests/fuzz/files/files.h"

static void secrets_hold(const uint8_t *bytes, size_t count) {
  ep_webhook_secrets secrets;
  ep_error error = {0};
  char *text = malloc(count + 1);
  FUZZ_HOLDS(text);
  memcpy(text, bytes, count);
  text[count] = 0;
  if (ep_webhook_secrets_parse(text, &secrets, &error) == EP_OK) {
    FUZZ_HOLDS(secrets.count > 0 && secrets.count <= EP_LIMIT_WEBHOOK_SECRETS);
    for (int i = 0; i < secrets.count; i++)
      FUZZ_HOLDS(secrets.bytes[i] >= EP_SECRET_BYTES_MIN &&
                 secrets.bytes[i] <= EP_SECRET_BYTES_MAX);
  } else {
    FUZZ_HOLDS(error.message[0]);
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static ep_config config;
  ep_error error = {0};
  if (count > 0 && bytes[0] == 's') {
    secrets_hold(bytes + 1, count - 1);
    return 0;
  }
  fuzz_file_write("epochd.json", bytes, count);
  char *const words[] = {"epochd", "--config", fuzz_path, NULL};
  ep_status status = ep_config_read(3, words, &config, &error);
  FUZZ_HOLDS(status == EP_OK || error.message[0]);
  FUZZ_HOLDS(status != EP_OK || (config.port >= 0 && config.port <= 65535 && config.host[0]));
  return 0;
}
