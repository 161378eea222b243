/* Tests of server/webhooks/signature.c, and of the waits between attempts. */
#include "server/webhooks/signature.h"

#include <string.h>
#include <sys/stat.h>

#include "server/webhooks/webhooks.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define OTHER "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

/* The message that libraries of Standard Webhooks are tested with. */
static const char body[] = "{\"test\": 2432232314}";
static const char wanted[] = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

START_TEST(known_message) {
  ep_webhook_secrets secrets;
  char text[EP_SIGNATURE_TEXT_BYTES];
  assert_ok(ep_webhook_secrets_parse(SECRET "\n", &secrets, error));
  ep_webhook_sign(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, strlen(body), text);
  ck_assert_str_eq(text, wanted);
  ep_webhook_sign(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265331, body, strlen(body), text);
  ck_assert_str_ne(text, wanted);
}
END_TEST

START_TEST(several_secrets) {
  ep_webhook_secrets secrets;
  char text[EP_SIGNATURE_TEXT_BYTES];
  assert_ok(ep_webhook_secrets_parse(OTHER "\n\n" SECRET "\r\n", &secrets, error));
  ck_assert_int_eq(secrets.count, 2);
  ep_webhook_sign(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, strlen(body), text);
  ck_assert_str_eq(strchr(text, ' ') + 1, wanted);
  ck_assert_int_eq(strlen(text), 2 * strlen(wanted) + 1);
  assert_ok(ep_webhook_secrets_parse(SECRET "\n" SECRET "\n" SECRET "\n" SECRET, &secrets, error));
  ep_webhook_sign(&secrets, "a", 1, body, strlen(body), text);
  ck_assert_int_eq(strlen(text), 4 * strlen(wanted) + 3);
}
END_TEST

START_TEST(no_secrets) {
  static const char *const texts[] = {"",
                                      "\n",
                                      "whsec_",
                                      "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==",
                                      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
                                      SECRET " ",
                                      SECRET "\n" SECRET "\n" SECRET "\n" SECRET "\n" SECRET};
  ep_webhook_secrets secrets;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ep_error error = {0};
    ck_assert_msg(ep_webhook_secrets_parse(texts[i], &secrets, &error) == EP_INVALID, "%s",
                  texts[i]);
  }
}
END_TEST

START_TEST(files) {
  const char *path = scratch_path("secret");
  ep_webhook_secrets secrets;
  ep_error why = {0};
  ck_assert_int_eq(ep_webhook_secrets_read(path, &secrets, &why), EP_NOT_FOUND);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(SECRET "\n", file);
  fclose(file);
  ck_assert_int_eq(chmod(path, 0622), 0);
  ck_assert_int_eq(ep_webhook_secrets_read(path, &secrets, &why), EP_FORBIDDEN);
  ck_assert_int_eq(chmod(path, 0600), 0);
  assert_ok(ep_webhook_secrets_read(path, &secrets, error));
  ck_assert_int_eq(secrets.count, 1);
  ck_assert_int_eq(secrets.bytes[0], EP_SECRET_BYTES_MIN);
}
END_TEST

/* 1, 2, 4 … seconds, then each hour: some thirty attempts in a day. */
START_TEST(waits) {
  ck_assert_int_eq(ep_webhooks_backoff_us(1), 1000000);
  ck_assert_int_eq(ep_webhooks_backoff_us(2), 2000000);
  ck_assert_int_eq(ep_webhooks_backoff_us(12), INT64_C(2048) * 1000000);
  ck_assert_int_eq(ep_webhooks_backoff_us(13), INT64_C(3600) * 1000000);
  ck_assert_int_eq(ep_webhooks_backoff_us(1000000), INT64_C(3600) * 1000000);
}
END_TEST

EP_SUITE("server/webhooks/signature") {
  TCase *tests = ep_suite_case(suite, "signature");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, known_message);
  tcase_add_test(tests, several_secrets);
  tcase_add_test(tests, no_secrets);
  tcase_add_test(tests, files);
  tcase_add_test(tests, waits);
}
