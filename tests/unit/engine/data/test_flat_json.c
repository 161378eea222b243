#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static void ingest(const char *text, ep_dataset_meta *meta) {
  ep_error error;
  ep_status status = scratch_ingest(text, strlen(text), NULL, meta, &error);
  ck_assert_msg(status == EP_OK, "%s", error.message);
  ck_assert_str_eq(meta->format, "json");
}

static void value_check(const char *part, int64_t rows, int64_t columns, int64_t row,
                        int64_t column, double value) {
  ep_table table;
  scratch_part(part, &table);
  ck_assert_int_eq(table.rows, rows);
  ck_assert_int_eq(table.columns, columns);
  ck_assert_double_eq(ep_table_value(&table, row, column), value);
  ep_table_close(&table);
}

START_TEST(keys_come_in_any_order) {
  static const char *const texts[] = {
      "{\"m\":2,\"n\":3,\"x\":[1,2,3,4,5,6.5],\"y\":[7,8],\"m_test\":1,\"x_test\":[9,10,11],"
      "\"y_test\":[-12]}",
      " {\n\"y_test\" : [ -12 ] ,\"x_test\":[9 , "
      "10,\t11],\"x\":[1,2e0,3,4,5,0.65e1],\r\n\"y\":[7,8],"
      "\"n\":3,\"m_test\":1,\"m\":2 } \n",
      "\xEF\xBB\xBF{\"x\":[1,2,3,4,5,6.5],\"n\":3,\"x_test\":[9,10,11],\"m\":2,\"y\":[7,8],"
      "\"y_test\":[-12],\"m_test\":1}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ep_dataset_meta meta;
    ingest(texts[i], &meta);
    value_check("train.x", 2, 3, 1, 2, 6.5);
    value_check("train.y", 2, 1, 1, 0, 8);
    value_check("test.x", 1, 3, 0, 1, 10);
    value_check("test.y", 1, 1, 0, 0, -12);
    ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows, 0);
    ck_assert_double_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].column[2].max, 6.5);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

START_TEST(test_rows_may_have_no_targets) {
  static const char *const texts[] = {"", ",\"y_test\":[]", ",\"y_test\": [ ]"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char text[256];
    ep_dataset_meta meta;
    snprintf(text, sizeof text,
             "{\"m\":2,\"n\":1,\"x\":[1,2],\"y\":[7,8],\"m_test\":3,\"x_test\":[9,10,11]%s}",
             texts[i]);
    ingest(text, &meta);
    value_check("test.x", 3, 1, 2, 0, 11);
    ck_assert_int_eq(meta.part[EP_SPLIT_TEST][EP_ROLE_Y].rows, 0);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

START_TEST(a_test_set_is_not_needed) {
  ep_dataset_meta meta;
  ingest("{\"m\":1,\"n\":1,\"x\":[1],\"y\":[2]}", &meta);
  ck_assert_int_eq(meta.part[EP_SPLIT_TEST][EP_ROLE_X].rows, 0);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

#define HEAD "{\"m\":2,\"n\":2,"
#define Y ",\"y\":[1,2]}"
static const struct {
  const char *text, *message;
  ep_status status;
} bad[] = {
    {HEAD "\"x\":[1,2,3]" Y, "JSON: x has 3 values, m × n = 4", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4,5]" Y, "JSON: x has more than 4 values, m × n = 4", EP_INVALID},
    {HEAD "\"x\":[]" Y, "JSON: x has 0 values, m × n = 4", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4],\"y\":[1]}", "JSON: y has 1 values, m = 2", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4],\"y\":[1,2],\"m_test\":1,\"x_test\":[1],\"y_test\":[1]}",
     "JSON: x_test has 1 values, m_test × n = 2", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4],\"y\":[1,2],\"m_test\":1,\"y_test\":[]}",
     "JSON: the key \"x_test\" is missing", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4],\"y\":[],\"m_test\":1,\"x_test\":[1,2]}", "JSON: y has 0 values, m = 2",
     EP_INVALID},
    {HEAD "\"x\":[1,2,3,4]}", "JSON: the key \"y\" is missing", EP_INVALID},
    {HEAD "\"x\":[1,2,3,null]" Y,
     "JSON, byte 25: expected a number of x, row 2, column 2, not \"null],\"y\":[1\"", EP_INVALID},
    {HEAD "\"x\":[1,2,3,NaN]" Y,
     "JSON, byte 25: expected a number of x, row 2, column 2, not \"NaN],\"y\":[1,\"", EP_INVALID},
    {HEAD "\"x\":[[1,2],[3,4]]" Y, "JSON: x must be flat: all numbers in one array, row by row",
     EP_INVALID},
    {HEAD "\"x\":[1,2,3,1e999]" Y,
     "JSON, byte 25: expected a number within the range of a double of x, row 2, column 2, not "
     "\"1e999],\"y\":[\"",
     EP_INVALID},
    {HEAD "\"x\":[1,2,3,04]" Y,
     "JSON, byte 25: expected a number of x, row 2, column 2, not \"04],\"y\":[1,2\"", EP_INVALID},
    {HEAD "\"x\":[1,2 3,4]" Y,
     "JSON, byte 23: expected a comma or a closing bracket, not \"3,4],\"y\":[1,\"", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4,]" Y,
     "JSON, byte 27: expected a number of x, row 3, column 1, not \"],\"y\":[1,2]}\"", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4", "JSON: the array x is never closed", EP_INVALID},
    {HEAD "\"x\":5" Y, "JSON, byte 18: expected an array, not \"5,\"y\":[1,2]}\"", EP_INVALID},
    {HEAD "\"m\":3}", "JSON: duplicate key \"m\"", EP_INVALID},
    {HEAD "\"z\":3}", "JSON: unknown key \"z\"; the keys are m, n, x, y, m_test, x_test, y_test",
     EP_INVALID},
    {"{\"m\":1.5}", "JSON: m must be a whole number of at least 1", EP_INVALID},
    {"{\"m\":0}", "JSON: m must be a whole number of at least 1", EP_INVALID},
    {"{\"m\":-1}", "JSON: m must be a whole number of at least 1", EP_INVALID},
    {"{\"m\":2147483649}", "JSON: m is over the limit of 2147483648", EP_TOO_LARGE},
    {"{\"m\":2147483648}", "JSON: the key \"n\" is missing", EP_INVALID},
    {"{\"m\":1e300}", "JSON: m is over the limit of 2147483648", EP_TOO_LARGE},
    {"{\"n\":65537}", "JSON: n is over the limit of 65536", EP_TOO_LARGE},
    {"{\"m\":\"1\"}", "JSON, byte 6: expected a whole number, not \"\"1\"}\"", EP_INVALID},
    {"{", "JSON: unexpected end of file, expected a key in quotes", EP_INVALID},
    {"{}", "JSON, byte 2: expected a key in quotes, not \"}\"", EP_INVALID},
    {"{\"m", "JSON: a key's quote is never closed", EP_INVALID},
    {"{\"m\"", "JSON: unexpected end of file, expected a colon", EP_INVALID},
    {"{\"m\":1", "JSON: unexpected end of file, expected a comma or the closing brace", EP_INVALID},
    {HEAD "\"x\":[1,2,3,4]" Y "x", "JSON, byte 38: expected the end of the file, not \"x\"",
     EP_INVALID},
    {"{\"m\":65536,\"n\":65536,\"x\":[1],\"y\":[1]}", "JSON: x has 1 values, m × n = 4294967296",
     EP_INVALID},
};

START_TEST(bad_files_are_refused) {
  scratch_refused(bad[_i].text, strlen(bad[_i].text), NULL, bad[_i].status, bad[_i].message);
}
END_TEST

START_TEST(limit_of_columns_holds) {
  size_t columns = EP_LIMIT_COLUMNS;
  char *text = malloc(2 * columns + 64);
  size_t used = (size_t)sprintf(text, "{\"m\":1,\"n\":%zu,\"y\":[1],\"x\":[", columns);
  for (size_t i = 0; i < columns; i++) {
    memcpy(text + used, "1,", 2);
    used += 2;
  }
  memcpy(text + used - 1, "]}", 3);
  ep_dataset_meta meta;
  ingest(text, &meta);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].columns, EP_LIMIT_COLUMNS);
  ep_dataset_meta_deinit(&meta);
  free(text);
}
END_TEST

/* The seeds themselves, where there are any: EPOCHD_TEST_DATA/iron/linear.json. */
START_TEST(the_seeds_are_read) {
  static const struct {
    const char *name;
    int64_t rows, columns, test_rows;
    double x; /* first row, first column */
  } seeds[] = {
      {"linear", 321, 6, 93, 2012.917}, {"logistic", 3530, 19, 391, 0}, {"xor", 4, 2, 4, 0}};
  const char *folder = getenv("EPOCHD_TEST_DATA");
  if (!folder) return;
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    char path[512];
    size_t count;
    ep_dataset_meta meta;
    snprintf(path, sizeof path, "%s/iron/%s.json", folder, seeds[i].name);
    char *text = scratch_read(path, &count);
    ingest(text, &meta);
    value_check("train.x", seeds[i].rows, seeds[i].columns, 0, 0, seeds[i].x);
    ck_assert_int_eq(meta.part[EP_SPLIT_TEST][EP_ROLE_Y].rows, seeds[i].test_rows);
    ep_dataset_meta_deinit(&meta);
    free(text);
  }
}
END_TEST

EP_SUITE("flat_json") {
  TCase *files = ep_suite_case(suite, "files");
  tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
  tcase_add_test(files, keys_come_in_any_order);
  tcase_add_test(files, test_rows_may_have_no_targets);
  tcase_add_test(files, a_test_set_is_not_needed);
  tcase_add_loop_test(files, bad_files_are_refused, 0, sizeof bad / sizeof *bad);
  tcase_add_test(files, limit_of_columns_holds);
  tcase_add_test(files, the_seeds_are_read);
  tcase_set_timeout(files, 60);
}
