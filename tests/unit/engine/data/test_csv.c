#include <math.h>
#include <sys/mman.h>

#include "api/json/number_scan.h"
#include "api/json/utf8.h"
#include "engine/data/dialect/csv_cell.h"
#include "engine/files/excerpt.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static const char *scanned(const char *text, ep_number_grammar grammar, double *value) {
  return ep_number_scan(text, text + strlen(text), grammar, value);
}

static void read_check(const char *text, ep_number_grammar grammar, double wanted) {
  double value = -1;
  const char *end = scanned(text, grammar, &value);
  ck_assert_msg(end == text + strlen(text), "%s is not read to its end", text);
  ck_assert_msg(memcmp(&value, &wanted, sizeof value) == 0, "%s: %a, wanted %a", text, value,
                wanted);
}

/* Bit for bit what the C library reads, with a point and with a comma. */
static void number_check(const char *text) {
  char comma[400];
  double wanted = strtod(text, NULL);
  read_check(text, EP_NUMBER_CSV, wanted);
  snprintf(comma, sizeof comma, "%s", text);
  char *mark = strchr(comma, '.');
  if (mark) *mark = ',';
  read_check(comma, EP_NUMBER_CSV_COMMA, wanted);
}

START_TEST(numbers_are_nearest_doubles) {
  static const char *const texts[] = {"0",
                                      "-0",
                                      "+1",
                                      ".5",
                                      "5.",
                                      "007",
                                      "1e5",
                                      "1E-5",
                                      "1e+22",
                                      "1e23",
                                      "8.5e22",
                                      "9007199254740993",
                                      "9007199254740992.9999999999999999999",
                                      "1.7976931348623157e308",
                                      "4.9e-324",
                                      "2.4703282292062327e-324",
                                      "2.4703282292062328e-324",
                                      "2.2250738585072011e-308",
                                      "0.1",
                                      "0.30000000000000004",
                                      "123456789012345678901234567890",
                                      "1e-400",
                                      "1e400",
                                      "0.000000000000000000000000000000000000000000000000001",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "9999999999999999999",
                                      "12345678.12345678",
                                      "1234567.8",
                                      "9007199254740993e3",
                                      "179769313486231580793728971405301e277",
                                      "1e0000000000000000000005",
                                      "0e999999999999",
                                      "1e-99999999999999999999"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) number_check(texts[i]);
}
END_TEST

START_TEST(random_numbers_are_nearest_doubles) {
  uint64_t state = 1;
  char text[400];
  for (int i = 0; i < 200000; i++) {
    uint64_t bits = scratch_random(&state);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    int digits = (int)(scratch_random(&state) % 20);
    switch (i % 4) {
    case 0: snprintf(text, sizeof text, "%.*e", digits, value); break;
    case 1: snprintf(text, sizeof text, "%.*f", digits, (double)(int64_t)bits * 0x1p-40); break;
    case 2: snprintf(text, sizeof text, "%.17g", value); break;
    default: /* near the middle of two doubles, where rounding goes wrong first */
      snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(bits >> 10 | 1),
               (unsigned long long)(bits & 3) * 5, (int)(bits % 60) - 30);
    }
    number_check(text);
  }
}
END_TEST

START_TEST(numbers_end_where_they_end) {
  double value;
  static const char *const none[] = {"", "-", "+", ".", "e5", "nan", "inf", "x", " 1", "--1", "-."};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    ck_assert_msg(!scanned(none[i], EP_NUMBER_CSV, &value), "%s", none[i]);
  ck_assert_str_eq(scanned("1e", EP_NUMBER_CSV, &value), "e");
  ck_assert_str_eq(scanned("1e+x", EP_NUMBER_CSV, &value), "e+x");
  ck_assert_str_eq(scanned("0x10", EP_NUMBER_CSV, &value), "x10");
  ck_assert_str_eq(scanned("1.2.3", EP_NUMBER_CSV, &value), ".3");
  ck_assert_str_eq(scanned("1.2,3", EP_NUMBER_CSV_COMMA, &value), ".2,3");
  static const char *const not_json[] = {"+1", ".5", "5.", "01", "-", "-.5", "1.e5", "00"};
  for (size_t i = 0; i < sizeof not_json / sizeof *not_json; i++)
    ck_assert_msg(!scanned(not_json[i], EP_NUMBER_JSON, &value), "%s", not_json[i]);
  ck_assert_str_eq(scanned("-0.5e-3,", EP_NUMBER_JSON, &value), ",");
  ck_assert_double_eq(value, -0.5e-3);
  /* never a byte behind the end */
  ck_assert_ptr_nonnull(ep_number_scan("12345", &"12345"[3], EP_NUMBER_CSV, &value));
}
END_TEST

START_TEST(excerpts_are_short_utf8) {
  char out[EP_EXCERPT_BYTES];
  ck_assert_str_eq(ep_excerpt(out, "ab\ncd\x7F\xFF", 7), "ab?cd??");
  ck_assert_str_eq(ep_excerpt(out, "größe", strlen("größe")), "größe");
  char text[101];
  memset(text, 'a', 100);
  ck_assert_uint_eq(strlen(ep_excerpt(out, text, 100)), 43);
  memcpy(text + 39, "é", 2); /* does not fit whole: is left out whole */
  ck_assert_uint_eq(strlen(ep_excerpt(out, text, 100)), 42);
  ck_assert(ep_utf8_valid(out, strlen(out)));
  ck_assert(!ep_utf8_valid("\xC0\x80", 2) && !ep_utf8_valid("\xED\xA0\x80", 3));
  ck_assert(!ep_utf8_valid("\xE2\x82", 2) && !ep_utf8_valid("\xF4\x90\x80\x80", 4));
}
END_TEST

/* The same table in every dress. */
static const struct {
  const char *text;
  const char *first_name; /* "" = no names */
  ep_ingest_options options;
} good[] = {
    {"1,2\n3,4.5\n", "", {0}},
    {"1,2\n3,4.5", "", {0}},
    {"1,2\r\n3,4.5\r\n", "", {0}},
    {"a,b\n1,2\n3,4.5\n", "a", {0}},
    {"\xEF\xBB\xBF"
     "a,b\n1,2\n3,4.5\n",
     "a",
     {0}},
    {"a;b\n1;2\n3;4.5\n", "a", {0}},
    {"sep=|\r\na|b\r\n1|2\r\n3|4.5\r\n", "a", {0}},
    {"a\tb\n1\t2\n3\t4.5\n", "a", {0}},
    {"a|b\n1|2\n3|4.5\n", "a", {0}},
    {" a , b \n 1 , 2 \n\t3\t,\t4.5\t\n", "a", {0}},
    {"\"a\",\"b\"\n\"1\",\"2\"\n\"3\",\" 4.5 \"\n", "a", {0}},
    {"\"a \"\"x\"\"\",b\n1,2\n3,4.5\n", "a \"x\"", {0}},
    {"\"a\nx\",b\n1,2\n3,4.5\n", "a x", {0}},
    {"\"a,x\",b\n1,2\n3,4.5\n", "a,x", {0}},
    {"a,b\n1,2\n3,4.5\n\n\r\n  \n", "a", {0}},
    {"7,8\n1,2\n3,4.5\n", "7", {.dialect = {.set = 1u << EP_DIALECT_HEADER, .header = true}}},
    {"1,2\n3,4.5\n", "", {.dialect = {.set = 1u << EP_DIALECT_HEADER, .header = false}}},
    {"1;2\n3;4.5\n", "", {.dialect = {.set = 1u << EP_DIALECT_DELIMITER, .delimiter = ';'}}},
    {"+1,2e0\n3.,.45e1\n", "", {0}},
    {",b\n1,2\n3,4.5\n", "", {0}},
};

START_TEST(good_files_are_read) {
  ep_dataset_meta meta;
  ep_error error;
  ep_table table;
  ep_status status =
      scratch_ingest(good[_i].text, strlen(good[_i].text), &good[_i].options, &meta, &error);
  ck_assert_msg(status == EP_OK, "%s", error.message);
  ck_assert_str_eq(meta.format, "csv");
  const ep_part *part = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ck_assert_int_eq(part->rows, 2);
  ck_assert_int_eq(part->columns, 2);
  ck_assert_str_eq(part->column[0].name, good[_i].first_name);
  ck_assert(part->column[0].integer && !part->column[1].integer);
  ck_assert_double_eq(part->column[1].min, 2);
  ck_assert_double_eq(part->column[1].max, 4.5);
  scratch_part("train.table", &table);
  ck_assert_int_eq(table.dtype, EP_DTYPE_F64);
  ck_assert_double_eq(ep_table_value(&table, 0, 0), 1);
  ck_assert_double_eq(ep_table_value(&table, 0, 1), 2);
  ck_assert_double_eq(ep_table_value(&table, 1, 0), 3);
  ck_assert_double_eq(ep_table_value(&table, 1, 1), 4.5);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

static const struct {
  const char *text, *message;
  ep_ingest_options options;
} bad[] = {
    {"a,b\n1\n", "row 2 has 1 cell, row 1 has 2", {0}},
    {"a,b,c\n1,2\n", "row 2 has 2 cells, row 1 has 3", {0}},
    {"a,b\n1,2,3\n",
     "row 2 has 3 cells, and the header has 2"
     " names: either the first column has no name (?row_names=true), or numbers contain an "
     "unquoted "
     "comma: quote them, or use another delimiter",
     {0}},
    {"a,b\n1,2,\n3,4,5\n5,6,\n",
     "row 2 has 3 cells, and the header has 2"
     " names: either the first column has no name (?row_names=true), or numbers contain an "
     "unquoted "
     "comma: quote them, or use another delimiter",
     {0}},
    {"1,-Inf\n", "row 1, column 2: \"-Inf\" is not a number to train on", {0}},
    {"a,b\n1,+INFINITY\n",
     "row 2, column 2 (\"b\"): \"+INFINITY\" is not a number to train on",
     {0}},
    {"a,b\n1e400,2\n", "row 2, column 1 (\"a\"): \"1e400\" is out of the range of a double", {0}},
    {"a,b\n1,2\n\n3,4\n", "row 3 is empty", {0}},
    {"\na,b\n", "no rows of data", {0}},
    {"a,b\n", "no rows of data", {0}},
    {"\"a\",\"b\"\n\"x,y\",\"z\"\n\"1,2\",\"2\n",
     "row 3, column 2: the quote is never closed",
     {0}},
    {"a,b\n1,x\n2\n3,y\n", "row 3 has 1 cell, row 1 has 2", {0}},
    {"a,b\n1,x\n2\n", "row 3 has 1 cell, row 1 has 2", {0}}, /* cut: no footer */
    {"sep=;\r\na;b\n1\n", "row 3 has 1 cell, row 2 has 2", {0}},
    {"a,b\n1,x\n2,y,z\n",
     "row 3 has more cells than row 1, which has 2: cells containing the delimiter must be quoted",
     {0}},
    {"a,b\n1,x\n\n2,y\n", "row 3 is empty", {0}},
    {"a,b\nx,1\ny,-inf\n", "row 3, column 2 (\"b\"): \"-inf\" is not a number to train on", {0}},
    {"a,b\nx,1\ny,1e999\n",
     "row 3, column 2 (\"b\"): \"1e999\" is out of the range of a double",
     {0}},
    {"a,b\nx\xC3\xA9\xFFy,2\n\xC3\xA9,3\n",
     "row 2, column 1 (\"a\"): \"xé?y\" is not UTF-8 text; ?encoding= takes utf-8, utf-16le, "
     "utf-16be or windows-1252: save a text in any other as UTF-8",
     {0}},
};

START_TEST(bad_files_are_refused_with_row_and_column) {
  scratch_refused(bad[_i].text, strlen(bad[_i].text), &bad[_i].options, EP_INVALID,
                  bad[_i].message);
}
END_TEST

/* A text that ends in a page, behind which none may be read. */
START_TEST(nothing_is_read_behind_the_end) {
  static const char text[] = "\"a\"\"b\\";
  enum { PAGE = 65536, BYTES = sizeof text - 1 };
  static ep_csv_cell cell;
  char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(pages, MAP_FAILED);
  ck_assert_int_eq(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
  memcpy(pages + PAGE - BYTES, text, BYTES);
  ep_csv_text at = {.at = pages + PAGE - BYTES,
                    .end = pages + PAGE,
                    .delimiter = ',',
                    .quote = '"',
                    .escapes = true,
                    .line = 1};
  ck_assert_int_eq(ep_csv_cell_read(&at, 1, &cell, NULL), EP_INVALID);
  munmap(pages, 2 * PAGE);
}
END_TEST

START_TEST(utf_32_is_refused) {
  static const struct {
    const char *text;
    size_t bytes;
  } cases[] = {{"\xFF\xFE\0\0a\0\0\0,\0\0\0b\0\0\0", 16},
               {"\0\0\xFE\xFF\0\0\0a", 8},
               {"a\0\0\0,\0\0\0b\0\0\0", 12},
               {"\0\0\0a\0\0\0,\0\0\0b", 12}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    scratch_refused(cases[i].text, cases[i].bytes, NULL, EP_INVALID,
                    "the text is UTF-32: save it as UTF-8; ?encoding= takes utf-8, utf-16le, "
                    "utf-16be or windows-1252");
}
END_TEST

/* Of x and y that come apart, which are numbers alone. */
static const struct {
  const char *text, *message;
} bad_parts[] = {
    {"a,age\n1,2\n3,n/a\n", "row 3, column 2 (\"age\"): \"n/a\" is not a number"},
    {"1,2\n3,x\n", "row 2, column 2: \"x\" is not a number"},
    {"a,b\n1,\n", "row 2, column 2 (\"b\"): the value is missing"},
    {"a,b\n,1\n", "row 2, column 1 (\"a\"): the value is missing"},
    {"a,b\n1,\"\"\n", "row 2, column 2 (\"b\"): the value is missing"},
    {"a,b\n1,", "row 2, column 2 (\"b\"): the value is missing"},
    {"a,b\n1,nan\n", "row 2, column 2 (\"b\"): \"nan\" is not a number to train on"},
    {"a,b\n1,0x10\n", "row 2, column 2 (\"b\"): \"0x10\" is not a number"},
    {"a,b\n1,2 3\n", "row 2, column 2 (\"b\"): \"2 3\" is not a number"},
    {"\"a\nx\",b\n1,y\n", "row 3, column 2 (\"b\"): \"y\" is not a number"},
    {"a,b\n1,\"x\ny\"\n", "row 2, column 2 (\"b\"): \"x?y\" is not a number"},
    {"a,b\n1,2\r3\n", "row 2, column 2 (\"b\"): \"2?3\" is not a number"},
};

START_TEST(bad_parts_are_refused_with_row_and_column) {
  ep_dataset_meta meta;
  ep_error error = {0};
  char source[192];
  const char *text = bad_parts[_i].text;
  snprintf(source, sizeof source, "%s", scratch_write("upload", text, strlen(text)));
  ck_assert_int_eq(ep_dataset_ingest_part(scratch_open(source), scratch_root, EP_SPLIT_TRAIN,
                                          EP_ROLE_X, NULL, 1 << 20, &meta, &error),
                   EP_INVALID);
  ck_assert_str_eq(error.message, bad_parts[_i].message);
}
END_TEST

/* before, then `count` times `c`, then after */
static void long_cell(const char *before, char c, size_t count, const char *after,
                      ep_status status) {
  ep_dataset_meta meta;
  ep_error error;
  size_t head = strlen(before), tail = strlen(after);
  char *text = malloc(head + count + tail);
  memcpy(text, before, head);
  memset(text + head, c, count);
  memcpy(text + head + count, after, tail);
  ep_status found = scratch_ingest(text, head + count + tail, NULL, &meta, &error);
  ck_assert_msg(found == status, "%s: %s", ep_status_name(found), error.message);
  ep_dataset_meta_deinit(&meta);
  free(text);
}

START_TEST(limits_hold_on_both_sides) {
  long_cell("a,b\n1,", '0', EP_LIMIT_CSV_FIELD_BYTES, "\n", EP_OK);
  long_cell("a,b\n1,", '0', EP_LIMIT_CSV_FIELD_BYTES + 1, "\n", EP_TOO_LARGE);
  long_cell("a,b\n1,\"", '0', EP_LIMIT_CSV_FIELD_BYTES, "\"\n", EP_OK);
  long_cell("a,b\n1,\"", '0', EP_LIMIT_CSV_FIELD_BYTES + 1, "\"\n", EP_TOO_LARGE);
  long_cell("a,", 'n', EP_LIMIT_NAME_BYTES, "\n1,2\n", EP_OK);
  long_cell("a,", 'n', EP_LIMIT_NAME_BYTES + 1, "\n1,2\n", EP_TOO_LARGE);
  for (size_t columns = EP_LIMIT_COLUMNS; columns <= EP_LIMIT_COLUMNS + 1; columns++) {
    ep_dataset_meta meta;
    ep_error error;
    char *text = malloc(2 * columns);
    for (size_t i = 0; i < columns; i++) memcpy(text + 2 * i, "1,", 2);
    text[2 * columns - 1] = '\n';
    ep_status status = scratch_ingest(text, 2 * columns, NULL, &meta, &error);
    ck_assert_int_eq(status, columns > EP_LIMIT_COLUMNS ? EP_TOO_LARGE : EP_OK);
    ep_dataset_meta_deinit(&meta);
    free(text);
  }
}
END_TEST

START_TEST(what_is_written_stays_below_the_ceiling) {
  ep_dataset_meta meta;
  ep_error error;
  int64_t bytes = 128 + 4 * (int64_t)sizeof(double);
  ck_assert_int_eq(scratch_ingest_within("1,2\n3,4\n", 8, NULL, bytes, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  ck_assert_int_eq(scratch_ingest_within("1,2\n3,4\n", 8, NULL, bytes - 1, &meta, &error),
                   EP_TOO_LARGE);
}
END_TEST

START_TEST(written_numbers_are_read_back) {
  enum { ROWS = 30011, COLUMNS = 7 }; /* more than one buffer */
  double *values = malloc(sizeof(double) * ROWS * COLUMNS);
  char *text = malloc(26 * ROWS * COLUMNS);
  size_t used = 0;
  uint64_t state = 7;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    do {
      uint64_t bits = scratch_random(&state);
      memcpy(&values[i], &bits, sizeof bits);
    } while (!isfinite(values[i]));
    used += (size_t)sprintf(text + used, "%.17g%c", values[i], (i + 1) % COLUMNS ? ',' : '\n');
  }
  ep_dataset_meta meta;
  ep_error error;
  ep_table table;
  ck_assert_int_eq(scratch_ingest(text, used, NULL, &meta, &error), EP_OK);
  scratch_part("train.table", &table);
  ck_assert_int_eq(table.rows, ROWS);
  ck_assert_int_eq(memcmp(table.values, values, sizeof(double) * ROWS * COLUMNS), 0);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(text);
  free(values);
}
END_TEST

EP_SUITE("csv") {
  TCase *numbers = ep_suite_case(suite, "numbers"), *files = ep_suite_case(suite, "files");
  tcase_add_test(numbers, numbers_are_nearest_doubles);
  tcase_add_test(numbers, random_numbers_are_nearest_doubles);
  tcase_add_test(numbers, numbers_end_where_they_end);
  tcase_add_test(numbers, excerpts_are_short_utf8);
  tcase_set_timeout(numbers, 60);
  tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
  tcase_add_loop_test(files, good_files_are_read, 0, sizeof good / sizeof *good);
  tcase_add_test(files, nothing_is_read_behind_the_end);
  tcase_add_test(files, utf_32_is_refused);
  tcase_add_loop_test(files, bad_files_are_refused_with_row_and_column, 0,
                      sizeof bad / sizeof *bad);
  tcase_add_loop_test(files, bad_parts_are_refused_with_row_and_column, 0,
                      sizeof bad_parts / sizeof *bad_parts);
  tcase_add_test(files, limits_hold_on_both_sides);
  tcase_add_test(files, what_is_written_stays_below_the_ceiling);
  tcase_add_test(files, written_numbers_are_read_back);
  tcase_set_timeout(files, 60);
}
