/* Reading JSON: depth, types, ranges; the scanner; what somebody probably meant. */
#include "api/json/json.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/memory.h"
#include "api/json/nearest.h"
#include "api/json/scanner.h"
#include "api/json/synonyms.h"
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
    ck_assert_msg(ep_json_measure(rows[i].text, strlen(rows[i].text)).depth == rows[i].depth, "%s",
                  rows[i].text);
}
END_TEST

START_TEST(values_are_counted_and_weighed) {
  static const struct {
    const char *text;
    int values;
  } rows[] = {{"", 0},
              {"1", 1},
              {"[]", 1},
              {"[1, 2,true ,null]", 5},
              {"{\"a\":1,\"b\":[\"x\",{}]}", 5},
              {"[{},{},[[]]]", 5},
              {"\"a,b:[1]\"", 1},
              {" -1.5e+3 ", 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    ck_assert_msg(ep_json_measure(rows[i].text, strlen(rows[i].text)).values == rows[i].values,
                  "%s", rows[i].text);
}
END_TEST

/* Repeats `item` to so many bytes of an array, which the caller frees. */
static char *repeat(const char *item, size_t bytes) {
  size_t step = strlen(item), used = 1;
  char *text = malloc(bytes + step + 2);
  ck_assert_ptr_nonnull(text);
  for (text[0] = '['; used < bytes; used += step) memcpy(text + used, item, step);
  text[used - 1] = ']'; /* in the place of the last comma */
  text[used] = 0;
  return text;
}

/* The estimate is at least what the heap grows by, and no more than four times as much. */
START_TEST(trees_weigh_what_was_measured) {
  static const char *const ITEMS[] = {
      "{},",    "[],",    "1,",         "1.5,",
      "\"a\",", "[1,2],", "{\"a\":1},", "{\"name\":[1,2,3],\"b\":\"text\"},"};
  for (size_t i = 0; i < sizeof ITEMS / sizeof ITEMS[0]; i++) {
    char *text = repeat(ITEMS[i], 1 << 19);
    size_t before = mallinfo2().uordblks, before_mapped = mallinfo2().hblkhd;
    json_error_t fault;
    json_t *root = ep_json_read(text, strlen(text), 0, &fault);
    ck_assert_ptr_nonnull(root);
    int64_t grown = (int64_t)(mallinfo2().uordblks - before + mallinfo2().hblkhd - before_mapped);
    int64_t said = ep_json_measure(text, strlen(text)).tree_bytes;
    json_decref(root);
    free(text);
    if (grown == 0) continue; /* an allocator without figures: a sanitizer's */
    ck_assert_msg(said >= grown && said <= 4 * grown, "%s %lld, %lld", ITEMS[i], (long long)said,
                  (long long)grown);
  }
}
END_TEST

START_TEST(trees_have_a_limit) {
  enum { MOST = 1 << 16 };
  json_t *root;
  ep_error error = {0};
  char *heavy = repeat("{},", MOST - 8), *light = repeat("1.25,", MOST - 8);
  ck_assert_int_eq(ep_json_load(heavy, strlen(heavy), MOST, &root, &error), EP_TOO_LARGE);
  ck_assert_ptr_null(root);
  ck_assert_ptr_nonnull(strstr(error.message, "values"));
  ck_assert_int_eq(ep_json_load(light, strlen(light), MOST, &root, NULL), EP_OK);
  json_decref(root);
  free(heavy);
  free(light);
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
  ck_assert_int_eq(ep_json_load("[1]     ", 8, 8, &root, NULL), EP_OK);
  json_decref(root);
  ck_assert_int_eq(ep_json_load("\xEF\xBB\xBF[2]", 6, 8, &root, NULL),
                   EP_OK); /* a byte order mark */
  ck_assert_int_eq(json_array_size(root), 1);
  json_decref(root);
  ck_assert_int_eq(ep_json_load("[1]     ", 8, 7, &root, NULL), EP_TOO_LARGE);
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
    ep_scanner skipped = {rows[i].text, rows[i].text + strlen(rows[i].text)};
    ck_assert_msg(ep_scan_skip(&skipped) == taken, "%s", rows[i].text);
    if (taken) ck_assert_ptr_eq(skipped.at, scanner.at);
  }
}
END_TEST

START_TEST(words_of_python_are_skipped) {
  static const char *const words[] = {"NaN", "Infinity", "-Infinity", "[1,NaN,{\"a\":-Infinity}]"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    ep_scanner strict = {words[i], words[i] + strlen(words[i])}, python = strict;
    ck_assert_msg(!ep_scan_skip(&strict), "%s", words[i]);
    ck_assert_msg(ep_scan_skip_python(&python) && python.at == python.end, "%s", words[i]);
  }
  static const char lower[] = "nan";
  ep_scanner scanner = {lower, lower + 3};
  ck_assert(!ep_scan_skip_python(&scanner));
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
  ep_scanner skipped = {text, text + EP_SCAN_NUMBER_BYTES};
  ck_assert(ep_scan_skip(&skipped));
  ck_assert(skipped.at == skipped.end);
  skipped = (ep_scanner){text, text + EP_SCAN_NUMBER_BYTES + 1};
  ck_assert(!ep_scan_skip(&skipped));
}
END_TEST

START_TEST(scanned_strings) {
  const char *text = "\"a\\\"b\" \"long one\" \"\\u0070\\n\" \"torn";
  ep_scanner scanner = {text, text + strlen(text)};
  char word[5];
  ck_assert(ep_scan_string(&scanner, word, sizeof word));
  ck_assert_str_eq(word, "a\"b");
  ck_assert(ep_scan_string(&scanner, word, sizeof word));
  ck_assert_str_eq(word, "long");
  ck_assert(ep_scan_string(&scanner, word, sizeof word));
  ck_assert_str_eq(word, "p\n");
  ck_assert(!ep_scan_string(&scanner, word, sizeof word));
  static const char *const faults[] = {"\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\u0000\"",
                                       "\"\\"};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    scanner = (ep_scanner){faults[i], faults[i] + strlen(faults[i])};
    ck_assert_msg(!ep_scan_string(&scanner, word, sizeof word), "%s", faults[i]);
  }
  text = "\"\\ud83d\\ude00\""; /* four bytes, and no room for the last */
  scanner = (ep_scanner){text, text + strlen(text)};
  ck_assert(ep_scan_string(&scanner, word, 4));
  ck_assert_uint_eq(strlen(word), 3);
}
END_TEST

/* A member of the object itself, however its key is written. */
START_TEST(scanned_members) {
  static const struct {
    const char *text;
    char first; /* of the value; 0: there is none */
  } rows[] = {{"{\"key\":1}", '1'},
              {" { \"a\" : [{\"key\":2}] , \"k\\u0065y\" : true}", 't'},
              {"{\"a\":\"\\\"key\\\":3\",\"b\":{\"key\":4}}", 0},
              {"{\"key\\u0000\":5}", 0},
              {"{\"a\":01,\"key\":6}", 0},
              {"[\"key\",7]", 0},
              {"{\"keys\":8,\"ke\":9}", 0},
              {"{}", 0},
              {"{\"key\"", 0},
              {"", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_scanner scanner = {rows[i].text, rows[i].text + strlen(rows[i].text)};
    bool found = ep_scan_member(&scanner, "key");
    ck_assert_msg((found ? ep_scan_peek(&scanner) : 0) == rows[i].first, "%s", rows[i].text);
  }
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
  ck_assert_str_eq(ep_nearest_name("LR", names, 5), "lr");
  ck_assert(ep_names_alike("Cross-Entropy", "cross_entropy") && !ep_names_alike("l", "lr"));
}
END_TEST

/* Only what is known is offered. */
START_TEST(words_of_others) {
  const char *const layer[] = {NULL, "linear", "out_features"}, *const job[] = {"optimizer",
                                                                                "data"};
  ck_assert_str_eq(ep_synonym_find("Dense", layer, 3), "linear");
  ck_assert_str_eq(ep_synonym_find("units", layer, 3), "out_features");
  ck_assert_ptr_null(ep_synonym_find("units", layer, 2));
  ck_assert_ptr_null(ep_synonym_find("linear", layer, 3));
  ck_assert_str_eq(ep_misplaced_find("learning_rate", job, 2)->field, "lr");
  ck_assert_str_eq(ep_misplaced_find("dataset", job, 2)->object, "data");
  ck_assert_ptr_null(ep_misplaced_find("dataset", layer, 3));
}
END_TEST

EP_SUITE("api/json") {
  TCase *tests = ep_suite_case(suite, "json");
  tcase_add_test(tests, depth_leaves_strings_out);
  tcase_add_test(tests, integers);
  tcase_add_test(tests, numbers_and_their_words);
  tcase_add_test(tests, values_are_counted_and_weighed);
  tcase_add_test(tests, trees_weigh_what_was_measured);
  tcase_add_test(tests, trees_have_a_limit);
  tcase_add_test(tests, texts);
  tcase_add_test(tests, sizes_have_a_limit);
  tcase_add_test(tests, scanned_numbers);
  tcase_add_test(tests, words_of_python_are_skipped);
  tcase_add_test(tests, scanned_numbers_have_a_limit);
  tcase_add_test(tests, scanned_strings);
  tcase_add_test(tests, scanned_members);
  tcase_add_test(tests, distances);
  tcase_add_test(tests, nearest_names);
  tcase_add_test(tests, words_of_others);
}
