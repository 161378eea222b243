#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "api/tokens/tokens.h"
#include "tests/suite.h"

#define HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* of "abc" */
#define LINE(name, owner, scopes, expires)                                            \
  "{\"name\":" name ",\"owner\":" owner ",\"scopes\":" scopes ",\"expires\":" expires \
  ",\"hash\":\"" HASH "\"}\n"

static ep_error error;
static ep_token_list list;

static ep_status parse(const char *text) {
  ep_token_list_deinit(&list);
  return ep_tokens_parse(text, strlen(text), "tokens", &list, &error);
}

static void teardown(void) {
  ep_token_list_deinit(&list);
}

START_TEST(lines_say_who_may_do_what) {
  char text[EP_SCOPES_BYTES];
  ck_assert_int_eq(parse("# comment\n" LINE("\"ci\"", "\"ann@lab\"", "[\"submit\",\"read\"]",
                                            "\"2027-01-31T01:00:00.5+01:00\"")),
                   EP_OK);
  ck_assert_int_eq(list.count, 1);
  ck_assert_str_eq(list.tokens[0].name, "ci");
  ck_assert_str_eq(list.tokens[0].owner, "ann@lab");
  ep_scopes_format(list.tokens[0].scopes, text);
  ck_assert_str_eq(text, "read,submit");
  ck_assert_int_eq(list.tokens[0].expires_us, INT64_C(1801353600000000));
  char *line = ep_token_format(&list.tokens[0]);
  ck_assert_ptr_nonnull(line);
  ck_assert_str_eq(line, "{\"name\":\"ci\",\"owner\":\"ann@lab\",\"scopes\":[\"read\",\"submit\"],"
                         "\"expires\":\"2027-01-31T00:00:00.000Z\",\"hash\":\"" HASH "\"}");
  free(line);
  ck_assert_int_eq(parse(LINE("\"root\"", "\"\"", "[\"admin\"]", "null")), EP_OK);
  ck_assert_uint_eq(list.tokens[0].scopes, EP_SCOPE_ALL);
  ck_assert_int_eq(list.tokens[0].expires_us, 0);
}
END_TEST

START_TEST(faults_are_told_with_their_line) {
  static const struct {
    const char *text, *word;
  } faults[] = {
      {"\n{\n", "line 2"},
      {LINE("\"a b\"", "\"\"", "[\"read\"]", "null"), "\"name\""},
      {LINE("\"\"", "\"\"", "[\"read\"]", "null"), "\"name\""},
      {LINE("\"a\"", "7", "[\"read\"]", "null"), "\"owner\""},
      {LINE("\"a\"", "\"a\\nb\"", "[\"read\"]", "null"), "\"owner\""},
      {LINE("\"a\"", "\"\"", "[\"write\"]", "null"), "unknown scope \"write\""},
      {LINE("\"a\"", "\"\"", "[]", "null"), "\"scopes\""},
      {LINE("\"a\"", "\"\"", "\"read\"", "null"), "\"scopes\""},
      {LINE("\"a\"", "\"\"", "[7]", "null"), "scope"},
      {LINE("\"a\"", "\"\"", "[\"read\"]", "\"tomorrow\""), "\"expires\""},
      {LINE("\"a\"", "\"\"", "[\"read\"]", "\"2027-01-31T01:00:00\""), "\"expires\""},
      {LINE("\"a\"", "\"\"", "[\"read\"]", "7"), "\"expires\""},
      {"{\"name\":\"a\",\"owner\":\"\",\"scopes\":[\"read\"],\"expires\":null}\n", "\"hash\""},
      {"{\"name\":\"a\",\"owner\":\"\",\"scopes\":[\"read\"],\"expires\":null,\"hash\":\"12\"}\n",
       "\"hash\""},
      {"{\"name\":\"a\",\"owner\":\"\",\"scopes\":[\"read\"],\"expires\":null,\"hash\":\"" HASH
       "\",\"scope\":1}\n",
       "only name"},
      {LINE("\"a\"", "\"\"", "[\"read\"]", "null") LINE("\"a\"", "\"\"", "[\"read\"]", "null"),
       "line 2: another token is named a"},
      {LINE("\"a\"", "\"\"", "[\"read\"]", "null") LINE("\"b\"", "\"\"", "[\"read\"]", "null"),
       "it repeats the token a"},
      {"bare tokens have no space\n", "no space"},
      {"short\n", "16"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    ck_assert_msg(parse(faults[i].text) == EP_INVALID, "it was taken: %s", faults[i].text);
    ck_assert_msg(strstr(error.message, faults[i].word), "%s: %s", faults[i].text, error.message);
  }
}
END_TEST

START_TEST(a_file_has_so_many_tokens) {
  char *text = malloc((EP_LIMIT_TOKENS + 1) * 32);
  size_t used = 0;
  ck_assert_ptr_nonnull(text);
  for (int i = 0; i < EP_LIMIT_TOKENS; i++)
    used += (size_t)sprintf(text + used, "token-of-mine-%06d\n", i);
  ck_assert_int_eq(parse(text), EP_OK);
  ck_assert_int_eq(list.count, EP_LIMIT_TOKENS);
  sprintf(text + used, "one-more-than-that\n");
  ck_assert_int_eq(parse(text), EP_INVALID);
  free(text);
}
END_TEST

START_TEST(scopes_are_words_between_commas) {
  unsigned scopes;
  ck_assert_int_eq(ep_scopes_parse("read,publish", &scopes, &error), EP_OK);
  ck_assert_uint_eq(scopes, EP_SCOPE_READ | EP_SCOPE_PUBLISH);
  ck_assert_int_eq(ep_scopes_parse("admin", &scopes, &error), EP_OK);
  ck_assert_uint_eq(scopes, EP_SCOPE_ALL);
  ck_assert_int_eq(ep_scopes_parse("", &scopes, &error), EP_INVALID);
  ck_assert_int_eq(ep_scopes_parse("read,", &scopes, &error), EP_INVALID);
  ck_assert_int_eq(ep_scopes_parse("rea", &scopes, &error), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "read,submit,publish,admin"));
}
END_TEST

EP_SUITE("tokens") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, NULL, teardown);
  tcase_add_test(all, lines_say_who_may_do_what);
  tcase_add_test(all, faults_are_told_with_their_line);
  tcase_add_test(all, a_file_has_so_many_tokens);
  tcase_add_test(all, scopes_are_words_between_commas);
}
