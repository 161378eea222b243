/* Files of settings, and files that a command line names. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/arguments/input.h"
#include "api/arguments/settings.h"
#include "api/limits.h"
#include "tests/suite.h"

typedef struct {
  char data_dir[16], places[16], level[8];
  int64_t max_queued;
  bool quiet;
} settings;

#define MEMBER(member) EP_OPTION_MEMBER(settings, member)
static const ep_option OPTIONS[] = {
    {.name = "data-dir", .kind = EP_OPTION_FILE, .value = "DIR", MEMBER(data_dir)},
    {.name = "place", .kind = EP_OPTION_LIST, .value = "DIR", MEMBER(places)},
    {.name = "level", .kind = EP_OPTION_CHOICE, .value = "low|high", MEMBER(level)},
    {.name = "max-queued",
     .kind = EP_OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1000,
     MEMBER(max_queued)},
    {.name = "quiet", .kind = EP_OPTION_SWITCH, MEMBER(quiet)},
    {.name = NULL}};

static settings stored;
static ep_error error;

static void file_write(char *path, const char *text, size_t bytes) {
  int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(write(file, text, bytes), (ssize_t)bytes);
  close(file);
}

static ep_status text_read(const char *text) {
  char path[] = "/tmp/epochd-settings-XXXXXX";
  file_write(path, text, strlen(text));
  stored = (settings){.max_queued = 5};
  error = (ep_error){0};
  ep_status status = ep_settings_read(path, OPTIONS, &stored, &error);
  unlink(path);
  return status;
}

START_TEST(members_are_stored) {
  ck_assert_int_eq(
      text_read(" {\"max_queued\": 1e2, \"data_dir\":\"/\\u00e4\",\n\"level\":\"high\", "
                "\"place\": \"/a:/b\"} \n"),
      EP_OK);
  ck_assert_int_eq(stored.max_queued, 100);
  ck_assert_str_eq(stored.data_dir, "/ä");
  ck_assert_str_eq(stored.places, "/a:/b");
  ck_assert_str_eq(stored.level, "high");
  ck_assert_int_eq(text_read("{}"), EP_OK);
  ck_assert_int_eq(stored.max_queued, 5);
}
END_TEST

START_TEST(wrong_files_are_refused) {
  static const struct {
    const char *text, *message;
  } CASES[] = {
      {"", ""},
      {"[]", "not a JSON object"},
      {"{", ""},
      {"{\"max_queued\": 7,}", ""},
      {"{\"max_queued\": 7} x", ""},
      {"{\"max_queued\": 7, \"max_queued\": 8}", ""},
      {"{\"max_queue\": 7}", "unknown setting \"max_queue\": did you mean \"max_queued\"?"},
      {"{\"something\": 7}", "unknown setting \"something\"; --help"},
      {"{\"quiet\": true}", "unknown setting \"quiet\""},
      {"{\"max_queued\": \"7\"}", "\"max_queued\" must be a whole number"},
      {"{\"max_queued\": 7.5}", "must be a whole number"},
      {"{\"max_queued\": 1001}", "from 1 to 1000, not \"1001\""},
      {"{\"data_dir\": 7}", "must be a string"},
      {"{\"data_dir\": \"a\\nb\"}", "control characters"},
      {"{\"data_dir\": \"0123456789abcdef\"}", "is too long"},
      {"{\"level\": \"middle\"}", "must be one of low|high"}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    ck_assert_msg(text_read(CASES[i].text) != EP_OK, "%s was taken", CASES[i].text);
    ck_assert_msg(strstr(error.message, CASES[i].message) != NULL, "%s", error.message);
    ck_assert_ptr_nonnull(strstr(error.message, "/tmp/epochd-settings-")); /* names the file */
  }
  ck_assert_int_eq(ep_settings_read("/nowhere/at/all", OPTIONS, &stored, NULL), EP_INVALID);
}
END_TEST

/* A file as long as allowed, and one byte more. */
START_TEST(files_have_a_ceiling) {
  static char text[EP_LIMIT_SETTINGS_BYTES + 1];
  memset(text, 'x', sizeof text);
  for (size_t more = 0; more < 2; more++) {
    char path[] = "/tmp/epochd-input-XXXXXX", *read = NULL;
    size_t bytes = 0;
    file_write(path, text, EP_LIMIT_SETTINGS_BYTES + more);
    ck_assert_int_eq(ep_input_read(path, EP_LIMIT_SETTINGS_BYTES, &read, &bytes, &error),
                     more ? EP_TOO_LARGE : EP_OK);
    if (!more) {
      ck_assert_uint_eq(bytes, EP_LIMIT_SETTINGS_BYTES);
      ck_assert_int_eq(read[bytes], 0);
    }
    free(read);
    unlink(path);
  }
  char *read = NULL;
  size_t bytes = 0;
  ck_assert_int_eq(ep_input_read("/tmp", 10, &read, &bytes, &error), EP_INVALID); /* a folder */
  ck_assert_ptr_null(read);
}
END_TEST

EP_SUITE("api/settings") {
  TCase *tests = ep_suite_case(suite, "all");
  tcase_add_test(tests, members_are_stored);
  tcase_add_test(tests, wrong_files_are_refused);
  tcase_add_test(tests, files_have_a_ceiling);
}
