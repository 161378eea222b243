/* Names of checkpoints and moments: their numbers, and what is none. */
#include "api/file_number.h"
#include "tests/suite.h"

START_TEST(numbers_of_names) {
  static const struct {
    const char *prefix, *name;
    int64_t number;
  } CASES[] = {
      {EP_CHECKPOINT_PREFIX, "checkpoint-120.safetensors", 120},
      {EP_MOMENT_PREFIX, "moment-0.safetensors", 0},
      {EP_MOMENT_PREFIX, "moment-999999999999999999.safetensors", INT64_C(999999999999999999)},
      {EP_MOMENT_PREFIX, "moment-1000000000000000000.safetensors", -1},
      {EP_MOMENT_PREFIX, "checkpoint-120.safetensors", -1},
      {EP_MOMENT_PREFIX, "moment-.safetensors", -1},
      {EP_MOMENT_PREFIX, "moment--1.safetensors", -1},
      {EP_MOMENT_PREFIX, "moment-12.safetensors.part", -1},
      {EP_MOMENT_PREFIX, "moment-12", -1},
      {EP_MOMENT_PREFIX, "moment", -1},
      {EP_MOMENT_PREFIX, "", -1}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
    ck_assert_msg(ep_file_number(CASES[i].prefix, CASES[i].name) == CASES[i].number, "%s",
                  CASES[i].name);
}
END_TEST

EP_SUITE("api/file_number") {
  TCase *tests = ep_suite_case(suite, "names");
  tcase_add_test(tests, numbers_of_names);
}
