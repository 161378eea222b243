/* Text as rows to predict: columns in any order, forms of numbers, faults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/named_row.h"
#include "engine/data/inputs/text_rows.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"

static ep_encoding encoding;

/* age, city, pay; the target is y. */
static void setup(void) {
  const double rows[] = {20, 0, 1.5, 40, 1, 2.5};
  ep_column columns[] = {number_column("age", 20, 40, 1), category_column("city", "Oslo Rome", 0),
                         number_column("pay", 0, 9, 0), number_column("y", 0, 1, 0)};
  ep_part table = table_make(columns, 4, 2);
  encoding_plan(NULL, &table, 3, &encoding);
  encoding_fit(&encoding, rows, 2);
  table_free(&table);
}

static void teardown(void) {
  ep_encoding_deinit(&encoding);
}

static ep_status read_text(const char *text, bool lines, double **x, int64_t *rows,
                           ep_problem *problem) {
  *problem = (ep_problem){0};
  return ep_text_rows_read(&encoding,
                           &(ep_text_body){.text = text, .bytes = strlen(text), .lines = lines}, x,
                           rows, NULL, problem);
}

START_TEST(each_form_gives_the_same_cells) {
  static const struct {
    const char *text;
    bool lines;
  } cases[] = {
      {"age,city,pay,y\n30,Rome,1.5,0\n,Bern,1200.25,1\n", false},
      {"\xef\xbb\xbfpay;y;city;age\r\n1.5;0;Rome;30\r\n1200.25;1;Bern;NA\r\n", false},
      {"sep=;\npay;city;age\n1.5;Rome;30\n1200.25;Bern;\n", false},
      {"pay\tcity\tage\n1.5\tRome\t30\n1200.25\tBern\t\n", false},
      {"city,pay,age\n\"Rome\",1.5,30\nBern,1200.25,?\n", false},
      {"{\"city\":\"Rome\",\"age\":30,\"pay\":\"1.5\"}\n{\"pay\":1200.25,\"city\":\"Bern\"}\n",
       true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double *x;
    int64_t rows;
    ep_problem problem;
    ck_assert_msg(read_text(cases[i].text, cases[i].lines, &x, &rows, &problem) == EP_OK, "%zu: %s",
                  i, problem.detail);
    ck_assert_int_eq(rows, 2);
    ck_assert_msg(x[0] == 30 && x[1] == 1 && x[2] == 1.5, "%zu: %g %g %g", i, x[0], x[1], x[2]);
    ck_assert_msg(isnan(x[3]) && x[4] == -1 && x[5] == 1200.25, "%zu: %g %g %g", i, x[3], x[4],
                  x[5]);
    free(x);
  }
}
END_TEST

/* No line below the header is left out but units and what follows the rows, and a warning says so;
 * a row that is cut is refused. */
START_TEST(rows_are_not_lost) {
  static const struct {
    const char *text;
    int rows; /* 0: refused */
    const char *warning;
  } cases[] = {
      {"city,age,pay\nF,,\nRome,30,7\nBern,40,8\n", 3, NULL},
      {"city,age,pay\nRome,20,5\nBern,30,7\nRome,40\n", 0, NULL},
      {"city,age,pay\nRome,20,5\n#Bern,30\nRome,40,3\n", 0, NULL},
      {"city,age,pay\n# a,1,2\nRome,2,3\nBern,3,4\n", 3, NULL},
      {"pay,city,age\n,Rome,\n7,Rome,30\n8,Rome,40\n", 3, NULL},
      {"city,age,pay\nRome,1,0\nRome,2,0\nRome,3,0\nsum,4,2\n", 4, NULL},
      {"city,age,pay\nRome,1,0\ncity,age,pay\nRome,2,0\n", 2, "the header is repeated"},
      {"pay,city,age\n+5,F,NA\n7,Rome,3\n", 2, NULL},
      {"a list\ncity,age,pay\nRome,1,0\nRome,2,0\n", 2, "1 line before the table"},
      {"city,age,pay\n,years,kg\nRome,1,0\nRome,2,0\n", 2, "line 2 is left out: units"},
      {"city,age,pay\nRome,1,0\nRome,2,0\n\nSource: me\n", 2, "as a footer"},
      {"| city | age | pay |\n|---|---|---|\n| Rome | 1 | 0 |\n| Rome | 2 |  |\n", 2, "the `|` at"},
      {" city | age | pay\n---+--+--\n Rome | 1 | 0\n Rome | 2 | 0\n(2 rows)\n", 2, "line 2"},
      {"city  age  pay\n----  ---  ---\nRome  1    0\nRome  2    0\n", 2, "lines of dashes"},
      {"city  age  pay\n----  ---  ---\nRome  1    0\nRome       0\n", 0, NULL},
      {"city,age,pay\nRome,1,0\n# by hand\nRome,2,0\n", 2, "left out as comments"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double *x;
    int64_t rows = 0;
    ep_problem problem = {0};
    ep_warnings warnings = {0};
    const ep_text_body body = {.text = cases[i].text, .bytes = strlen(cases[i].text)};
    ep_status status = ep_text_rows_read(&encoding, &body, &x, &rows, &warnings, &problem);
    ck_assert_msg((status == EP_OK ? rows : 0) == cases[i].rows, "%zu: %lld rows, %s", i,
                  (long long)rows, problem.detail);
    bool told = false;
    for (int k = 0; k < warnings.listed; k++)
      told = told || (cases[i].warning && strstr(warnings.entry[k].detail, cases[i].warning));
    ck_assert_msg(told == (cases[i].warning != NULL), "%zu", i);
    ep_warnings_deinit(&warnings);
    if (status == EP_OK) free(x);
  }
}
END_TEST

/* The units of a table with names of rows begin behind an empty cell. */
START_TEST(units_stand_behind_the_names_of_rows) {
  static const char *const text[] = {"city,age,pay\n,,years,kg\na,Rome,1,0\n",
                                     "city,age,pay\nc,,years,kg\na,Rome,1,0\n"};
  for (int i = 0; i < 2; i++) {
    double *x = NULL;
    int64_t rows = 0;
    ep_problem problem = {0};
    const ep_text_body body = {.text = text[i],
                               .bytes = strlen(text[i]),
                               .dialect = {.set = 1u << EP_DIALECT_ROW_NAMES, .row_names = true}};
    ep_warnings warnings = {0};
    ep_status status = ep_text_rows_read(&encoding, &body, &x, &rows, &warnings, &problem);
    ep_warnings_deinit(&warnings);
    ck_assert_int_eq(status, i == 0 ? EP_OK : EP_INVALID);
    ck_assert_int_eq(rows, i == 0);
    free(x);
  }
}
END_TEST

/* Rows as they are written, a new cell behind each: z for the header, then a, "b" and c. */
START_TEST(rows_come_back_as_they_are_written) {
  static const struct {
    const char *text, *wanted;
    bool lines;
  } cases[] = {
      {"pay,age, \"city\"\n01.50,30,\"Rome\"\n2,3,Bern",
       "pay,age, \"city\",z\n01.50,30,\"Rome\",a\n2,3,Bern,\"b,\"\"\"\n", false},
      {"pay;city;age\r\n1;\"a\nb\";2\r\n\r\n", "pay;city;age;z\r\n1;\"a\nb\";2;a\r\n", false},
      {"a list\n\npay\tcity\tage\n1\tRome\t2\n# no row\n3\tBern\t4\n",
       "pay\tcity\tage\tz\n1\tRome\t2\ta\n3\tBern\t4\t\"b,\"\"\"\n", false},
      {"pay,city,age,\n1,Rome,2,\n", "pay,city,age,z\n1,Rome,2,a\n", false},
      {"pay,city,age\n1,Rome,2,\n", "pay,city,age,z\n1,Rome,2,a\n", false},
      {"pay,city,age\n1,Rome,2,,\n1,Rome,,,\n", "pay,city,age,z\n1,Rome,2,a\n1,Rome,,\"b,\"\"\"\n",
       false},
      {"pay,city,age\n1,Rome,2,\n1,Rome,\n", "pay,city,age,z\n1,Rome,2,a\n1,Rome,,\"b,\"\"\"\n",
       false}, /* a row that ends in an empty cell, not in a delimiter */
      {"| pay | city | age |\n|---|---|---|\n| 1 | New York | 2 |\n| 3 | Rome, NY |  |\n",
       "pay,city,age,z\n1,New York,2,a\n3,\"Rome, NY\",,\"b,\"\"\"\n", false},
      {"pay  city      age\n---  --------  ---\n1    New York  2\n",
       "pay,city,age,z\n1,New York,2,a\n", false},
      {"\xef\xbb\xbfpay,city,age\n1,Rome,2\n", "pay,city,age,z\n1,Rome,2,a\n", false},
      {"{\"pay\": 1.50, \"city\":\"Rome\", \"age\":2 }\n {\"age\":1,\"city\":null,\"pay\":1}",
       "{\"pay\": 1.50, \"city\":\"Rome\", \"age\":2 "
       ",a}\n{\"age\":1,\"city\":null,\"pay\":1,b,\"}\n",
       true},
  };
  static const char *const cell[] = {"a", "b,\""};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_row_lines copied;
    ep_writer writer;
    double *x;
    int64_t rows = 0;
    ep_problem problem = {0};
    ep_warnings warnings = {0};
    const ep_text_body body = {.text = cases[i].text,
                               .bytes = strlen(cases[i].text),
                               .lines = cases[i].lines,
                               .copied = &copied};
    ck_assert_msg(ep_text_rows_read(&encoding, &body, &x, &rows, &warnings, &problem) == EP_OK,
                  "%zu: %s", i, problem.detail);
    ck_assert_int_eq(copied.rows, rows);
    ep_writer_init(&writer, 1 << 16);
    for (int64_t row = copied.header > 0 ? -1 : 0; row < rows; row++) {
      ep_row_lines_begin(&copied, row, &writer);
      ep_row_lines_cell(&copied, row, true, row < 0 ? "z" : cell[row], &writer);
      ep_row_lines_end(&copied, &writer);
    }
    char *text = ep_writer_take(&writer);
    ck_assert_msg(strcmp(text, cases[i].wanted) == 0, "%zu: %s", i, text);
    free(text);
    free(x);
    ep_warnings_deinit(&warnings);
    ep_row_lines_deinit(&copied);
  }
}
END_TEST

/* Without quotes in the dialect one is a character; a delimiter needs them all the same. */
START_TEST(new_cells_have_the_quotes_of_the_dialect) {
  static const struct {
    char quote;
    const char *cell, *wanted;
  } cases[] = {{'"', "5\" pipe", "1,\"5\"\" pipe\"\n"},
               {'\'', "it's", "1,'it''s'\n"},
               {0, "5\" pipe", "1,5\" pipe\n"},
               {0, "a,b", "1,\"a,b\"\n"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_row_lines lines = {.dialect = {.delimiter = ',', .quote = cases[i].quote}};
    ep_writer writer;
    const char *row = "1";
    ck_assert_int_eq(ep_row_lines_add(&lines, row, NULL, row + 1, false, NULL), EP_OK);
    ep_writer_init(&writer, 1 << 10);
    ep_row_lines_begin(&lines, 0, &writer);
    ep_row_lines_cell(&lines, 0, true, cases[i].cell, &writer);
    ep_row_lines_end(&lines, &writer);
    char *text = ep_writer_take(&writer);
    ck_assert_str_eq(text, cases[i].wanted);
    free(text);
    ep_row_lines_deinit(&lines);
  }
}
END_TEST

START_TEST(a_zero_byte_does_not_come_back) {
  static const char text[] = "pay,city,age\n1,Ro\0me,2\n";
  ep_row_lines copied;
  double *x;
  int64_t rows;
  ep_problem problem = {0};
  ep_warnings warnings = {0};
  const ep_text_body body = {.text = text, .bytes = sizeof text - 1, .copied = &copied};
  ck_assert_int_eq(ep_text_rows_read(&encoding, &body, &x, &rows, &warnings, &problem), EP_INVALID);
  ck_assert_msg(strstr(problem.detail, "zero byte"), "%s", problem.detail);
  ep_warnings_deinit(&warnings);
  ep_row_lines_deinit(&copied);
}
END_TEST

/* The marks are those of the query, else of the model's table, else, of an older model, those of
 * its column; never those of other rows. A number with others is refused, and the option named. */
START_TEST(numbers_have_the_marks_of_the_dialect) {
  enum { MODEL = 1, QUERY = 2 };
  static const struct {
    ep_cell_kind form;
    int has; /* a dialect with a decimal comma */
    const char *cell;
    double want; /* NAN: refused */
  } cases[] = {
      {EP_CELL_NUMBER, 0, "1.5", 1.5},        {EP_CELL_NUMBER, 0, "1,5", NAN},
      {EP_CELL_DECIMAL_COMMA, 0, "1,5", 1.5}, {EP_CELL_DECIMAL_COMMA, 0, "1.250", 1250},
      {EP_CELL_SPACED, 0, "1 234.5", 1234.5}, {EP_CELL_NUMBER, MODEL, "1,5", 1.5},
      {EP_CELL_NUMBER, MODEL, "1.250", NAN},  {EP_CELL_NUMBER, MODEL, "1.5", NAN},
      {EP_CELL_NUMBER, QUERY, "1,5", 1.5},    {EP_CELL_DECIMAL_COMMA, QUERY, "1,250", 1.25},
  };
  const ep_dialect comma = {.set = 1u << EP_DIALECT_DECIMAL | 1u << EP_DIALECT_THOUSANDS,
                            .decimal = ','};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[64];
    double *x;
    int64_t rows;
    ep_problem problem = {0};
    encoding.column[2].form = cases[i].form;
    encoding.dialect = cases[i].has & MODEL ? comma : (ep_dialect){0};
    snprintf(text, sizeof text, "city;age;pay\nRome;30;%s\nBern;30;7\n", cases[i].cell);
    ep_text_body body = {.text = text, .bytes = strlen(text)};
    if (cases[i].has & QUERY) body.dialect = comma;
    bool read = ep_text_rows_read(&encoding, &body, &x, &rows, NULL, &problem) == EP_OK;
    ck_assert_msg(read == !isnan(cases[i].want) && (!read || x[2] == cases[i].want), "%zu: %g", i,
                  read ? x[2] : NAN);
    if (!read) ck_assert_ptr_nonnull(strstr(problem.errors[0].detail, "?decimal="));
    free(x);
  }
}
END_TEST

/* The delimiter and the encoding are the model's; a text that plainly has others is refused. */
START_TEST(a_text_of_another_dialect_is_refused) {
  static const struct {
    const char *text, *option;
  } cases[] = {
      {"city,age,pay\nRome,30,1\nBern,31,2\n", "?delimiter=comma"},
      {"city|age|pay\nRome|30|1\nBern|31|2\n", "?delimiter=pipe"},
      {"our towns\ncity|age|pay\nRome|30|1\nBern|31|2\n", "?delimiter=pipe"},
      {"city\tage\tpay\nRome\t30\t1\nBern\t31\t2\n", "?delimiter=tab"},
      {"city age pay\nRome 30 1\nBern 31 2\n", "?delimiter=space"},
      {"city;age;pay\nZ\xFCrich;30;1\nGen\xE8ve;31;2\n", "?encoding=windows-1252"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double *x;
    int64_t rows;
    ep_problem problem = {0};
    encoding.dialect = (ep_dialect){.set = 1u << EP_DIALECT_DELIMITER | 1u << EP_DIALECT_ENCODING,
                                    .delimiter = ';'};
    ck_assert_int_eq(read_text(cases[i].text, false, &x, &rows, &problem), EP_INVALID);
    ck_assert_msg(strstr(problem.detail, cases[i].option) != NULL, "%zu: %s", i, problem.detail);
  }
}
END_TEST

START_TEST(a_file_that_is_no_table_is_named) {
  double *x;
  int64_t rows;
  ep_problem problem;
  ck_assert_int_eq(read_text("%PDF-1.7\ncity,age,pay\nRome,30,1\n", false, &x, &rows, &problem),
                   EP_MEDIA_TYPE);
  ck_assert_str_eq(problem.detail, "this is a PDF: export its table as CSV");
}
END_TEST

/* As pandas and R write the names of rows; a column that the model has is not passed over. */
START_TEST(a_column_without_a_name_is_passed_over) {
  static const struct {
    const char *text, *warning; /* NULL: refused */
  } cases[] = {
      {",age,city,pay\n0,30,Rome,1\n1,31,Rome,2\n", "column 1 has no name and is ignored"},
      {"age,city,pay,\n30,Rome,1,x\n31,Rome,2,y\n", "column 4 has no name and is ignored"},
      {"id,age,city,pay\n0,30,Rome,1\n1,31,Rome,2\n", NULL},
      {"7,30,Rome,1\n1,31,Rome,2\n", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double *x;
    int64_t rows;
    ep_problem problem = {0};
    ep_warnings warnings = {0};
    const ep_text_body body = {.text = cases[i].text, .bytes = strlen(cases[i].text)};
    bool read = ep_text_rows_read(&encoding, &body, &x, &rows, &warnings, &problem) == EP_OK;
    ck_assert_msg(read == (cases[i].warning != NULL), "%zu: %s", i, problem.detail);
    if (read) ck_assert_str_eq(warnings.entry[0].detail, cases[i].warning);
    ep_warnings_deinit(&warnings);
    if (read) ck_assert(x[0] == 30 && x[1] == 1 && x[2] == 1);
    free(x);
  }
  strcpy(encoding.column[2].name, "0");
  ck_assert_int_eq(ep_encoding_names_order(&encoding), EP_OK);
  double *x;
  int64_t rows;
  ep_problem problem;
  ck_assert_int_eq(read_text(",age,city\n5,30,Rome\n6,31,Rome\n", false, &x, &rows, &problem),
                   EP_OK);
  ck_assert(x[0] == 30 && x[2] == 5);
  free(x);
}
END_TEST

/* A backslash before a quote is the model's way to write one, or the query's. */
START_TEST(quotes_are_escaped_as_in_the_dialect) {
  static const struct {
    const char *text;
    bool escapes, read;
  } cases[] = {
      {"city,age,pay\n\"Ro\\\"me\",30,1\n", true, true},
      {"city,age,pay\n\"Ro\"\"me\",30,1\n", true, true},
      {"city,age,pay\n\"Ro\\\"me\",30,1\n", false, false},
      {"city,age,pay\n\"Ro\"\"me\",30,1\n", false, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double *x;
    int64_t rows;
    ep_problem problem = {0};
    ck_assert_int_eq(ep_dialect_set(&encoding.dialect, EP_DIALECT_QUOTE,
                                    cases[i].escapes ? "escaped" : "\"", NULL),
                     EP_OK);
    bool read = read_text(cases[i].text, false, &x, &rows, &problem) == EP_OK;
    ck_assert_msg(read == cases[i].read, "%zu: %s", i, problem.detail);
    if (!read) ck_assert_ptr_nonnull(strstr(problem.detail, "?quote=escaped"));
    if (read) ck_assert(x[0] == 30 && x[2] == 1);
    free(x);
  }
}
END_TEST

/* A comma within the one column of a text is no delimiter. */
START_TEST(words_with_commas_are_words) {
  const double rows[] = {0, 1, 1, 0};
  ep_column columns[] = {category_column("city", "Oslo Rome", 0), number_column("y", 0, 1, 0)};
  ep_part table = table_make(columns, 2, 2);
  ep_encoding single;
  ep_problem problem = {0};
  double *x = NULL;
  int64_t count = 0;
  encoding_plan(NULL, &table, 1, &single);
  encoding_fit(&single, rows, 2);
  single.dialect = (ep_dialect){.set = 1u << EP_DIALECT_DELIMITER, .delimiter = ';'};
  const char text[] = "city\nOslo, NO\nRome\nOslo, NO\n";
  const ep_text_body body = {.text = text, .bytes = strlen(text)};
  ck_assert_msg(ep_text_rows_read(&single, &body, &x, &count, NULL, &problem) == EP_OK, "%s",
                problem.detail);
  ck_assert_int_eq(count, 3);
  ck_assert(x[0] == -1 && x[1] == 1);
  free(x);
  table_free(&table);
  ep_encoding_deinit(&single);
}
END_TEST

/* With the sign and without, and no other sign; in an object as well. */
START_TEST(numbers_have_their_sign_or_none) {
  static const struct {
    const char *cell;
    bool read;
  } cases[] = {{"1234.5", true},    {"$1,234.50", true}, {"1,234.5 $", true}, {"$ 1234.5", true},
               {"€1,234.5", false}, {"1,234.5%", false}, {"$", false},        {"$1.234,5", false}};
  encoding.column[2].form = EP_CELL_GROUPED;
  strcpy(encoding.column[2].unit, "$");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[128];
    double *x, cells[3];
    int64_t rows;
    ep_problem problem;
    snprintf(text, sizeof text, "city;age;pay\nRome;30;%s\n", cases[i].cell);
    ck_assert_msg((read_text(text, false, &x, &rows, &problem) == EP_OK) == cases[i].read, "%s",
                  cases[i].cell);
    ck_assert(!x || x[2] == 1234.5);
    free(x);
    json_t *object = json_pack("{s:s, s:i, s:s}", "city", "Rome", "age", 30, "pay", cases[i].cell);
    problem = (ep_problem){0};
    bool read =
        ep_encoding_cells_read(&encoding, object, "/rows/0", cells, NULL, &problem) == EP_OK;
    ck_assert_msg(read == cases[i].read && (!read || cells[2] == 1234.5), "%s", cases[i].cell);
    if (!read) ck_assert_str_eq(problem.errors[0].pointer, "/rows/0/pay");
    if (!read)
      ck_assert_ptr_nonnull(
          strstr(problem.errors[0].detail, "must be a number, with or without $"));
    json_decref(object);
  }
}
END_TEST

START_TEST(faults_are_told_by_place) {
  static const struct {
    const char *text, *pointer, *detail;
    bool lines;
  } cases[] = {
      {"age,city\n30,Rome\n", "/pay", "missing column", false},
      {"age,city,pay,cty\n30,Rome,1,2\n", "/cty", "did you mean \"city\"", false},
      {"age,city,pay\n30,Rome,1\n30,Rome,x\n", "/rows/1/pay",
       "must be a number or empty, not \"x\"", false},
      {"age,city,pay\n30,Rome\n", NULL, "row 2 has 2 cells", false},
      {"age,city,pay\n", NULL, "no rows of data", false},
      {"{\"age\":1,\"city\":\"Rome\",\"pay\":[1]}\n", "/rows/0/pay", "must be a number", true},
      {"{\"age\":1", NULL, "unexpected end of file", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double *x;
    int64_t rows;
    ep_problem problem;
    ck_assert_int_eq(read_text(cases[i].text, cases[i].lines, &x, &rows, &problem), EP_INVALID);
    ck_assert_ptr_null(x);
    if (cases[i].pointer) ck_assert_str_eq(problem.errors[0].pointer, cases[i].pointer);
    const char *said = cases[i].pointer ? problem.errors[0].detail : problem.detail;
    ck_assert_msg(strstr(said, cases[i].detail), "%zu: %s", i, said);
  }
}
END_TEST

/* The file that was trained on has them in the same order; an object has one value for both. */
START_TEST(columns_of_one_name_keep_their_order) {
  double *x, cells[3];
  int64_t rows;
  ep_problem problem;
  strcpy(encoding.column[2].name, "age");
  ck_assert_int_eq(ep_encoding_names_order(&encoding), EP_OK);
  ck_assert_int_eq(read_text("city,age,age\nRome,30,1.5\n", false, &x, &rows, &problem), EP_OK);
  ck_assert(x[0] == 30 && x[1] == 1 && x[2] == 1.5);
  free(x);
  ck_assert_int_eq(read_text("city,age\nRome,30\n", false, &x, &rows, &problem), EP_INVALID);
  ck_assert_int_eq(read_text("city,age,age,age\nRome,1,2,3\n", false, &x, &rows, &problem),
                   EP_INVALID);
  json_t *object = json_pack("{s:s, s:i}", "city", "Rome", "age", 30);
  problem = (ep_problem){0};
  ck_assert_int_eq(ep_encoding_cells_read(&encoding, object, "/rows/0", cells, NULL, &problem),
                   EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/rows/0/age");
  ck_assert_ptr_nonnull(strstr(problem.errors[0].detail, "two columns of the table are named"));
  json_object_set_new(object, "zzz", json_integer(1)); /* as many members as columns */
  problem = (ep_problem){0};
  ck_assert_int_eq(ep_encoding_cells_read(&encoding, object, "/rows/0", cells, NULL, &problem),
                   EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 2);
  ck_assert_str_eq(problem.errors[0].pointer, "/rows/0/zzz");
  ck_assert_str_eq(problem.errors[1].pointer, "/rows/0/age");
  json_decref(object);
}
END_TEST

/* Each by its name, in a table and in an object: a search from the first one on takes a minute. */
START_TEST(columns_are_found_among_as_many_as_there_may_be) {
  enum { NAME_BYTES = 8 };
  char *names = malloc((size_t)EP_LIMIT_COLUMNS * NAME_BYTES), *text, *at;
  char **words = malloc(EP_LIMIT_COLUMNS * sizeof *words);
  json_t *object = json_object();
  at = text = malloc((size_t)EP_LIMIT_COLUMNS * 2 * NAME_BYTES);
  for (int i = 0; i < EP_LIMIT_COLUMNS; i++) {
    words[i] = names + (size_t)i * NAME_BYTES;
    snprintf(words[i], NAME_BYTES, "c%d", i);
    json_object_set_new(object, words[i], json_integer(i));
    at += sprintf(at, "%sc%d", i ? "," : "", EP_LIMIT_COLUMNS - 1 - i);
  }
  for (int i = 0; i < EP_LIMIT_COLUMNS; i++)
    at += sprintf(at, "%c%d", i ? ',' : '\n', EP_LIMIT_COLUMNS - 1 - i);
  ep_encoding many;
  ck_assert_int_eq(ep_encoding_plain(&(ep_words){words, NULL, EP_LIMIT_COLUMNS}, "y", &many, NULL),
                   EP_OK);
  for (int i = 0; i < EP_LIMIT_COLUMNS; i++)
    ck_assert_int_eq(ep_encoding_column_find(&many, words[i]), i);
  ck_assert_int_eq(ep_encoding_column_find(&many, ""), -1);
  ck_assert_int_eq(ep_encoding_column_find(&many, "c"), -1);
  ck_assert_int_eq(ep_encoding_column_find(&many, "d"), -1);
  double *x, *cells = malloc(EP_LIMIT_COLUMNS * sizeof *cells);
  int64_t rows;
  ep_problem problem = {0};
  ck_assert_int_eq(ep_text_rows_read(&many,
                                     &(ep_text_body){.text = text, .bytes = (size_t)(at - text)},
                                     &x, &rows, NULL, &problem),
                   EP_OK);
  for (int i = 0; i < EP_LIMIT_COLUMNS; i++) ck_assert(x[i] == i);
  free(x);
  for (char *c = text; *c; c++) /* all are unknown now */
    if (*c == 'c') *c = 'd';
  problem = (ep_problem){0};
  ck_assert_int_eq(ep_text_rows_read(&many,
                                     &(ep_text_body){.text = text, .bytes = (size_t)(at - text)},
                                     &x, &rows, NULL, &problem),
                   EP_INVALID);
  ck_assert_int_eq(problem.errors_count, EP_LIMIT_PROBLEM_ERRORS);
  problem = (ep_problem){0};
  json_object_set_new(object, "other", json_null());
  ck_assert_int_eq(ep_encoding_cells_read(&many, object, "/rows/0", cells, NULL, &problem),
                   EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 1);
  ck_assert_str_eq(problem.errors[0].pointer, "/rows/0/other");
  ep_encoding_deinit(&many);
  json_decref(object);
  free(cells);
  free(x);
  free(text);
  free(words);
  free(names);
}
END_TEST

START_TEST(rows_have_a_limit) {
  const size_t head = sizeof "age,city,pay\n" - 1, line = sizeof "1,Rome,2\n" - 1;
  char *text = malloc(head + (EP_LIMIT_PREDICT_ROWS + 1) * line + 1), *end = text;
  double *x;
  int64_t rows;
  ep_problem problem;
  ck_assert_ptr_nonnull(text);
  end = stpcpy(end, "age,city,pay\n");
  for (int i = 0; i < EP_LIMIT_PREDICT_ROWS; i++) end = stpcpy(end, "1,Rome,2\n");
  ck_assert_int_eq(read_text(text, false, &x, &rows, &problem), EP_OK);
  ck_assert_int_eq(rows, EP_LIMIT_PREDICT_ROWS);
  free(x);
  stpcpy(end, "1,Rome,2\n");
  ck_assert_int_eq(read_text(text, false, &x, &rows, &problem), EP_TOO_LARGE);
  free(text);
}
END_TEST

EP_SUITE("text_rows") {
  TCase *all = ep_suite_case(suite, "text_rows");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, rows_come_back_as_they_are_written);
  tcase_add_test(all, new_cells_have_the_quotes_of_the_dialect);
  tcase_add_test(all, a_zero_byte_does_not_come_back);
  tcase_add_test(all, each_form_gives_the_same_cells);
  tcase_add_test(all, rows_are_not_lost);
  tcase_add_test(all, units_stand_behind_the_names_of_rows);
  tcase_add_test(all, words_with_commas_are_words);
  tcase_add_test(all, numbers_have_the_marks_of_the_dialect);
  tcase_add_test(all, a_text_of_another_dialect_is_refused);
  tcase_add_test(all, a_file_that_is_no_table_is_named);
  tcase_add_test(all, a_column_without_a_name_is_passed_over);
  tcase_add_test(all, quotes_are_escaped_as_in_the_dialect);
  tcase_add_test(all, numbers_have_their_sign_or_none);
  tcase_add_test(all, faults_are_told_by_place);
  tcase_add_test(all, columns_of_one_name_keep_their_order);
  tcase_add_test(all, columns_are_found_among_as_many_as_there_may_be);
  tcase_add_test(all, rows_have_a_limit);
}
