/* Tables that are JSON: records, rows, columns; several in one file. */
#include <math.h>

#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* "name:type missing word,word|…" and the rows below. */
static void describe(const ep_part *part, char *out, size_t room) {
  ep_table table;
  size_t used = 0;
  for (int64_t i = 0; i < part->columns; i++) {
    const ep_column *column = &part->column[i];
    used += (size_t)snprintf(out + used, room - used, "%s%s:%s %lld", i ? "|" : "", column->name,
                             ep_column_type_name(column->type), (long long)column->missing);
    for (int64_t j = 0; j < column->words.count; j++)
      used +=
          (size_t)snprintf(out + used, room - used, "%s%s", j ? "," : " ", column->words.word[j]);
  }
  scratch_part("train.table", &table);
  for (int64_t row = 0; row < part->rows; row++)
    for (int64_t column = 0; column < part->columns; column++)
      used += (size_t)snprintf(out + used, room - used, "%s%g", column ? " " : "\n",
                               ep_table_value(&table, row, column));
  ep_table_close(&table);
}

static const struct {
  const char *text, *wanted, *format;
  ep_ingest_options options;
} good[] = {
    {"[{\"a\":1,\"b\":\"x\"},{\"b\":\"y\",\"a\":2.5},{\"a\":-3e1,\"b\":\"x\"}]",
     "a:number 0|b:category 0 x,y\n1 0\n2.5 1\n-30 0",
     "json",
     {0}},
    /* keys that come late, and that are left out; null, NaN and "NA" are missing */
    {" [ { } , {\"a\" : 1 , \"c\" : null} , { \"c\" : true , \"a\" : NaN }, "
     "{\"a\":\"NA\",\"c\":false}"
     ",{\"c\":true}]\n",
     "a:number 4|c:category 2 true,false\nnan nan\n1 nan\nnan 0\nnan 1\nnan 0",
     "json",
     {0}},
    /* one a line, with and without an end; numbers in quotes; escapes */
    {"{\"a\":\"1\",\"b\":\"\\u00e9\\nx\"}\n{\"a\":\" 2 \",\"b\":\"\\ud83d\\ude00\"}",
     "a:number 0|b:category 0 é\nx,\xF0\x9F\x98\x80\n1 0\n2 1",
     "ndjson",
     {0}},
    {"\xEF\xBB\xBF{\"x\":1,\"y\":2}\r\n{\"y\":4,\"x\":3}\r\n",
     "x:number 0|y:number 0\n1 2\n3 4",
     "ndjson",
     {0}},
    {"{\"a\":7,\"b\":\"u\"}", "a:number 0|b:category 0 u\n7 0", "json", {0}},
    /* codes are texts, and so are numbers beyond a double's */
    {"[{\"zip\":\"07078\",\"id\":9007199254740993},{\"zip\":\"7078\",\"id\":9007199254740992}]",
     "zip:category 0 07078,7078|id:category 0 9007199254740992,9007199254740993\n0 1\n1 0",
     "json",
     {0}},
    /* but not a double that is written in full: 2^232 */
    {"[{\"a\":6901746346790563787434755862277025452451"
     "108972170386555162524223799296},{\"a\":1}]",
     "a:number 0\n6.90175e+69\n1",
     "json",
     {0}},
    /* rows; names of pandas' orient=split; arrays and objects within are text */
    {"[[1,\"2024-01-31\"],[2,\"2024-02-01\"]]",
     ":number 0|:date 0\n1 1.70666e+09\n2 1.70675e+09",
     "json",
     {0}},
    {"{\"columns\":[\"a\",0],\"index\":[0,1],\"data\":[[1,\"x\"],[2,null]]}",
     "a:number 0|0:category 1 x\n1 0\n2 nan",
     "json",
     {0}},
    {"{\"rows\":[[1]],\"columns\":[\"a\"]}", "a:number 0\n1", "json", {0}},
    {"[{\"a\":[1,{\"b\":2}],\"n\":1},{\"a\":{},\"n\":2}]",
     "a:category 0 [1,{\"b\":2}],{}|n:number 0\n0 1\n1 2",
     "json",
     {0}},
    /* columns of cells, with and without an index */
    {"{\"a\":{\"0\":1,\"1\":2},\"b\":{\"0\":\"x\",\"1\":null}}",
     "a:number 0|b:category 1 x\n1 0\n2 nan",
     "json",
     {0}},
    {"{\"a\":[1,2,3],\"b\":[4,5,6]}", "a:number 0|b:number 0\n1 4\n2 5\n3 6", "json", {0}},
    /* pandas' orient=index: by the keys, by the types of the cells, by keys that differ */
    {"{\"0\":{\"x\":1,\"y\":2},\"1\":{\"x\":3,\"y\":4}}",
     "x:number 0|y:number 0\n1 2\n3 4",
     "json",
     {0}},
    {"{\"r\":{\"x\":1,\"y\":\"p\"},\"s\":{\"x\":null,\"y\":\"q\"}}",
     "x:number 1|y:category 0 p,q\n1 0\nnan 1",
     "json",
     {0}},
    {"{\"r\":{\"x\":1},\"s\":{\"y\":2,\"x\":3}}", "x:number 0|y:number 1\n1 nan\n3 2", "json", {0}},
    {"{\"0\":{\"0\":1,\"1\":\"p\"},\"1\":{\"0\":3,\"1\":\"q\"}}",
     "0:number 0|1:category 0 p,q\n1 0\n3 1",
     "json",
     {0}},
    /* orient=columns with names of rows */
    {"{\"x\":{\"r\":1,\"s\":2},\"y\":{\"r\":\"p\",\"s\":\"q\"}}",
     "x:number 0|y:category 0 p,q\n1 0\n2 1",
     "json",
     {0}},
    {"{\"x\":{\"17\":1,\"40\":2},\"y\":{\"17\":3,\"40\":4}}",
     "x:number 0|y:number 0\n1 3\n2 4",
     "json",
     {0}},
    {"{\"0\":{\"0\":1,\"1\":2},\"1\":{\"0\":3,\"1\":4}}",
     "0:number 0|1:number 0\n1 3\n2 4",
     "json",
     {0}},
    /* Python's NaN, which is missing whatever ?missing= lists */
    {"{\"a\":{\"0\":NaN,\"1\":2},\"b\":{\"0\":\"x\",\"1\":null}}",
     "a:number 1|b:category 1 x\nnan 0\n2 nan",
     "json",
     {0}},
    {"{\"a\":[NaN,2],\"b\":[4,5]}", "a:number 1|b:number 0\nnan 4\n2 5", "json", {0}},
    {"[{\"a\":NaN,\"b\":\"none\"},{\"a\":1,\"b\":\"x\"}]",
     "a:number 1|b:category 1 x\nnan nan\n1 0",
     "json",
     {.dialect = {.set = 1u << EP_DIALECT_MISSING, .missing = "none"}}},
    /* one of several */
    {"{\"one\":[{\"a\":1}],\"two\":{\"columns\":[\"c\"],\"data\":[[5],[6]]},\"note\":\"\"}",
     "c:number 0\n5\n6",
     "json",
     {.table = "two"}},
};

START_TEST(tables_are_read) {
  char text[1024];
  ep_dataset_meta meta;
  ep_error error;
  ep_status status =
      scratch_ingest(good[_i].text, strlen(good[_i].text), &good[_i].options, &meta, &error);
  ck_assert_msg(status == EP_OK, "%s", error.message);
  ck_assert_str_eq(meta.format, good[_i].format);
  describe(&meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE], text, sizeof text);
  ck_assert_str_eq(text, good[_i].wanted);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

static const struct {
  const char *text, *message;
  ep_ingest_options options;
  ep_status status;
} bad[] = {
    {"[]", "no rows of data", {0}, EP_INVALID},
    {"[{},{}]", "JSON: the rows have no cells", {0}, EP_INVALID},
    {"[1,2]",
     "JSON, byte 2: expected a row (an object or an array), not \"1,2]\"",
     {0},
     EP_INVALID},
    {"[{\"a\":1},[2]]",
     "JSON, byte 10: expected a record (an object), not \"[2]]\"",
     {0},
     EP_INVALID},
    {"[{\"a\":1},{\"a\":2}",
     "JSON: unexpected end of file, expected a comma or a closing bracket",
     {0},
     EP_INVALID},
    {"[{\"a\":1}]x", "JSON, byte 10: expected the end of the table, not \"x\"", {0}, EP_INVALID},
    {"[{\"a\":1,\"b\":2,\"a\":3}]", "JSON, row 1: duplicate key \"a\"", {0}, EP_INVALID},
    {"{\"a\":1}\n{\"a\":2,}\n",
     "JSON, byte 16: expected a key in quotes, not \"}?\"",
     {0},
     EP_INVALID},
    {"{\"a\":1}\n{\"a\":01}\n", "JSON, byte 14: expected a value, not \"01}?\"", {0}, EP_INVALID},
    {"[{\"a\":\"\\x\"}]",
     "JSON, byte 8: expected a valid JSON escape, not \"\\x\"}]\"",
     {0},
     EP_INVALID},
    {"[{\"a\":\"\\ud800\"}]",
     "JSON, byte 8: expected a valid JSON escape, not \"\\ud800\"}]\"",
     {0},
     EP_INVALID},
    {"[{\"a\":\"x", "JSON: unexpected end of file, expected a closing quote", {0}, EP_INVALID},
    {"[{\"a\":\"\xff\"}]", "row 1, column 1 (\"a\"): \"?\" is not UTF-8 text", {0}, EP_INVALID},
    {"[{\"a\":\"\\u0000\"}]", "row 1, column 1 (\"a\"): \"?\" is not UTF-8 text", {0}, EP_INVALID},
    {"[{\"\xff\":1}]", "JSON, row 1: a name is not UTF-8 text", {0}, EP_INVALID},
    {"[{\"a\":1e999}]",
     "row 1, column 1 (\"a\"): \"1e999\" is out of the range of a double",
     {0},
     EP_INVALID},
    {"[[1,2],[3]]", "JSON, row 2 has 1 cell, not 2", {0}, EP_INVALID},
    {"[[1,2],[3,4,5]]", "JSON, row 2 has more than 2 cells, not 2", {0}, EP_INVALID},
    {"[[1],[]]", "JSON, row 2 has 0 cells, not 1", {0}, EP_INVALID},
    {"{\"columns\":[\"a\"],\"data\":[[1,2]]}",
     "JSON, row 1 has more than 1 cell, not 1",
     {0},
     EP_INVALID},
    {"{\"columns\":[[\"a\"]],\"data\":[[1]]}",
     "JSON: the name of column 1 is an array or an object",
     {0},
     EP_INVALID},
    {"{\"a\":[1,2],\"b\":[3]}",
     "JSON: column \"b\" has fewer cells than column \"a\"",
     {0},
     EP_INVALID},
    {"{\"a\":[1],\"b\":[3,4]}",
     "JSON: column \"b\" has more cells than column \"a\"",
     {0},
     EP_INVALID},
    {"{\"a\":{\"0\":1,\"1\":2},\"b\":{\"1\":20,\"0\":10}}",
     "JSON, row 1: column \"b\" has the key \"1\", and column \"a\" has a different one",
     {0},
     EP_INVALID},
    {"{\"r\":{\"x\":1,\"y\":2},\"s\":{\"x\":3,\"y\":4}}",
     "JSON: an object of objects, which may be its rows or its columns: use an array of records, "
     "[{\"a\": 1}, …] (pandas: orient=\"records\")",
     {0},
     EP_INVALID},
    {"{\"a\":[Infinity,2],\"b\":[4,5]}",
     "row 1, column 1 (\"a\"): \"Infinity\" is not a number to train on",
     {0},
     EP_INVALID},
    {"[{\"a\":-Infinity},{\"a\":1}]",
     "row 1, column 1 (\"a\"): \"-Infinity\" is not a number to train on",
     {0},
     EP_INVALID},
    {"{\"one\":[{\"a\":1}],\"two\":{\"m\":1},\"n\":1}",
     "JSON: an object of several tables: choose one with ?table=NAME; the tables are \"one\", "
     "\"two\"",
     {0},
     EP_INVALID},
    {"{\"one\":[{\"a\":1}]}",
     "JSON: no table named \"n\"; the tables are \"one\"",
     {.table = "n"},
     EP_INVALID},
    {"[{\"a\":1}]",
     "JSON: ?table= selects a member of an object: this is a single table",
     {.table = "n"},
     EP_INVALID},
    {"a,b\n1,2\n",
     "?table= selects a table of a JSON object: this is csv",
     {.table = "n"},
     EP_INVALID},
};

START_TEST(bad_tables_are_refused) {
  scratch_refused(bad[_i].text, strlen(bad[_i].text), &bad[_i].options, bad[_i].status,
                  bad[_i].message);
}
END_TEST

/* A record of many keys, and a name of the longest kind. */
START_TEST(limits_hold_on_both_sides) {
  size_t room = 16 * (EP_LIMIT_COLUMNS + 2), used = 0;
  char *text = malloc(room), name[EP_LIMIT_NAME_BYTES + 32];
  for (int columns = EP_LIMIT_COLUMNS; columns <= EP_LIMIT_COLUMNS + 1; columns++) {
    used = 0;
    for (int i = 0; i < columns; i++)
      used += (size_t)snprintf(text + used, room - used, "%s\"%d\":1", i ? "," : "[{", i);
    used += (size_t)snprintf(text + used, room - used, "}]");
    ep_dataset_meta meta;
    ep_error error;
    ck_assert_int_eq(scratch_ingest(text, used, NULL, &meta, &error),
                     columns > EP_LIMIT_COLUMNS ? EP_TOO_LARGE : EP_OK);
    if (columns <= EP_LIMIT_COLUMNS) ep_dataset_meta_deinit(&meta);
  }
  for (int bytes = EP_LIMIT_NAME_BYTES; bytes <= EP_LIMIT_NAME_BYTES + 1; bytes++) {
    ep_dataset_meta meta;
    ep_error error;
    snprintf(name, sizeof name, "[{\"%0*d\":1}]", bytes, 0);
    ck_assert_int_eq(scratch_ingest(name, strlen(name), NULL, &meta, &error),
                     bytes > EP_LIMIT_NAME_BYTES ? EP_TOO_LARGE : EP_OK);
    if (bytes <= EP_LIMIT_NAME_BYTES) ep_dataset_meta_deinit(&meta);
  }
  free(text);
}
END_TEST

/* No one meant an object to be a word. */
START_TEST(arrays_and_objects_within_are_noted) {
  static const struct {
    const char *text, *note;
    int column;
  } cases[] = {
      {"[{\"a\":1,\"b\":{\"c\":1}},{\"a\":2,\"b\":{\"c\":2}}]", "row 1", 1},
      {"[{\"a\":1,\"b\":\"x\"},{\"a\":2,\"b\":[1]},{\"b\":[2]}]", "row 2", 1},
      {"[[1,[2]],[3,[4]]]", "row 1", 1},
      {"[{\"a\":1,\"b\":\"{}\"},{\"a\":2,\"b\":\"[1]\"}]", NULL, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    ep_error error;
    ck_assert_int_eq(scratch_ingest(cases[i].text, strlen(cases[i].text), NULL, &meta, &error),
                     EP_OK);
    const ep_column *column = meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].column;
    const char *note = column[cases[i].column].note;
    ck_assert_msg(!column[0].note, "%zu: %s", i, column[0].note);
    ck_assert_msg(cases[i].note ? note && strstr(note, cases[i].note) : !note, "%zu: %s", i, note);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* The same bytes, read in another way, are another content. */
START_TEST(options_are_part_of_the_identity) {
  static const char text[] = "{\"one\":[{\"a\":1}],\"two\":[{\"a\":2}]}";
  static const char *const names[] = {"one", "two", "one"};
  char sha256[3][EP_SHA256_HEX_BYTES];
  for (int i = 0; i < 3; i++) {
    ep_dataset_meta meta;
    ep_error error;
    ep_ingest_options options = {.table = names[i]};
    ck_assert_int_eq(scratch_ingest(text, strlen(text), &options, &meta, &error), EP_OK);
    memcpy(sha256[i], meta.sha256, sizeof sha256[i]);
    ep_dataset_meta_deinit(&meta);
  }
  ck_assert_str_ne(sha256[0], sha256[1]);
  ck_assert_str_eq(sha256[0], sha256[2]);
}
END_TEST

EP_SUITE("json_table") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_loop_test(all, tables_are_read, 0, sizeof good / sizeof *good);
  tcase_add_loop_test(all, bad_tables_are_refused, 0, sizeof bad / sizeof *bad);
  tcase_add_test(all, limits_hold_on_both_sides);
  tcase_add_test(all, arrays_and_objects_within_are_noted);
  tcase_add_test(all, options_are_part_of_the_identity);
  tcase_set_timeout(all, 60);
}
