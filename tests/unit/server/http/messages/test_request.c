#include <stdlib.h>
#include <string.h>

#include "server/http/messages/range.h"
#include "server/http/messages/request.h"
#include "tests/suite.h"

static ep_request request;
static ep_error error;

static ep_status start(const char *target) {
  ep_request_deinit(&request);
  return ep_request_start(&request, "GET", target, &error);
}

static ep_status with(const char *name, const char *value) {
  return ep_request_add_header(&request, name, value, &error);
}

static void setup(void) {
  ep_request_init(&request);
}
static void teardown(void) {
  ep_request_deinit(&request);
}

START_TEST(targets_are_decoded_once) {
  ck_assert_int_eq(start("/v1/a%20b%2Fc?x=1&y=%26%3d+z&empty="), EP_OK);
  ck_assert_str_eq(request.path, "/v1/a b%2Fc");
  ck_assert_str_eq(ep_request_query(&request, "x"), "1");
  ck_assert_str_eq(ep_request_query(&request, "y"), "&= z");
  ck_assert_str_eq(ep_request_query(&request, "empty"), "");
  ck_assert_ptr_null(ep_request_query(&request, "z"));
  ck_assert_int_eq(start("/%252e"), EP_OK);
  ck_assert_str_eq(request.path, "/%252e"); /* and %2F differs from %252F */
  ck_assert_int_eq(start("/%c3%a9"), EP_OK);
}
END_TEST

START_TEST(bad_targets_are_refused) {
  static const char *const wrong[] = {"",         "x",         "http://a/", "*",          "/%",
                                      "/%4",      "/%zz",      "/%00",      "/a%00b",     "/%0a",
                                      "/%7f",     "/%ff",      "/%c0%ae",   "/%ed%a0%80", "/a?x=%",
                                      "/a?x=%0d", "/%e0%80%80"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(start(wrong[i]) == EP_MALFORMED, "%s was taken", wrong[i]);
  char *target = calloc(1, EP_REQUEST_TARGET_BYTES + 1);
  memset(target, 'a', EP_REQUEST_TARGET_BYTES);
  target[0] = '/';
  ck_assert_int_eq(start(target), EP_MALFORMED);
  target[EP_REQUEST_TARGET_BYTES - 1] = 0;
  ck_assert_int_eq(start(target), EP_OK);
  free(target);
  char many[256] = "/?";
  for (int i = 0; i <= EP_REQUEST_QUERY; i++) {
    char pair[8] = {(char)('a' + i), '=', '1', '&', 0};
    strncat(many, pair, sizeof many - strlen(many) - 1);
  }
  ck_assert_int_eq(start(many), EP_MALFORMED);
}
END_TEST

/* Accept, and the type that it prefers; json is the fallback. */
START_TEST(accept_is_read_by_its_q) {
  enum { CSV, NDJSON, JSON };
  static const char *const TYPES[] = {"text/csv", "application/x-ndjson", "application/json", NULL};
  static const struct {
    const char *accept;
    int type;
  } cases[] = {{NULL, JSON},
               {"", JSON},
               {"*/*", JSON},
               {"text/csv", CSV},
               {"Text/CSV; charset=utf-8", CSV},
               {"text/cs", JSON},
               {"text/csv, */*", CSV},
               {"text/csv;q=0", JSON},
               {"text/csv;q=0.000, application/x-ndjson;q=0.1", NDJSON},
               {"text/csv;q=0.5, application/json", JSON},
               {"application/json;q=0.4, text/csv ; Q=0.45", CSV},
               {"text/csv;q=0.5,*/*;q=0.8", JSON},
               {"application/x-ndjson, text/csv", CSV},
               {"text/html;q=1 , application/x-ndjson;level=1;q=0.5 \t", NDJSON}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ck_assert_int_eq(start("/"), EP_OK);
    if (cases[i].accept) ck_assert_int_eq(with("Accept", cases[i].accept), EP_OK);
    ck_assert_msg(ep_request_accepts(&request, TYPES, JSON) == cases[i].type, "%s",
                  cases[i].accept);
  }
}
END_TEST

START_TEST(header_names_are_tokens) {
  ck_assert_int_eq(start("/"), EP_OK);
  ck_assert_int_eq(with("Content-Length ", "5"), EP_MALFORMED);
  ck_assert_int_eq(with("X\tY", "5"), EP_MALFORMED);
  ck_assert_int_eq(with("", "5"), EP_MALFORMED);
  ck_assert_int_eq(with("Accept", "*/*"), EP_OK);
  for (int i = request.headers_count; i < EP_REQUEST_HEADERS; i++)
    ck_assert_int_eq(with("X", "y"), EP_OK);
  ck_assert_int_eq(with("X", "y"), EP_MALFORMED);
  ck_assert_int_eq(ep_request_header_count(&request, "x"), EP_REQUEST_HEADERS - 1);
}
END_TEST

START_TEST(media_types_are_parsed) {
  static const struct {
    const char *value;
    bool json;
  } rows[] = {{"application/json", true},
              {" Application/JSON ; charset=utf-8", true},
              {"application/json\t", true},
              {"text/plain; ,application/json", false},
              {"text/plain, application/json", false},
              {"application/json, text/plain", false},
              {"application/jsonx", false},
              {"application/json+x", false},
              {"application/", false},
              {"", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_int_eq(start("/"), EP_OK);
    ck_assert(!ep_request_has_type(&request, "application/json"));
    ck_assert_int_eq(with("Content-Type", rows[i].value), EP_OK);
    ck_assert_msg(ep_request_has_type(&request, "application/json") == rows[i].json, "%s",
                  rows[i].value);
    ck_assert_int_eq(with("Content-Type", rows[i].value), EP_OK); /* twice is none */
    ck_assert(!ep_request_has_type(&request, "application/json"));
  }
}
END_TEST

START_TEST(numbers_and_words_of_the_query_are_checked) {
  int64_t number;
  int word;
  static const char *const words[] = {"json", "csv", NULL};
  ck_assert_int_eq(start("/?n=17&w=csv&bad=1x&space=+1"), EP_OK);
  ck_assert_int_eq(ep_request_integer(&request, "n", 0, 17, 1, &number, &error), EP_OK);
  ck_assert_int_eq(number, 17);
  ck_assert_int_eq(ep_request_integer(&request, "n", 0, 16, 1, &number, &error), EP_MALFORMED);
  ck_assert_int_eq(ep_request_integer(&request, "n", 18, 20, 1, &number, &error), EP_MALFORMED);
  ck_assert_int_eq(ep_request_integer(&request, "bad", 0, 16, 1, &number, &error), EP_MALFORMED);
  ck_assert_int_eq(ep_request_integer(&request, "space", 0, 9, 1, &number, &error), EP_MALFORMED);
  ck_assert_int_eq(ep_request_integer(&request, "none", 0, 16, 5, &number, &error), EP_OK);
  ck_assert_int_eq(number, 5);
  ck_assert_int_eq(ep_request_word(&request, "w", words, 0, &word, &error), EP_OK);
  ck_assert_int_eq(word, 1);
  ck_assert_int_eq(ep_request_word(&request, "n", words, 0, &word, &error), EP_MALFORMED);
  ck_assert_ptr_nonnull(strstr(error.message, "json, csv"));
}
END_TEST

START_TEST(entity_tags_compare) {
  static const struct {
    const char *header;
    bool matches;
  } rows[] = {{"\"a\"", true},   {"W/\"a\"", true}, {"\"b\", \"a\"", true}, {"*", true},
              {"\"ab\"", false}, {"a", false},      {"\"b\"", false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ck_assert_int_eq(start("/"), EP_OK);
    ck_assert_int_eq(with("If-None-Match", rows[i].header), EP_OK);
    ck_assert_msg(ep_request_matches(&request, "\"a\"") == rows[i].matches, "%s", rows[i].header);
  }
}
END_TEST

START_TEST(ranges_follow_the_rfc) {
  static const struct {
    const char *header;
    int64_t size;
    ep_range_kind kind;
    int64_t first, count;
  } rows[] = {{NULL, 10, EP_RANGE_WHOLE, 0, 10},
              {"bytes=0-0", 10, EP_RANGE_PART, 0, 1},
              {"bytes=2-", 10, EP_RANGE_PART, 2, 8},
              {"bytes=-3", 10, EP_RANGE_PART, 7, 3},
              {"bytes=-30", 10, EP_RANGE_PART, 0, 10},
              {"bytes=9-100", 10, EP_RANGE_PART, 9, 1},
              {"bytes=9-99999999999999999999", 10, EP_RANGE_PART, 9, 1},
              {"bytes=10-", 10, EP_RANGE_OUTSIDE, 0, 0},
              {"bytes=99999999999999999999-", 10, EP_RANGE_OUTSIDE, 0, 0},
              {"bytes=-0", 10, EP_RANGE_OUTSIDE, 0, 0},
              {"bytes=0-", 0, EP_RANGE_OUTSIDE, 0, 0},
              {"bytes=-1", 0, EP_RANGE_OUTSIDE, 0, 0},
              {"bytes=3-2", 10, EP_RANGE_WHOLE, 0, 10},
              {"bytes=-", 10, EP_RANGE_WHOLE, 0, 10},
              {"bytes=0-1,4-5", 10, EP_RANGE_WHOLE, 0, 10},
              {"bytes=a-1", 10, EP_RANGE_WHOLE, 0, 10},
              {"bytes=1-2x", 10, EP_RANGE_WHOLE, 0, 10},
              {"lines=1-2", 10, EP_RANGE_WHOLE, 0, 10}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t first, count;
    ep_range_kind kind = ep_range_read(rows[i].header, rows[i].size, &first, &count);
    ck_assert_msg(kind == rows[i].kind, "row %zu", i);
    if (kind == EP_RANGE_OUTSIDE) continue;
    ck_assert_msg(first == rows[i].first && count == rows[i].count, "row %zu", i);
  }
}
END_TEST

EP_SUITE("request") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, media_types_are_parsed);
  tcase_add_test(all, targets_are_decoded_once);
  tcase_add_test(all, bad_targets_are_refused);
  tcase_add_test(all, accept_is_read_by_its_q);
  tcase_add_test(all, header_names_are_tokens);
  tcase_add_test(all, numbers_and_words_of_the_query_are_checked);
  tcase_add_test(all, entity_tags_compare);
  tcase_add_test(all, ranges_follow_the_rfc);
}
