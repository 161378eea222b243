/* Reading JSON: depth, types, ranges; the scanner; what somebody probably meant. */
#include "api/json/json.h"

#include <math.h>
#include <string.h>

#include "api/json/nearest.h"
#include "api/json/scanner.h"
#include "tests/suite.h"

START_TEST(depth_leaves_strings_out) {
  static const struct {
    const char *text;
    int depth;
  } rows[] = {{"", 0},          {"1", 0},           {"[]", 1},
              {"[{},[[]]]", 3}, {"\"[[[\"", 0},     {"[\"\\\"[[\"]", 1},
              {"]]]][", 1},     {"{\"a\":[1]}", 2}, {"[\"\\\\\",[]]", 2},
              {"\"abc\\", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    ck_assert_msg(ep_json_depth(rows[i].text, strlen(rows[i].text)) == rows[i].depth, "%s",
                  rows[i].text);
}
END_TEST

static json_t *load(const char *text) {
  json_t *root;
  ep_error error = {0};
  ck_assert_msg(ep_json_load(text, strlen(text), 1000, &root, &error) == EP_OK, "%s",
                error.message);
  return root;
}

START_TEST(integers) {
  json_t *root = load("{\"a\":5,\"b\":1e3,\"c\":1.5,\"d\":\"5\",\"e\":9007199254740992.0,"
                      "\"f\":9007199254740994.0,\"g\":-3,\"h\":9223372036854775807}");
  int64_t value = 77;
  ck_assert(ep_json_get_integer(root, "a", 5, 5, &value) && value == 5);
  ck_assert(ep_json_get_integer(root, "b", 0, 1000, &value) && value == 1000);
  ck_assert(ep_json_get_integer(root, "e", 0, INT64_MAX, &value) && value == 1LL << 53);
  ck_assert(ep_json_get_integer(root, "h", 0, INT64_MAX, &value) && value == INT64_MAX);
  value = 77;
  ck_assert(!ep_json_get_integer(root, "a", 6, 9, &value));
  ck_assert(!ep_json_get_integer(root, "a", 0, 4, &value));
  ck_assert(!ep_json_get_integer(root, "b", 0, 999, &value));
  ck_assert(!ep_json_get_integer(root, "c", 0, 9, &value));
  ck_assert(!ep_json_get_integer(root, "d", 0, 9, &value));
  ck_assert(!ep_json_get_integer(root, "f", 0, INT64_MAX, &value)); /* beyond 2^53 */
  ck_assert(!ep_json_get_integer(root, "g", 0, 9, &value));
  ck_assert(!ep_json_get_integer(root, "z", 0, 9, &value));
  ck_assert(!ep_json_get_integer(NULL, "a", 0, 9, &value));
  ck_assert_int_eq(value, 77);
  json_decref(root);
}
END_TEST

START_TEST(numbers_and_their_words) {
  json_t *root = load("{\"a\":1.5,\"b\":\"NaN\",\"c\":\"Infinity\",\"d\":\"-Infinity\",\"e\":null,"
                      "\"f\":\"nan\",\"g\":true,\"h\":7}");
  double value;
  ck_assert(ep_json_get_number(root, "a", &value) && value == 1.5);
  ck_assert(ep_json_get_number(root, "b", &value) && isnan(value));
  ck_assert(ep_json_get_number(root, "c", &value) && value == INFINITY);
  ck_assert(ep_json_get_number(root, "d", &value) && value == -INFINITY);
  ck_assert(ep_json_get_number(root, "e", &value) && isnan(value));
  ck_assert(ep_json_get_number(root, "h", &value) && value == 7);
  ck_assert(!ep_json_get_number(root, "f", &value));
  ck_assert(!ep_json_get_number(root, "g", &value));
  ck_assert(!ep_json_get_number(root, "z", &value));
  json_decref(root);
}
END_TEST

START_TEST(texts) {
  json_t *root = load("{\"a\":\"1234\",\"b\":1}");
  char text[5];
  ck_assert(ep_json_get_text(root, "a", text, 5));
  ck_assert_str_eq(text, "1234");
  ck_assert(!ep_json_get_text(root, "a", text, 4));
  ck_assert(!ep_json_get_text(root, "b", text, 5));
  ck_assert(ep_json_cut_text(root, "a", text, 4));
  ck_assert_str_eq(text, "123");
  ck_assert(!ep_json_cut_text(root, "b", text, 5));
  json_decref(root);
}
END_TEST

START_TEST(sizes_have_a_limit) {
  json_t *root;
  ck_assert_int_eq(ep_json_load("[1]", 3, 3, &root, NULL), EP_OK);
  json_decref(root);
  ck_assert_int_eq(ep_json_load("[1]", 3, 2, &root, NULL), EP_TOO_LARGE);
  ck_assert_ptr_null(root);
}
END_TEST

START_TEST(scanned_numbers) {
  static const struct {
    const char *text;
    double value; /* NaN: refused */
  } rows[] = {{"0", 0},          {"-0.5", -0.5}, {"1e3", 1000}, {"1E+2", 100},
              {"12.5e-1", 1.25}, {" 7", 7},      {"-", NAN},    {"+1", NAN},
              {".5", NAN},       {"1.", NAN},    {"1e", NAN},   {"1e+", NAN},
              {"nan", NAN},      {"", NAN},      {"0x10", 0},   {"1e999", INFINITY}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ep_scanner scanner = {rows[i].text, rows[i].text + strlen(rows[i].text)};
    double value = 0;
    bool taken = ep_scan_number(&scanner, &value);
    ck_assert_msg(taken == !isnan(rows[i].value), "%s", rows[i].text);
    if (taken) ck_assert_msg(value == rows[i].value, "%s", rows[i].text);
  }
}
END_TEST

START_TEST(scanned_numbers_have_a_limit) {
  char text[EP_SCAN_NUMBER_BYTES + 1];
  memset(text, '1', sizeof text);
  double value;
  ep_scanner inside = {text, text + EP_SCAN_NUMBER_BYTES};
  ck_assert(ep_scan_number(&inside, &value));
  ck_assert(inside.at == inside.end);
  ep_scanner outside = {text, text + EP_SCAN_NUMBER_BYTES + 1};
  ck_assert(!ep_scan_number(&outside, &value));
}
END_TEST

START_TEST(scanned_strings) {
  const char *text = "\"a\\\"b\" \"long one\" \"torn";
  ep_scanner scanner = {text, text + strlen(text)};
  char word[5];
  ck_assert(ep_scan_string(&scanner, word, sizeof word));
  ck_assert_str_eq(word, "a\\\"b");
  ck_assert(ep_scan_string(&scanner, word, sizeof word));
  ck_assert_str_eq(word, "long");
  ck_assert(!ep_scan_string(&scanner, word, sizeof word));
}
END_TEST

START_TEST(distances) {
  ck_assert_uint_eq(ep_edit_distance("epochs", "epochs"), 0);
  ck_assert_uint_eq(ep_edit_distance("epoch", "epochs"), 1);
  ck_assert_uint_eq(ep_edit_distance("sdg", "sgd"), 1);
  ck_assert_uint_eq(ep_edit_distance("kitten", "sitting"), 3);
  ck_assert_uint_eq(ep_edit_distance("", "abc"), 3);
  ck_assert_uint_eq(ep_edit_distance("abc", ""), 3);
  char longest[65];
  memset(longest, 'a', sizeof longest);
  longest[64] = 0;
  ck_assert_uint_eq(ep_edit_distance(longest, "a"), SIZE_MAX);
  longest[63] = 0;
  ck_assert_uint_eq(ep_edit_distance(longest, "a"), 62);
}
END_TEST

START_TEST(nearest_names) {
  const char *const names[] = {"epochs", NULL, "shuffle", "seed", "lr"};
  ck_assert_str_eq(ep_nearest_name("epoch", names, 5), "epochs");
  ck_assert_str_eq(ep_nearest_name("shufle", names, 5), "shuffle");
  ck_assert_str_eq(ep_nearest_name("sede", names, 5), "seed");
  ck_assert_ptr_null(ep_nearest_name("dropout", names, 5));
  ck_assert_ptr_null(ep_nearest_name("", names, 5));
  ck_assert_ptr_null(ep_nearest_name("epoch", names, 0));
}
END_TEST

EP_SUITE("api/json") {
  TCase *tests = ep_suite_case(suite, "json");
  tcase_add_test(tests, depth_leaves_strings_out);
  tcase_add_test(tests, integers);
  tcase_add_test(tests, numbers_and_their_words);
  tcase_add_test(tests, texts);
  tcase_add_test(tests, sizes_have_a_limit);
  tcase_add_test(tests, scanned_numbers);
  tcase_add_test(tests, scanned_numbers_have_a_limit);
  tcase_add_test(tests, scanned_strings);
  tcase_add_test(tests, distances);
  tcase_add_test(tests, nearest_names);
}
