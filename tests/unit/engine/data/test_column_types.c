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
    {"a;b\n$1;1\n€2;1\n", "words: its numbers have different signs"},
    {"a;b\n12 %;1\n0,12;1\n", "words: some of its numbers have a sign, some have none"},
    {"a;b\n612 345 678;1\n634 000 111;1\n",
     "codes, compared as text: numbers in groups of three, all of the same length"},
    {"a,b\n110 001,1\n110 096,1\n400 001,2\n",
     "codes, compared as text: numbers in groups of three, all of the same length"},
    {"a;b\n007;1\n012;1\n",
     "codes, compared as text: numbers with leading zeros or without a sign in their exponents"},
    {"a;b\n12E5;1\n125;1\n",
     "codes, compared as text: numbers with leading zeros or without a sign in their exponents"},
    {"a;b\n1234567890123456;1\n5;1\n",
     "codes, compared as text: whole numbers of more than 15 digits"},
    {"a;b\n1;1\n2;1\nabout 3;2\n",
     "words: 2 of 3 cells are numbers; \"type\": \"number\" takes the others as missing"},
    {"a;b\n283;1\n135;1\n475;1\n113;1\n1008;1\n1011;1\n262;1\n1117;1\nc168;1\nc118;1\n",
     "words: 8 of 10 cells are numbers; \"type\": \"number\" takes the others as missing"},
    {"a;b\nYes;1\nyes;1\nno;2\n", "3 spellings of 2 words, equal by meaning: `Yes` = `yes`"},
    {"a;b\n+34 612 345 678;1\n+34 634 000 111;1\n", NULL},
    {"a;b\n$1;1\nabout $2;1\n",
     "words: 1 of 2 cells are numbers; \"type\": \"number\" takes the others as missing"},
    {"a;b\n5 kg;1\n7 kg;1\n", NULL},
};

START_TEST(numbers_that_are_unclear_are_words) {
  ep_dataset_meta meta;
  const ep_part *part = ingested(words[_i].csv, strlen(words[_i].csv), &meta);
  ck_assert_int_eq(part->column[0].type, EP_COLUMN_CATEGORY);
  ck_assert_str_eq(part->column[0].unit, "");
  ck_assert_str_eq(part->column[0].note ? part->column[0].note : "",
                   words[_i].note ? words[_i].note : "");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* 1.234 and 1,234 are read by what the file shows elsewhere; else by a convention, which is noted;
 * else they are refused. */
START_TEST(marks_before_three_digits) {
  static const struct {
    const char *csv;
    double least; /* of the first column; 0: refused */
    char decimal;
    bool noted;
  } cases[] = {
      {"a;b\n1.234;1,5\n950;2,5\n", 950, ',', false},
      {"a;b\n1.234;x\n950;x\n", 950, ',', true},
      {"a;b\n1.234;x\n2.500;x\n", 0, 0, false},
      {"a;b\n1,234;x\n2,500;x\n", 1.234, ',', true},
      {"a;b\n1,234;x\n950;x\n", 0, 0, false},
      {"a;b\n1.234;1.5\n2.500;2.5\n", 1.234, '.', false},
      {"a,b\n1.234,x\n2.500,x\n", 1.234, '.', true},
      {"a,b\n0.234,x\n2.500,x\n", 0.234, '.', false},
      {"a,b\n\"1,234\",x\n\"2,500\",x\n", 1234, '.', true},
      {"a,b\n\"2,320\",\"7,0\"\n\"2,120\",\"7,5\"\n", 2.12, ',', false},
      {"a;b\n1.234 €;1\n950 €;1\n", 950, ',', true},
      {"a;b\n1.234 €;x\n2.500 €;x\n", 0, 0, false},
      {"a;b\n1,234 €;x\n2,500 €;x\n", 1.234, ',', true},
      {"a,b\n\"$45,000\",1\n\"$60,000\",1\n", 45000, '.', true},
      {"a;b\n1'234.5;1\n12'345;1\n", 1234.5, '.', false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    ep_error error = {0};
    ep_status status = scratch_ingest(cases[i].csv, strlen(cases[i].csv), NULL, &meta, &error);
    ck_assert_msg(status == (cases[i].least == 0 ? EP_INVALID : EP_OK), "%zu: %s", i,
                  error.message);
    if (status != EP_OK) {
      ck_assert_ptr_nonnull(strstr(error.message, "?decimal="));
      continue;
    }
    const ep_column *column = meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].column;
    ck_assert_msg(column->type == EP_COLUMN_NUMBER && column->min == cases[i].least, "%zu: %g", i,
                  column->min);
    ck_assert_msg(meta.dialect->dialect.decimal == cases[i].decimal, "%zu", i);
    ck_assert_msg((strstr(meta.notes.text, "?decimal=") != NULL) == cases[i].noted, "%zu: %s", i,
                  meta.notes.text);
    ep_dataset_meta_deinit(&meta);
  }
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
      {"5%,10%\n6%,11%\n", "", "line 1 is numbers alone", 2},
      {"1,5;$2\n2,5;$3\n", "", "line 1 is numbers alone", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    const ep_part *part = ingested(cases[i].csv, strlen(cases[i].csv), &meta);
    ck_assert_int_eq(part->rows, cases[i].rows);
    ck_assert_str_eq(part->column[part->columns > 2 ? 2 : 1].name, cases[i].name);
    ck_assert_msg(strstr(meta.notes.text, cases[i].note) != NULL, "%zu: %s", i, meta.notes.text);
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

/* Less than 1 % may be without the sign. */
START_TEST(few_numbers_without_the_sign_are_numbers) {
  for (int bare = 2; bare <= 3; bare++) {
    enum { ROWS = 300, LINE_BYTES = 5 };
    char csv[(ROWS + 1) * LINE_BYTES + 1];
    ep_dataset_meta meta;
    size_t used = (size_t)sprintf(csv, "a,b\n");
    for (int row = 0; row < ROWS; row++)
      used += (size_t)sprintf(csv + used, "%s%d,1\n", row < bare ? "" : "$", row % 7);
    const ep_part *part = ingested(csv, used, &meta);
    ck_assert_int_eq(part->column[0].type, bare == 2 ? EP_COLUMN_NUMBER : EP_COLUMN_CATEGORY);
    ck_assert(part->column[0].missing == 0 && meta.faults == 0);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* One word is read one way in all columns of words. */
START_TEST(a_word_for_missing_is_one_in_each_column) {
  static const struct {
    const char *csv;
    int64_t missing[2];
  } cases[] = {
      {"a,b\ny,NA\nn,no\n", {0, 0}}, /* of one column: a class may have that name */
      {"a,b\nNA,y\nno,NA\nyes,y\nno,y\nno,n\nno,n\n", {1, 1}},
      {"a,b\nNA,y\nno,NA\nno,NA\nno,y\nno,n\nno,n\n", {1, 2}}, /* a third of the cells */
      {"a,b\nNA,y\n,NA\nno,NA\n", {2, 2}},
      {"a,b\nUS,y\nNA,y\nSE,y\nNO,n\nUS,n\nFR,n\n", {0, 0}}, /* of a country */
      {"a,b\nUS,y\nNA,NA\nSE,NA\nNO,NA\nUS,n\nFR,n\n", {0, 0}},
      {"a,b\nUS,y\nNA,NA\nSE,y\nNO,n\nUS,n\nFR,n\n", {1, 1}}, /* of a state */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    const ep_part *part = ingested(cases[i].csv, strlen(cases[i].csv), &meta);
    for (int column = 0; column < 2; column++)
      ck_assert_msg(part->column[column].missing == cases[i].missing[column], "%zu: %lld", i,
                    (long long)part->column[column].missing);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* Nothing in it shows an order of days and months. */
START_TEST(a_column_of_missing_cells_has_no_dates) {
  static const char csv[] = "a,b\n1,NA\n2,NA\n";
  ep_dataset_meta meta;
  const ep_part *part = ingested(csv, sizeof csv - 1, &meta);
  ck_assert_int_eq(part->column[1].type, EP_COLUMN_NUMBER);
  ck_assert_str_eq(meta.notes.text, "");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Not only the first one. */
START_TEST(all_faults_are_told) {
  static const struct {
    const char *text, *message;
  } files[] = {
      {"a,b\n1,x\n2\n3,y,z\n\n4,\"u\n5,w\n", /* the quote is never closed */
       "row 3 has 1 cell, row 1 has 2; 3 errors in all: 3 rows with a different number of cells "
       "(rows 3, "
       "4, 5)"},
      {"a,b\n1,\u00e9\u00e9\u00e9\ninf,y\n2,\xff\n-inf,z\n1e999,z\n5,\xfe\n",
       "row 4, column 2 (\"b\"): \"?\" is not UTF-8 text; 5 errors in all; column 1 (\"a\"): 3 "
       "infinite (rows 3, 5, 6); column 2 (\"b\"): 2 no UTF-8 (rows 4, 7); ?encoding= takes utf-8, "
       "utf-16le, utf-16be or windows-1252: save a text in any other as UTF-8"},
      {"a,b\n1,inf\n2,x\n3,y\n4,\n5\n", "row 6 has 1 cell, row 1 has 2"}, /* "inf" is a word */
      {"a,b\nx,1\ny\nz,3\na,b\nw,4\n\nTotal\n\n", "row 3 has 1 cell, row 1 has 2"},
      {"1,2\n3,4\n5,6\n7,8\n9,0\n1\n1\n1\n1\n",
       "row 6 has 1 cell, row 1 has 2; 4 errors in all: 4 rows with a different number of cells "
       "(rows 6, 7, 8, …)"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    scratch_refused(files[i].text, strlen(files[i].text), NULL, EP_INVALID, files[i].message);
}
END_TEST

EP_SUITE("column_types") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, words_that_come_twice_count_once);
  tcase_add_loop_test(all, numbers_that_are_unclear_are_words, 0, sizeof words / sizeof *words);
  tcase_add_test(all, numbers_with_spaces_that_are_no_codes_are_numbers);
  tcase_add_test(all, marks_before_three_digits);
  tcase_add_test(all, a_word_for_missing_is_one_in_each_column);
  tcase_add_test(all, a_column_of_missing_cells_has_no_dates);
  tcase_add_test(all, all_faults_are_told);
  tcase_add_test(all, names_that_are_numbers_are_names);
  tcase_add_test(all, a_name_of_text_is_a_name);
  tcase_add_test(all, few_numbers_without_the_sign_are_numbers);
}
