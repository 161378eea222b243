/* Columns that are words, or not: at the ceilings of memory, and where numbers have signs. */
#include "engine/data/datasets/meta.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* A set of words that is full, of 8192, grows for any cell. What it grew by is counted, or the sum
 * falls below zero where the column becomes text, and the reader looks for columns to drop for
 * ever. */
START_TEST(words_that_come_twice_count_once) {
  enum { FULL = 8192, ROWS = EP_LIMIT_CATEGORIES + 2, CELL_BYTES = 8 };
  char *csv = malloc((ROWS + 1) * CELL_BYTES);
  size_t used = (size_t)sprintf(csv, "a\n");
  for (int row = 0; row < ROWS; row++)
    used += (size_t)sprintf(csv + used, "w%d\n", row == FULL ? 0 : row);
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest(csv, used, NULL, &meta, &error), EP_OK);
  const ep_part *part = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ck_assert_int_eq(part->rows, ROWS);
  ck_assert_int_eq(part->column[0].type, EP_COLUMN_TEXT);
  ep_dataset_meta_deinit(&meta);
  free(csv);
}
END_TEST

static const ep_part *ingested(const char *csv, size_t bytes, ep_dataset_meta *meta) {
  ep_error error;
  ck_assert_msg(scratch_ingest(csv, bytes, NULL, meta, &error) == EP_OK, "%s", error.message);
  return &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
}

/* Nothing is guessed: such columns are words, and the note says why. */
static const struct {
  const char *csv, *note; /* NULL: none */
} words[] = {
    {"a;b\n$1;1\n€2;1\n", "column 1 (\"a\") is words: its numbers have different signs"},
    {"a;b\n12 %;1\n0,12;1\n",
     "column 1 (\"a\") is words: some of its numbers have a sign, and some have none"},
    {"a;b\n1,5 €;1\n1.25 €;1\n",
     "column 1 (\"a\") is words: some of its numbers have decimal points, and some have commas"},
    {"a;b\n1.234 €;1\n950 €;1\n",
     "column 1 (\"a\") is words: no cell shows whether the mark before three digits is the decimal "
     "one or divides thousands: leave it out"},
    {"a,b\n\"$45,000\",$1\n\"$60,000\",€1\n",
     "column 1 (\"a\") is words: no cell shows whether the mark before three digits is the decimal "
     "one or divides thousands: leave it out; 1 more is words alike"},
    {"a;b\n612 345 678;1\n634 000 111;1\n",
     "column 1 (\"a\") is words: its numbers with spaces have all the same length, as codes and "
     "phone numbers do: leave the spaces out where they are amounts"},
    {"a,b\n110 001,1\n110 096,1\n400 001,2\n",
     "column 1 (\"a\") is words: its numbers with spaces have all the same length, as codes and "
     "phone numbers do: leave the spaces out where they are amounts"},
    {"a;b\n+34 612 345 678;1\n+34 634 000 111;1\n", NULL},
    {"a;b\n$1;1\nabout $2;1\n", NULL},
    {"a;b\n(3.5);1\n(4.5);1\n", NULL},
    {"a;b\n5 kg;1\n7 kg;1\n", NULL},
};

START_TEST(numbers_that_are_unclear_are_words) {
  ep_dataset_meta meta;
  const ep_part *part = ingested(words[_i].csv, strlen(words[_i].csv), &meta);
  ck_assert_int_eq(part->column[0].type, EP_COLUMN_CATEGORY);
  ck_assert_str_eq(part->column[0].unit, "");
  ck_assert_str_eq(meta.note, words[_i].note ? words[_i].note : "");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Of other lengths, with a decimal mark, or beside a plain number: amounts. */
START_TEST(numbers_with_spaces_that_are_no_codes_are_numbers) {
  static const char *const cases[] = {
      "a;b\n612 345 678;1\n12 345 678;1\n", "a;b\n612 345,5;1\n612 346,5;1\n",
      "a,b\n612 345.5,1\n612 346.5,1\n", "a;b\n612 345;1\n950;1\n", "a;b\n1 234;1\n5 678;1\n"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    const ep_part *part = ingested(cases[i], strlen(cases[i]), &meta);
    ck_assert_msg(part->column[0].type == EP_COLUMN_NUMBER, "%zu", i);
    ck_assert_str_eq(meta.note, "");
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* Each line of it is there with the longest names that are shown. */
START_TEST(a_note_has_room_for_long_names) {
  char name[EP_LIMIT_NAME_BYTES], csv[4 * EP_LIMIT_NAME_BYTES];
  ep_dataset_meta meta;
  memset(name, 'n', sizeof name);
  int used = snprintf(csv, sizeof csv, "1%.*s;2%.*s;3%.*s;4\n", EP_LIMIT_NAME_BYTES - 1, name,
                      EP_LIMIT_NAME_BYTES - 1, name, EP_LIMIT_NAME_BYTES - 1, name);
  used += snprintf(csv + used, sizeof csv - (size_t)used, "%s",
                   "1.234 €;2.345 €;1.234;0,5\n950 €;950 €;950;2,5\n");
  ingested(csv, (size_t)used, &meta);
  ck_assert_ptr_nonnull(strstr(meta.note, "no cell shows whether the mark before three digits"));
  ck_assert_ptr_nonnull(strstr(meta.note, "; 1 more is words alike; in column 3"));
  ck_assert_ptr_nonnull(strstr(meta.note, "other columns have decimal commas"));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* A plain number is one, and a fraction; where others have decimal commas, that is told. */
START_TEST(fractions_that_may_be_thousands_are_told) {
  static const struct {
    const char *csv;
    bool told;
  } cases[] = {
      {"a;b\n1.234;1,5\n950;2,5\n", true},   {"a;b\n1.234;1 234,5\n950;2\n", true},
      {"a;b\n1.234;1,5\n9.5;2,5\n", false},  {"a;b\n1.234;x\n950;x\n", false},
      {"a;b\n0.234;1,5\n0.95;2,5\n", false}, {"a;b\n234;1,5\n950;2,5\n", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    const ep_part *part = ingested(cases[i].csv, strlen(cases[i].csv), &meta);
    ck_assert_int_eq(part->column[0].type, EP_COLUMN_NUMBER);
    ck_assert_int_eq(part->column[0].form, EP_CELL_NUMBER);
    ck_assert_msg((strstr(meta.note, "in column 1 (\"a\") 1.234 is read as a fraction") != NULL) ==
                      cases[i].told,
                  "%zu: %s", i, meta.note);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* A first line of numbers may be names; alone, or where the words are of the columns, it is a row.
 */
START_TEST(names_that_are_numbers_are_names) {
  static const struct {
    const char *csv, *name, *note; /* "": no header, no note */
    int rows;
  } cases[] = {
      {"sep=;\nsample;400,5;401,0;401,5\na;0,1;0,2;0,3\nb;0,2;0,3;0,4\n", "401,0", "", 2},
      {"city,\"1,000\",\"5,000\"\nOslo,\"1,200\",\"7,000\"\nRome,\"1,300\",\"8,000\"\n", "5,000",
       "", 2},
      {"region,5%,10%,25%\nn,1%,2%,3%\ns,2%,3%,4%\ne,1%,4%,9%\n", "10%", "", 3},
      {"shop,$10,$20\na,$1,$3\nb,$2,$4\n", "$20", "", 2},
      {"day,$10,$20\n2024-01-31,$1,$3\n2024-02-01,$2,$4\n", "$20", "", 2},
      {"a,$10,$20\na,$1,$3\nb,$2,$4\n", "", "", 3},
      {"5%,10%\n6%,11%\n", "", "the first line is numbers alone, and is read as a row", 2},
      {"1,5;$2;\n2,5;$3;\n", "", "the first line is numbers alone, and is read as a row", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    const ep_part *part = ingested(cases[i].csv, strlen(cases[i].csv), &meta);
    ck_assert_int_eq(part->rows, cases[i].rows);
    ck_assert_str_eq(part->column[part->columns > 2 ? 2 : 1].name, cases[i].name);
    ck_assert_str_eq(meta.note, cases[i].note);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* Text is not stored, and its name is in no list of words. */
START_TEST(a_name_of_text_is_a_name) {
  enum { ROWS = 100, LINE_BYTES = 24 };
  char csv[(ROWS + 1) * LINE_BYTES];
  ep_dataset_meta meta;
  size_t used = (size_t)sprintf(csv, "name,5%%,10%%\n");
  for (int row = 0; row < ROWS; row++)
    used += (size_t)sprintf(csv + used, "n%d,%d%%,%d%%\n", row, row % 7, row % 5);
  const ep_part *part = ingested(csv, used, &meta);
  ck_assert_int_eq(part->rows, ROWS);
  ck_assert_int_eq(part->column[0].type, EP_COLUMN_TEXT);
  ck_assert_str_eq(part->column[1].name, "5%");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* As cells of another type are: less than 1 % may be without the sign, and count as missing. */
START_TEST(few_numbers_without_the_sign_are_missing) {
  for (int bare = 2; bare <= 3; bare++) {
    enum { ROWS = 300, LINE_BYTES = 5 };
    char csv[(ROWS + 1) * LINE_BYTES + 1];
    ep_dataset_meta meta;
    size_t used = (size_t)sprintf(csv, "a,b\n");
    for (int row = 0; row < ROWS; row++)
      used += (size_t)sprintf(csv + used, "%s%d,1\n", row < bare ? "" : "$", row % 7);
    const ep_part *part = ingested(csv, used, &meta);
    ck_assert_int_eq(part->column[0].type, bare == 2 ? EP_COLUMN_NUMBER : EP_COLUMN_CATEGORY);
    ck_assert_int_eq(part->column[0].missing, bare == 2 ? 2 : 0);
    ck_assert_int_eq(meta.faults, bare == 2 ? 2 : 0);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

EP_SUITE("column_types") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, words_that_come_twice_count_once);
  tcase_add_loop_test(all, numbers_that_are_unclear_are_words, 0, sizeof words / sizeof *words);
  tcase_add_test(all, numbers_with_spaces_that_are_no_codes_are_numbers);
  tcase_add_test(all, a_note_has_room_for_long_names);
  tcase_add_test(all, fractions_that_may_be_thousands_are_told);
  tcase_add_test(all, names_that_are_numbers_are_names);
  tcase_add_test(all, a_name_of_text_is_a_name);
  tcase_add_test(all, few_numbers_without_the_sign_are_missing);
}
