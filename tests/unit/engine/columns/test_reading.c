/* From an upload to a prediction: a cell means what it meant in training, in each form of a row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/encoding_json.h"
#include "engine/data/columns/named_row.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/inputs/text_rows.h"
#include "engine/data/prepare/columns.h"
#include "engine/data/sources/target.h"
#include "tests/suite.h"
#include "tests/unit/engine/columns/columns_fixture.h"
#include "tests/unit/engine/scratch.h"

static const double refused = -1e300;

/* "missing=-999&dates=day_first" */
static ep_dialect dialect_of(const char *query) {
  ep_dialect dialect = {0};
  char *text = strdup(query ? query : ""), *rest = NULL;
  for (char *pair = strtok_r(text, "&", &rest); pair; pair = strtok_r(NULL, "&", &rest)) {
    char *value = strchr(pair, '=');
    *value++ = 0;
    for (ep_dialect_key key = 0; key < EP_DIALECT_KEYS; key++)
      if (strcmp(ep_dialect_key_name(key), pair) == 0)
        ck_assert_int_eq(ep_dialect_set(&dialect, key, value, NULL), EP_OK);
  }
  free(text);
  return dialect;
}

/* The upload, as it is described. */
static void upload(const char *data, const char *query, ep_dataset_meta *meta) {
  ep_error error = {0};
  const ep_ingest_options options = {.dialect = dialect_of(query)};
  ep_dataset_meta written;
  ck_assert_msg(scratch_ingest(data, strlen(data), &options, &written, &error) == EP_OK, "%s\n%s",
                data, error.message);
  ep_dataset_meta_deinit(&written);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, meta, &error), EP_OK);
}

static ep_column *columns_of(ep_dataset_meta *meta) {
  return meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].column;
}

/* The encoding of a model that learnt from it; the last column is the target. as: of column a. */
static void model_make(ep_dataset_meta *meta, ep_column_as as, ep_encoding *out) {
  ep_column_rule rule = {.name = "a", .type = as, .indicator = -1};
  ep_data_spec data = {.columns = &rule, .columns_count = as != EP_COLUMN_AS_AUTO};
  ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ep_error error = {0};
  ep_encoding *planned;
  ck_assert_msg(ep_data_retype(&data, meta, &error) == EP_OK, "%s", error.message);
  ck_assert_msg(ep_columns_plan(&data, meta, &planned, &error) == EP_OK, "%s", error.message);
  if (!planned) { /* numbers alone */
    char *names[8];
    for (int64_t i = 0; i < table->columns; i++) names[i] = table->column[i].name;
    const ep_words words = {.word = names, .count = table->columns - 1};
    ck_assert_int_eq(ep_encoding_plain(&words, "y", out, NULL), EP_OK);
    if (meta->dialect) out->dialect = meta->dialect->dialect;
    return;
  }
  for (int64_t i = 0; i < planned->columns; i++)
    for (int64_t k = 0; planned->column[i].trained && k < planned->column[i].words.count; k++)
      planned->column[i].trained[k] = true;
  char *text = ep_encoding_format(planned);
  ck_assert_msg(ep_encoding_parse(text, NULL, "y", out, &error) == EP_OK, "%s: %s", error.message,
                text);
  out->dialect = planned->dialect;
  free(text);
  ep_encoding_deinit(planned);
  free(planned);
}

/* What is asked of a model. */
typedef enum { OBJECT, LINES, DELIMITED, FORMS } form;
static const char *const form_names[FORMS] = {"an object", "lines", "delimited text"};

/* The cell of column a in a row that has it; *problem and *warnings say what is said. */
static double predicted(const ep_encoding *encoding, form how, const char *cell, const char *query,
                        ep_problem *problem, ep_warnings *warnings) {
  char text[512], *at = text;
  double *x = NULL, value = refused;
  int64_t rows, column = ep_encoding_column_find(encoding, "a");
  *problem = (ep_problem){0};
  *warnings = (ep_warnings){0};
  bool delimited = how == DELIMITED;
  at += sprintf(at, delimited ? "a" : "{\"a\":%s", cell);
  for (int64_t i = 0; i < encoding->columns; i++)
    if (i != column && delimited) at += sprintf(at, "|%s", encoding->column[i].name);
  if (delimited) at += sprintf(at, "\n%s", cell);
  bool plain = ep_encoding_is_plain(encoding);
  for (int64_t i = 0; i < encoding->columns; i++)
    if (i != column && delimited)
      at += sprintf(at, plain ? "|1" : "|");
    else if (i != column)
      at += sprintf(at, plain ? ",\"%s\":1" : ",\"%s\":null", encoding->column[i].name);
  strcpy(at, delimited ? "\n" : "}\n");
  if (how == OBJECT) {
    json_t *object = json_loads(text, 0, NULL);
    double *cells = calloc((size_t)encoding->columns, sizeof *cells);
    ck_assert_msg(object != NULL, "%s", text);
    if (ep_encoding_cells_read(encoding, object, "/rows/0", cells, warnings, problem) == EP_OK)
      value = cells[column];
    free(cells);
    json_decref(object);
    return value;
  }
  ep_text_body body = {
      .text = text, .bytes = strlen(text), .lines = !delimited, .dialect = dialect_of(query)};
  if (delimited) ep_dialect_set(&body.dialect, EP_DIALECT_DELIMITER, "|", NULL);
  if (delimited) ep_dialect_set(&body.dialect, EP_DIALECT_HEADER, "true", NULL);
  if (ep_text_rows_read(encoding, &body, &x, &rows, warnings, problem) == EP_OK) value = x[column];
  free(x);
  return value;
}

/* A table, and a cell of its column a in a row to predict. */
typedef struct {
  const char *data, *query;
  ep_column_as as;
  const char *json, *csv;    /* the cell; NULL: it has no such form */
  double want;               /* NAN: missing; refused; of a category the number of its word */
  const char *said, *unsaid; /* a part of the fault; what must not be in it; NULL: any */
} reading;

static bool same(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

static void readings_hold(const reading *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const reading *it = &cases[i];
    ep_dataset_meta meta;
    ep_encoding encoding;
    upload(it->data, it->query, &meta);
    model_make(&meta, it->as, &encoding);
    for (form how = 0; how < FORMS; how++) {
      ep_problem problem;
      ep_warnings warnings;
      const char *cell = how == DELIMITED ? it->csv : it->json;
      if (!cell) continue;
      double value = predicted(&encoding, how, cell, NULL, &problem, &warnings);
      const char *said = problem.errors_count > 0 ? problem.errors[0].detail : problem.detail;
      ck_assert_msg(same(value, it->want), "%zu, %s of %s: %g (%s), not %g", i, cell,
                    form_names[how], value, said, it->want);
      ck_assert_msg(!it->said || strstr(said, it->said), "%zu, %s: %s", i, form_names[how], said);
      ck_assert_msg(!it->unsaid || !strstr(said, it->unsaid), "%zu, %s: %s", i, form_names[how],
                    said);
      ep_warnings_deinit(&warnings);
    }
    ep_encoding_deinit(&encoding);
    ep_dataset_meta_deinit(&meta);
  }
}

/* What ?missing= lists is missing, whatever else the table holds, and in a row of any form. */
START_TEST(words_that_are_listed_are_missing) {
  static const char numbers[] = "a,b,y\n1,2,1\n-999,3,0\n4,-999,1\n5,6,0\n",
                    whole[] = "a,b,y\n1,2,1\n3,3,0\n4,5,1\n5,6,0\n",
                    words[] = "a,b,y\nx,2,1\nz,3,0\n-999,5,1\nx,6,0\n";
  static const reading cases[] = {
      {numbers, "missing=-999", 0, "-999", "-999", NAN, NULL, NULL},
      {numbers, "missing=-999", 0, "\"-999\"", "-999.0", NAN, NULL, NULL},
      {numbers, "missing=-999", 0, "-999.0", NULL, NAN, NULL, NULL},
      {numbers, "missing=-999", 0, "-99", "-99", -99, NULL, NULL},
      {numbers, NULL, 0, "-999", "-999", -999, NULL, NULL},
      {whole, "missing=-999", 0, "-999", "-999", refused, "stands for a missing cell", "decimal"},
      {whole, "missing=-999", 0, "\"-999\"", "\"-999\"", refused, "stands for a missing cell",
       "decimal"},
      {words, "missing=-999,none", 0, "-999", "-999", NAN, NULL, NULL},
      {words, "missing=-999,none", 0, "\"none\"", "none", NAN, NULL, NULL},
      {words, "missing=-999,none", 0, "\"x\"", "x", 0, NULL, NULL},
  };
  readings_hold(cases, sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(listed_numbers_are_missing_in_the_table) {
  ep_dataset_meta meta;
  upload("a,b\n1,2\n-999,3\n4,-999\n5,6\n", "missing=-999", &meta);
  const ep_column *column = columns_of(&meta);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(column[i].type, EP_COLUMN_NUMBER);
    ck_assert_int_eq(column[i].missing, 1);
    ck_assert(column[i].min >= 1);
  }
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(a_part_has_no_missing_cells) {
  static const char x[] = "1,2\n-999,3\n";
  const ep_ingest_options options = {.dialect = dialect_of("missing=-999")};
  ep_dataset_meta meta;
  ep_error error = {0};
  int file = scratch_open(scratch_write("x.csv", x, sizeof x - 1));
  ck_assert_int_eq(ep_dataset_ingest_part(file, scratch_root, EP_SPLIT_TRAIN, EP_ROLE_X, &options,
                                          1 << 20, &meta, &error),
                   EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "?missing= requires a table"));
}
END_TEST

/* 2 May, 5 February and 17 June 2024 */
static const double may = 1714608000, february = 1707091200, june = 1718582400;

/* The order of days and months is the column's, as it was in training; a query gives that of its
 * own text. A date is no time of day, and a time no date. */
START_TEST(dates_are_read_as_their_column_was) {
  static const char days[] = "a,b,y\n13/05/2024,05/13/2024,1\n05/02/2024,02/05/2024,0\n"
                             "20/06/2024,06/20/2024,1\n",
                    months[] = "b,a,y\n13/05/2024,05/13/2024,1\n05/02/2024,02/05/2024,0\n"
                               "20/06/2024,06/20/2024,1\n",
                    words[] = "a,b,y\nu,13/05/2024,1\n05/13/2024,13/06/2024,1\nv,05/02/2024,0\n"
                              "05/02/2024,20/02/2024,0\nw,20/06/2024,1\n06/20/2024,20/07/2024,0\n",
                    unclear[] = "a,y\nu,1\n05/02/2024,1\nv,0\n04/03/2024,0\nw,1\n05/01/2024,0\n",
                    iso[] = "a,y\n2024-05-05,1\n2024-06-05,0\n2024-07-05,1\n",
                    durations[] = "a,y\n0 days 10:11:12,1\n1 days 00:00:00,0\n2 days 01:00:00,1\n",
                    prices[] = "a,y\n$10,1\n$12,0\n$14,1\n",
                    times[] = "a,y\n12:30,1\n13:30,0\n14:30,1\n";
  static const reading cases[] = {
      {days, NULL, 0, "\"05/02/2024\"", "05/02/2024", february, NULL, NULL},
      {months, NULL, 0, "\"05/02/2024\"", "05/02/2024", may, NULL, NULL},
      {months, "dates=day_first", 0, "\"05/02/2024\"", "05/02/2024", may, NULL, NULL},
      {words, NULL, EP_COLUMN_AS_DATE, "\"05/02/2024\"", "05/02/2024", may, NULL, NULL},
      {unclear, "dates=month_first", EP_COLUMN_AS_DATE, "\"05/02/2024\"", "05/02/2024", may, NULL,
       NULL},
      {unclear, "dates=day_first", EP_COLUMN_AS_DATE, "\"05/02/2024\"", "05/02/2024", february,
       NULL, NULL},
      {days, NULL, 0, "\"2024-02-05\"", "2024-02-05", february, NULL, NULL},
      {days, NULL, 0, "\"12:30\"", "12:30", refused, "must be a date", NULL},
      {iso, NULL, 0, "\"12:30\"", "12:30", refused, "must be a date", NULL},
      /* other forms than in training, where they have one meaning */
      {iso, NULL, 0, "\"5 February 2024\"", "5 February 2024", february, NULL, NULL},
      {days, NULL, 0, "\"Feb 5, 2024\"", "05-FEB-2024", february, NULL, NULL},
      {iso, NULL, 0, "\"17/06/2024\"", "06/17/2024", june, NULL, NULL},
      {iso, NULL, 0, "\"17.06.2024\"", "17.06.2024", june, NULL, NULL},
      {iso, NULL, 0, "\"05/05/2024\"", "05/05/2024", 1714867200, NULL, NULL},
      {iso, NULL, 0, NULL, "05/02/2024", refused, "?dates=day_first or ?dates=month_first", NULL},
      {days, NULL, 0, NULL, "06/17/2024", refused, "?dates=month_first", NULL},
      {iso, NULL, 0, "\"30/02/2024\"", "30/02/2024", refused, "must be a date", "?dates"},
      {durations, NULL, 0, "\"1 days 00:00:01\"", "1 days 00:00:01", 86401, NULL, NULL},
      {durations, NULL, 0, "5", "5", 5, NULL, NULL},
      {prices, NULL, 0, "\"$11\"", "$11", 11, NULL, NULL},
      {durations, NULL, 0, "\"2024-02-05\"", "2024-02-05", refused, "must be a number", NULL},
      {times, NULL, 0, "\"12:30\"", "12:30", 45000, NULL, NULL},
      {times, NULL, 0, "\"2024-05-05\"", "2024-05-05", refused, "must be a time", NULL},
  };
  ep_dataset_meta meta;
  ep_encoding encoding;
  ep_problem problem;
  ep_warnings warnings;
  readings_hold(cases, sizeof cases / sizeof *cases);
  upload(days, NULL, &meta);
  model_make(&meta, EP_COLUMN_AS_AUTO, &encoding);
  ck_assert(predicted(&encoding, DELIMITED, "05/02/2024", "dates=month_first", &problem,
                      &warnings) == may);
  ep_encoding_deinit(&encoding);
  ep_dataset_meta_deinit(&meta);
  upload(iso, NULL, &meta);
  model_make(&meta, EP_COLUMN_AS_AUTO, &encoding);
  ck_assert(predicted(&encoding, DELIMITED, "05/02/2024", "dates=day_first", &problem, &warnings) ==
            february);
  ck_assert(predicted(&encoding, DELIMITED, "05/02/2024", "dates=month_first", &problem,
                      &warnings) == may);
  ep_encoding_deinit(&encoding);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* What the cells of column a are taken for. */
typedef struct {
  const char *data, *query;
  ep_column_type type;
  int words;
  int missing;
  const char *note; /* a part of it; NULL: there is none */
} description;

static void descriptions_hold(const description *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ep_dataset_meta meta;
    upload(cases[i].data, cases[i].query, &meta);
    const ep_column *column = columns_of(&meta);
    ck_assert_msg(column->type == cases[i].type, "%zu: %s", i, ep_column_type_name(column->type));
    ck_assert_msg(column->words.count == cases[i].words, "%zu: %lld words", i,
                  (long long)column->words.count);
    ck_assert_msg(column->missing == cases[i].missing, "%zu: %lld missing", i,
                  (long long)column->missing);
    const char *note = column->note ? column->note : "";
    ck_assert_msg(cases[i].note ? strstr(note, cases[i].note) != NULL : !note[0], "%zu: %s", i,
                  note);
    ep_dataset_meta_deinit(&meta);
  }
}

/* An order that is given does not change what a column shows, which a note says. */
START_TEST(an_order_that_is_given_is_contradicted) {
  static const description cases[] = {
      {"a,y\n01/13/2024,1\n05/02/2024,0\n06/20/2024,1\n", "dates=day_first", EP_COLUMN_DATE, 0, 0,
       "dates with the month first"},
      {"a,y\n01/13/2024,1\n05/02/2024,0\n06/20/2024,1\n", "dates=month_first", EP_COLUMN_DATE, 0, 0,
       NULL},
      {"a,b,y\n01/13/2024,13/01/2024,1\n05/02/2024,20/02/2024,0\n", NULL, EP_COLUMN_DATE, 0, 0,
       "dates with the month first"},
      {"a,y\n01/03/2024,1\n05/02/2024,0\n02/04/2024,1\n03/04/2024,1\n04/04/2024,0\n06/04/2024,0\n"
       "tbd,1\n",
       NULL, EP_COLUMN_DATE, 0, 1, "6 dates; 1 other cell"},
  };
  ep_dataset_meta meta;
  descriptions_hold(cases, sizeof cases / sizeof *cases);
  upload(cases[3].data, NULL, &meta);
  ck_assert_ptr_nonnull(strstr(meta.notes.text, "?dates=day_first chooses the other"));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Words are booleans where both meanings are there, and letters are of one pair. */
START_TEST(classes_are_not_merged_as_booleans) {
  static const struct {
    const char *cells[4];
    bool boolean;
  } cases[] = {
      {{"N", "F", "N", "F"}, false},        {{"t", "y", "t", "y"}, false},
      {{"T", "N", "T", "N"}, false},        {{"n", "f", "y", "t"}, false},
      {{"f", "t", "no", "n"}, false},       {{"Y", "YES", "Y", "YES"}, false},
      {{"N", "", "N", "N"}, false},         {{"y", "n", "y", "n"}, true},
      {{"T", "f", "t", "F"}, true},         {{"yes", "n", "no", "y"}, true},
      {{"True", "", "True", "True"}, true}, {{"true", "F", "false", "T"}, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char csv[64] = "a,y\n", *at = csv + 4;
    ep_dataset_meta meta;
    for (int k = 0; k < 4; k++) at += sprintf(at, "%s,%d\n", cases[i].cells[k], k);
    upload(csv, NULL, &meta);
    ck_assert_msg(columns_of(&meta)->boolean == cases[i].boolean, "%zu", i);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* A number of JSON is one, however it is spelled, and whatever the marks of strings are; but not
 * a whole one that a double would round. */
START_TEST(numbers_of_json_are_numbers) {
  static const char numbers[] = "[{\"a\":1e5,\"y\":1},{\"a\":7,\"y\":0},{\"a\":9,\"y\":1}]",
                    words[] = "[{\"a\":1e5,\"y\":1},{\"a\":\"x\",\"y\":0},{\"a\":\"x\",\"y\":0},"
                              "{\"a\":100000.0,\"y\":1},{\"a\":1e5,\"y\":1}]",
                    commas[] = "[{\"a\":\"1,5\",\"y\":1},{\"a\":2.5,\"y\":0},"
                               "{\"a\":\"3,25\",\"y\":1}]",
                    comma_csv[] = "a;y\n1,5;1\n2,5;0\n3,25;1\n",
                    long_numbers[] = "[{\"a\":12345678901234567,\"y\":1},{\"a\":7,\"y\":0}]";
  static const reading cases[] = {
      {numbers, NULL, 0, "1e5", "1e5", 100000, NULL, NULL},
      {numbers, NULL, 0, "100000", NULL, 100000, NULL, NULL},
      {numbers, NULL, 0, "100000.0", NULL, 100000, NULL, NULL},
      {words, NULL, 0, "100000", "100000", 0, NULL, NULL},
      {words, NULL, 0, "1e5", NULL, 0, NULL, NULL},
      {words, NULL, 0, "1.0E5", NULL, 0, NULL, NULL},
      {commas, NULL, 0, "2.5", NULL, 2.5, NULL, NULL},
      {commas, NULL, 0, "\"2,5\"", "\"2,5\"", 2.5, NULL, NULL},
      {comma_csv, NULL, 0, "2.5", NULL, 2.5, NULL, NULL},
      {comma_csv, NULL, 0, "\"2.5\"", "2.5", refused, NULL, NULL},
  };
  static const description described[] = {
      {numbers, NULL, EP_COLUMN_NUMBER, 0, 0, NULL},
      {commas, NULL, EP_COLUMN_NUMBER, 0, 0, NULL},
      {long_numbers, NULL, EP_COLUMN_CATEGORY, 2, 0, "more than 15 digits"},
      {"[{\"a\":\"007\",\"y\":1},{\"a\":7,\"y\":0}]", NULL, EP_COLUMN_CATEGORY, 2, 0, "codes"},
  };
  readings_hold(cases, sizeof cases / sizeof *cases);
  descriptions_hold(described, sizeof described / sizeof *described);
}
END_TEST

/* A table of one column, a, and of y, of so many cells: numbers from `first` on, and two others. */
static char *counted(int first, int step, int count, const char *one, const char *other) {
  enum { LINE_BYTES = 24 };
  char *csv = malloc((size_t)(count + 3) * LINE_BYTES), *at = csv;
  at += sprintf(at, "a,y\n");
  for (int i = 0; i < count; i++) at += sprintf(at, "%d,%d\n", first + i * step, i % 2);
  sprintf(at, "%s,1\n%s,0\n", one, other);
  return csv;
}

/* Any cell with a leading zero makes codes. Where there are so many numbers that words would be
 * text, one among many does not, and a note says so. */
START_TEST(codes_are_not_merged) {
  char *zips = counted(10001, 1021, 30, "02134", "2134"), *many = counted(1, 1, 12000, "05", "0"),
       *zero = counted(101, 7, 40, "00", "0"), *hours = counted(10, 1, 14, "00", "09");
  const description cases[] = {
      {zips, NULL, EP_COLUMN_CATEGORY, 32, 0, "codes, compared as text"},
      {many, NULL, EP_COLUMN_NUMBER, 0, 0, "1 number with leading zeros is read by its value"},
      {zero, NULL, EP_COLUMN_NUMBER, 0, 0, "1 number with leading zeros is read by its value"},
      {hours, NULL, EP_COLUMN_CATEGORY, 16, 0, "codes, compared as text"},
      {"a,y\nA1,1\nB2,0\n12.1,1\n12.10,0\nA1,1\n", NULL, EP_COLUMN_CATEGORY, 3, 0,
       "4 spellings of 3 words, equal by value: `12.1` = `12.10`"},
      {"a,y\nYes,1\nyes,0\n,1\nYES,1\nno,0\n", NULL, EP_COLUMN_CATEGORY, 2, 1,
       "4 spellings of 2 words, equal by meaning: `Yes` = `yes` = `YES`"},
  };
  descriptions_hold(cases, sizeof cases / sizeof *cases);
  free(zips);
  free(many);
  free(zero);
  free(hours);
}
END_TEST

/* A word that is a missing cell of one column is none of another. */
START_TEST(few_words_are_missing_in_their_own_column) {
  char low[1024] = "a,b,y\n", *at = low + strlen(low), other[1024];
  for (int i = 0; i < 40; i++)
    at += sprintf(at, i % 20 == 7 ? "low,%d,1\n" : "%d,%d,0\n", i, i + 3);
  strcpy(other, low);
  memcpy(other, "b,a", 3);
  const reading cases[] = {
      {low, NULL, 0, "\"low\"", "low", NAN, NULL, NULL},
      {other, NULL, 0, "\"low\"", "low", refused, "must be a number", NULL},
      {other, NULL, 0, "\"NA\"", "NA", NAN, NULL, NULL},
      {low, NULL, 0, "\"high\"", "high", refused, "must be a number", NULL},
  };
  readings_hold(cases, sizeof cases / sizeof *cases);
  ep_dataset_meta meta;
  upload(low, NULL, &meta);
  ck_assert_ptr_null(strstr(meta.dialect->dialect.missing, "low"));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* What divides thousands says what the decimal mark is not. */
START_TEST(one_mark_that_is_given_settles_the_other) {
  static const char points[] = "a;y\n1.234;1\n2.500;0\n", commas[] = "a;y\n1,234;1\n2,500;0\n";
  static const reading cases[] = {
      {points, "thousands=.", 0, NULL, "1.234", 1234, NULL, NULL},
      {points, "thousands=none", 0, NULL, "1.234", 1.234, NULL, NULL},
      {points, "thousands='", 0, NULL, "1.234", 1.234, NULL, NULL},
      {points, "decimal=,", 0, NULL, "1.234", 1234, NULL, NULL},
      {commas, "thousands=,", 0, NULL, "1,234", 1234, NULL, NULL},
      {commas, "thousands=none", 0, NULL, "1,234", 1.234, NULL, NULL},
  };
  readings_hold(cases, sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(marks_differ) {
  static const struct {
    const char *query, *said; /* NULL: they do */
  } cases[] = {
      {"decimal=,&thousands=,", "?decimal= and ?thousands= are both `,`: use two different marks"},
      {"decimal=.&thousands=point", "?decimal= and ?thousands= are both `.`"},
      {"delimiter=;&comment=;", "?delimiter= and ?comment= are both `;`"},
      {"delimiter='&quote='", "?delimiter= and ?quote= are both `'`"},
      {"comment='&quote='", "?quote= and ?comment= are both `'`"},
      {"delimiter=comma&decimal=,&quote=none", "which no cell can contain with ?quote=none"},
      {"delimiter=comma&decimal=,", NULL},
      {"delimiter=comma&thousands=,&decimal=.", NULL},
      {"thousands=none&comment=none&quote=none", NULL},
      {"decimal=.", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const ep_dialect dialect = dialect_of(cases[i].query);
    ep_error error = {0};
    ck_assert_msg((ep_dialect_check(&dialect, &error) == EP_OK) == !cases[i].said, "%s",
                  cases[i].query);
    ck_assert_msg(!cases[i].said || strstr(error.message, cases[i].said), "%s", error.message);
  }
  ep_dialect own = dialect_of("decimal=,&thousands=."), other = dialect_of("decimal=.");
  ep_dialect_override(&own, &other);
  ck_assert(own.decimal == '.' && own.thousands == 0);
  other = dialect_of("thousands=.");
  ep_dialect_override(&own, &other);
  ck_assert(own.decimal == ',' && own.thousands == '.');
}
END_TEST

/* White space around a cell is no part of it, whatever its character. */
START_TEST(white_space_of_unicode_is_trimmed) {
  static const char numbers[] = "a,y\n5\u00a0,1\n\u20037,0\n6\u3000,1\n",
                    words[] = "a,y\nx\u00a0,1\nx,0\nNA\u00a0,1\nz,1\n,0\n";
  static const reading cases[] = {
      {numbers, NULL, 0, "\"5\u00a0\"", "5\u00a0", 5, NULL, NULL},
      {numbers, NULL, 0, "\"\u00a0NA\"", "\u00a0NA", refused, "stands for a missing cell", NULL},
      {words, NULL, 0, "\"\u2003x\"", "\u2003x", 0, NULL, NULL},
  };
  static const description described[] = {
      {numbers, NULL, EP_COLUMN_NUMBER, 0, 0, NULL},
      {words, NULL, EP_COLUMN_CATEGORY, 2, 2, "1 × `NA` taken as missing"},
  };
  readings_hold(cases, sizeof cases / sizeof *cases);
  descriptions_hold(described, sizeof described / sizeof *described);
}
END_TEST

/* A class is not taken for a missing cell. */
START_TEST(classes_are_not_missing) {
  char crew[1024] = "a,y\n", few[1024] = "a,y\n", *at = crew + 4, *to = few + 4;
  for (int i = 0; i < 60; i++) {
    at += sprintf(at, i % 6 == 0 ? "crew,0\n" : "%d,1\n", i % 3 + 1);
    to += sprintf(to, i % 6 == 0 ? "crew,0\n" : "%d,1\n", i * 7 % 50);
  }
  const description cases[] = {
      {"a,y\nNone,1\nBrick,0\nNone,1\n,0\nStone,1\nBrick,0\n", NULL, EP_COLUMN_CATEGORY, 3, 1,
       "2 × `None` taken as a word"},
      {"a,y\n++,1\n--,0\n++,1\n+,0\n-,1\n", NULL, EP_COLUMN_CATEGORY, 4, 0,
       "1 × `--` taken as a word"},
      {"a,y\nx,1\n--,0\nz,1\nx,0\nz,1\nx,1\n", NULL, EP_COLUMN_CATEGORY, 2, 1,
       "1 × `--` taken as missing"},
      {crew, NULL, EP_COLUMN_CATEGORY, 4, 0, "words: 50 of 60 cells are numbers"},
      {few, NULL, EP_COLUMN_NUMBER, 0, 10, "10 other cells taken as missing: 10 × `crew`"},
  };
  descriptions_hold(cases, sizeof cases / sizeof *cases);
}
END_TEST

EP_SUITE("reading") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, words_that_are_listed_are_missing);
  tcase_add_test(all, listed_numbers_are_missing_in_the_table);
  tcase_add_test(all, a_part_has_no_missing_cells);
  tcase_add_test(all, dates_are_read_as_their_column_was);
  tcase_add_test(all, an_order_that_is_given_is_contradicted);
  tcase_add_test(all, classes_are_not_merged_as_booleans);
  tcase_add_test(all, numbers_of_json_are_numbers);
  tcase_add_test(all, codes_are_not_merged);
  tcase_add_test(all, few_words_are_missing_in_their_own_column);
  tcase_add_test(all, one_mark_that_is_given_settles_the_other);
  tcase_add_test(all, marks_differ);
  tcase_add_test(all, white_space_of_unicode_is_trimmed);
  tcase_add_test(all, classes_are_not_missing);
}
