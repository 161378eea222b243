/* Records between a gateway and a relay: what is written is read, and what is not plain is refused.
 */
#include "api/wire/record.h"

#include <stdio.h>
#include <string.h>

#include "tests/suite.h"

static ep_record_hello good(void) {
  ep_record_hello hello = {.attempt = 2, .has_all = 1, .first = 3, .last = 9};
  memcpy(hello.magic, EP_RECORD_MAGIC, sizeof hello.magic);
  snprintf(hello.version, sizeof hello.version, "1.2.3");
  snprintf(hello.worker, sizeof hello.worker, "wrk_1");
  memset(hello.secret, 'a', EP_SHA256_HEX_BYTES - 1);
  snprintf(hello.node, sizeof hello.node, "n1");
  snprintf(hello.job, sizeof hello.job, "job_1");
  return hello;
}

static ep_status read_hello(const ep_record_hello *hello, size_t bytes) {
  ep_record_hello out;
  ep_record record = {.kind = EP_RECORD_HELLO, .payload = (const uint8_t *)hello, .bytes = bytes};
  return ep_record_hello_read(&record, &out, NULL);
}

START_TEST(a_greeting_is_read_strictly) {
  ep_record_hello hello = good();
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_OK);
  ck_assert_int_eq(read_hello(&hello, sizeof hello - 1), EP_MALFORMED);
  hello.magic[7]++;
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_UNSUPPORTED);
  hello = good();
  hello.worker[sizeof hello.worker - 1] = 'x'; /* behind the end of the text */
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_MALFORMED);
  hello = good();
  hello.secret[0] = 'A';
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_MALFORMED);
  hello = good();
  hello.node[0] = '\n';
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_MALFORMED);
  hello = good();
  snprintf(hello.job, sizeof hello.job, "../job");
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_MALFORMED);
  hello = good();
  hello.attempt = 0; /* of a job there is one */
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_MALFORMED);
  hello = good();
  hello.last = 1; /* before the first */
  ck_assert_int_eq(read_hello(&hello, sizeof hello), EP_MALFORMED);
}
END_TEST

START_TEST(sizes_have_limits) {
  uint8_t header[EP_RECORD_HEADER_BYTES];
  ep_record record;
  ep_record_header_write(header, EP_RECORD_DATA, EP_RECORD_DATA_BYTES, 7);
  ck_assert_int_eq(ep_record_header_read(header, &record, NULL), EP_OK);
  ck_assert_int_eq(record.kind, EP_RECORD_DATA);
  ck_assert_uint_eq(record.number, 7);
  ck_assert_uint_eq(record.bytes, EP_RECORD_DATA_BYTES);
  ep_record_header_write(header, EP_RECORD_DATA, EP_RECORD_DATA_BYTES + 1, 7);
  ck_assert_int_eq(ep_record_header_read(header, &record, NULL), EP_TOO_LARGE);
  ep_record_header_write(header, (ep_record_kind)99, 0, 0);
  ck_assert_int_eq(ep_record_header_read(header, &record, NULL), EP_MALFORMED);
  ep_record_header_write(header, EP_RECORD_NONE, 0, 0);
  ck_assert_int_eq(ep_record_header_read(header, &record, NULL), EP_MALFORMED);
}
END_TEST

START_TEST(names_stay_below_their_folder) {
  static const char *const taken[] = {"weights.safetensors", "jobs/job_1/trials.bin",
                                      "datasets/ab/train.x.npy"};
  static const char *const refused[] = {"",   "/etc/passwd", "..",  "../x", "a/../b",   "a//b",
                                        "a/", ".hidden",     "a b", "a\\b", "a/b/c/d/e"};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    ck_assert_msg(ep_record_name_valid(taken[i]), "%s", taken[i]);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    ck_assert_msg(!ep_record_name_valid(refused[i]), "%s", refused[i]);
}
END_TEST

START_TEST(a_job_has_few_files) {
  static const char *const taken[] = {"weights.safetensors", "trials.bin", "predictions.csv",
                                      "checkpoint-12.safetensors"};
  static const char *const refused[] = {"spec.json",
                                        "events.ndjson",
                                        "init.safetensors",
                                        "crashes",
                                        "checkpoint-.safetensors",
                                        "checkpoint-1.safetensors.tmp",
                                        "checkpoint-../x.safetensors",
                                        "checkpoint-1234567890123456789012.safetensors",
                                        "weights.json"};
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    ck_assert_msg(ep_record_result_valid(taken[i]), "%s", taken[i]);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    ck_assert_msg(!ep_record_result_valid(refused[i]), "%s", refused[i]);
}
END_TEST

START_TEST(a_frame_has_its_own_size) {
  uint8_t bytes[EP_FRAME_HEADER_BYTES + 2] = {2, 0, 0, 0, EP_FRAME_REPLY, 0, 0, 0, '{', '}'};
  ep_record record = {.kind = EP_RECORD_FRAME, .payload = bytes, .bytes = sizeof bytes};
  ep_frame_kind kind;
  ck_assert_int_eq(ep_record_frame_read(&record, &kind, NULL), EP_OK);
  ck_assert_int_eq(kind, EP_FRAME_REPLY);
  bytes[0] = 1;
  ck_assert_int_eq(ep_record_frame_read(&record, &kind, NULL), EP_MALFORMED);
  record.bytes = EP_FRAME_HEADER_BYTES - 1;
  ck_assert_int_eq(ep_record_frame_read(&record, &kind, NULL), EP_MALFORMED);
}
END_TEST

EP_SUITE("api/wire/record") {
  TCase *tests = ep_suite_case(suite, "record");
  tcase_add_test(tests, a_greeting_is_read_strictly);
  tcase_add_test(tests, sizes_have_limits);
  tcase_add_test(tests, names_stay_below_their_folder);
  tcase_add_test(tests, a_job_has_few_files);
  tcase_add_test(tests, a_frame_has_its_own_size);
}
