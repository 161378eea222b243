/* Tables of any cells: words, dates, gaps. */
#include <jansson.h>
#include <math.h>

#include "api/json/problem.h"
#include "api/spec/job_spec.h"
#include "engine/data/datasets/meta.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* Appends to a text that the caller frees. */
typedef struct {
  char *bytes;
  size_t used, capacity;
} text;

static void __attribute__((format(printf, 2, 3))) text_add(text *out, const char *format, ...) {
  if (out->capacity - out->used < 1024) {
    out->capacity = 2 * out->capacity + 4096;
    out->bytes = realloc(out->bytes, out->capacity);
  }
  va_list arguments;
  va_start(arguments, format);
  out->used += (size_t)vsnprintf(out->bytes + out->used, 1024, format, arguments);
  va_end(arguments);
}

static ep_part *ingested(const char *bytes, size_t count, const ep_ingest_options *options,
                         ep_dataset_meta *meta) {
  ep_error error;
  ck_assert_msg(scratch_ingest(bytes, count, options, meta, &error) == EP_OK, "%s", error.message);
  return &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
}

/* One column in short: "name:type missing/distinct min..max word=rows,…". */
static void column_describe(const ep_column *column, text *out) {
  text_add(out, "%s:%s%s %lld/%lld %.10g..%.10g", column->name, column->unit[0] ? column->unit : "",
           ep_column_type_name(column->type), (long long)column->missing,
           (long long)column->distinct, column->min, column->max);
  for (int64_t i = 0; i < column->words.count; i++)
    text_add(out, "%s%s=%lld", i ? "," : " ", column->words.word[i],
             (long long)column->words.rows[i]);
}

static void values_describe(const ep_part *part, text *out) {
  ep_table table;
  scratch_part("train.table", &table);
  for (int64_t row = 0; row < part->rows; row++)
    for (int64_t column = 0; column < part->columns; column++)
      text_add(out, "%s%.10g", column ? " " : "\n", ep_table_value(&table, row, column));
  ep_table_close(&table);
}

/* What is read is described, stored and read back like this. */
static const struct {
  const char *text, *wanted;
  ep_ingest_options options;
} tables[] = {
    /* words by count, then by bytes; a missing cell of each type */
    {"a,b\n1,x\n2,y\n3,y\n,\n",
     "a:number 1/3 1..3|b:category 1/2 0..1 y=2,x=1\n1 1\n2 0\n3 0\nnan nan",
     {0}},
    {"a,b\n1,é\n2,e\n3,f\n4,E\n",
     "a:number 0/4 1..4|b:category 0/4 0..3 E=1,e=1,f=1,é=1\n1 3\n2 1\n3 2\n4 0",
     {0}},
    /* words of missing cells; nothing there at all */
    {"a,b\n1,NA\nNaN,nan\n3,?\n#N/A,-\n",
     "a:number 2/2 1..3|b:number 4/0 0..0\n1 nan\nnan nan\n3 nan\nnan nan",
     {0}},
    /* quotes, within which spaces, delimiters, quotes and lines are a word's */
    {"n,s\n1,\"b, \"\"c\"\"\"\n2,\" b \"\n3,b\n4,\"x\ny\"\n5,\"\"\n",
     "n:number 0/5 1..5|s:category 1/3 0..2 b=2,b, \"c\"=1,x\ny=1\n1 1\n2 0\n3 0\n4 2\n5 nan",
     {0}},
    /* with a backslash before quotes, as R and Spark write them; a path is not one of these */
    {"n,s\n1,\"the \\\"b\\\", c\"\n2,b\n3,\"\\\\\"\n",
     "n:number 0/3 1..3|s:category 0/3 0..2 \\=1,b=1,the \"b\", c=1\n1 2\n2 1\n3 0",
     {0}},
    {"\"n\" \"s\"\n1 \"\\\"b\\\"\"\n2 \"b\"\n",
     "n:number 0/2 1..2|s:category 0/2 0..1 \"b\"=1,b=1\n1 0\n2 1",
     {0}},
    {"n,s\n1,\"C:\\\"\n2,\"C:\\d\"\n3,\"C:\\\"\n",
     "n:number 0/3 1..3|s:category 0/2 0..1 C:\\=2,C:\\d=1\n1 0\n2 1\n3 0",
     {0}},
    {"n,s\n1,\"\\\"\"x\"\n2,\"y\"\n",
     "n:number 0/2 1..2|s:category 0/2 0..1 \\\"x=1,y=1\n1 0\n2 1",
     {0}},
    /* booleans are words; 0 and 1 are numbers */
    {"a,b,c,d\nyes,true,t,0\nno,false,f,1\nyes,true,t,1\n",
     "a:category 0/2 0..1 yes=2,no=1|b:category 0/2 0..1 true=2,false=1|c:category 0/2 0..1 "
     "t=2,f=1|d:number 0/2 0..1\n0 0 0 0\n1 1 1 1\n0 0 0 1",
     {0}},
    /* dates and times; of days first and months first, that which all cells can be */
    {"i,t,d,m\n2024-02-29,12:30,29/2/2024,2/29/2024\n2024-02-29T12:30:00Z,0:00:01,1/3/2024,3/1/"
     "2024\n,,,\n",
     "i:date 1/2 1709164800..1709209800|t:date 1/2 1..45000|d:date 1/2 1709164800..1709251200|"
     "m:date 1/2 1709164800..1709251200\n"
     "1709164800 45000 1709164800 1709164800\n1709209800 1 1709251200 1709251200\nnan nan nan nan",
     {0}},
    {"d,x\n1/2/2024,1\n3/4/2024,2\n",
     "d:date 0/2 1704153600..1709510400|x:number 0/2 1..2\n1704153600 1\n1709510400 2",
     {0}},
    /* durations are numbers, times of day are dates */
    {"a,b\n0 days 10:11:12,10:11:12\n-1 days +23:59:59,0:00:00\n2 days,1:00:00\n",
     "a:number 0/3 -1..172800|b:date 0/3 0..36672\n36672 36672\n-1 0\n172800 3600",
     {0}},
    /* numbers with separators */
    {"a;b\n1,5;x\n1.234,25;x\n3;x\n",
     "a:number 0/3 1.5..1234.25|b:category 0/1 0..0 x=3\n1.5 0\n1234.25 0\n3 0",
     {0}},
    {"a,b\n\"1,234\",2\n\"12,345.5\",3\n7,4\n",
     "a:number 0/3 7..12345.5|b:number 0/3 2..4\n1234 2\n12345.5 3\n7 4",
     {0}},
    {"a,b\n\"1,5\",2\n\"2,5\",3\n", "a:number 0/2 1.5..2.5|b:number 0/2 2..3\n1.5 2\n2.5 3", {0}},
    /* numbers with a sign, where all have it, and a cell shows what its marks mean */
    {"a,b\n$10,12 %\n\"$1,234.50\",7.5%\n-$3,0 %\n",
     "a:$number 0/3 -3..1234.5|b:%number 0/3 0..12\n10 12\n1234.5 7.5\n-3 0",
     {0}},
    {"a;b\n10 €;1.234\n1.234,5 €;12.345,5\n;7\n",
     "a:€number 1/2 10..1234.5|b:number 0/3 7..12345.5\n10 1234\n1234.5 12345.5\nnan 7",
     {0}},
    /* numbers among words are words */
    {"a,b\n1,1\n2,2\nB7,3\n1,4\n",
     "a:category 0/3 0..2 1=2,2=1,B7=1|b:number 0/4 1..4\n0 1\n1 2\n2 3\n0 4",
     {0}},
    {"inf,1\nx,2\n",
     ":category 0/2 0..1 inf=1,x=1|:number 0/2 1..2\n0 1\n1 2",
     {.dialect = {.set = 1u << EP_DIALECT_HEADER, .header = false}}},
    {"a\tb\r\nx y\t1\r\n\t2\r\n", "a:category 1/1 0..0 x y=1|b:number 0/2 1..2\n0 1\nnan 2", {0}},
    {"a,b\nx,1\n\n\n", "a:category 0/1 0..0 x=1|b:number 0/1 1..1\n0 1", {0}},
};

START_TEST(tables_are_described_and_stored) {
  ep_dataset_meta meta, again;
  ep_error error;
  text found = {0};
  const ep_part *part =
      ingested(tables[_i].text, strlen(tables[_i].text), &tables[_i].options, &meta);
  for (int64_t i = 0; i < part->columns; i++) {
    if (i > 0) text_add(&found, "|");
    column_describe(&part->column[i], &found);
  }
  values_describe(part, &found);
  ck_assert_str_eq(found.bytes, tables[_i].wanted);
  ck_assert_msg(ep_dataset_meta_read(scratch_folder, &again, &error) == EP_OK, "%s", error.message);
  text second = {0};
  for (int64_t i = 0; i < part->columns; i++) {
    if (i > 0) text_add(&second, "|");
    column_describe(&again.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].column[i], &second);
  }
  ck_assert_int_eq(strncmp(found.bytes, second.bytes, second.used), 0);
  ep_dataset_meta_deinit(&meta);
  ep_dataset_meta_deinit(&again);
  free(found.bytes);
  free(second.bytes);
}
END_TEST

static void column_expect(const ep_column *column, const char *wanted) {
  text found = {0};
  column_describe(column, &found);
  ck_assert_str_eq(found.bytes, wanted);
  free(found.bytes);
}

/* As the passengers of the Titanic: names with commas and quotes, ages and cabins that are not
 * known, tickets of which some are shared. */
START_TEST(a_table_of_passengers) {
  enum { ROWS = 400 };
  ep_dataset_meta meta;
  text csv = {0};
  text_add(&csv, "PassengerId,Survived,Name,Sex,Age,Ticket,Fare,Cabin,Embarked,Born\n");
  for (int i = 0; i < ROWS; i++) {
    text_add(&csv, "%d,%d,\"Braund, Mr. \"\"No. %d\"\" Harris\",%s,", i + 1, i % 3 == 0, i,
             i % 8 < 5 ? "male" : "female");
    if (i % 5 != 0) text_add(&csv, "%.1f", 20 + i % 40 * 0.5);
    text_add(&csv, ",A/5 %d,%.4f,%s,%s,%d-%02d-01\n", i / 2, 7.25 + i % 100, i % 4 ? "" : "C85",
             i == 7       ? ""
             : i % 10 < 7 ? "S"
             : i % 10 < 9 ? "C"
                          : "Q",
             1880 + i % 30, 1 + i % 12);
  }
  const ep_part *part = ingested(csv.bytes, csv.used, NULL, &meta);
  ck_assert_int_eq(part->rows, ROWS);
  ck_assert(meta.faults == 0 && !part->one_hot);
  column_expect(&part->column[0], "PassengerId:number 0/400 1..400");
  column_expect(&part->column[1], "Survived:number 0/2 0..1");
  column_expect(&part->column[2], "Name:text 0/400 0..0");
  column_expect(&part->column[3], "Sex:category 0/2 0..1 male=250,female=150");
  column_expect(&part->column[4], "Age:number 80/32 20.5..39.5");
  ck_assert_int_eq(part->column[5].type, EP_COLUMN_CATEGORY);
  ck_assert_int_eq(part->column[5].words.count, ROWS / 2);
  column_expect(&part->column[6], "Fare:number 0/100 7.25..106.25");
  column_expect(&part->column[7], "Cabin:category 300/1 0..0 C85=100");
  column_expect(&part->column[8], "Embarked:category 1/3 0..2 S=280,C=79,Q=40");
  column_expect(&part->column[9], "Born:date 0/60 -2840140800..-1896134400");
  ep_dataset_meta_deinit(&meta);
  free(csv.bytes);
}
END_TEST

/* As a shop in Europe exports its orders: semicolons, decimal commas, days first. */
START_TEST(a_table_of_orders) {
  enum { ROWS = 120 };
  ep_dataset_meta meta;
  text csv = {0};
  text_add(&csv, "\xEF\xBB\xBFnumber;ordered;at;total;paid;comment\r\n");
  for (int i = 0; i < ROWS; i++)
    text_add(&csv, "%d;%02d.%02d.2023;%d:%02d;%d.%03d,%02d;%s;\"%s; %d\"\r\n", i, 1 + i % 28,
             1 + i % 12, i % 24, i % 60, 1 + i % 9, i, i % 100, i % 3 ? "ja" : "nein",
             i % 2 ? "bitte, \"\"schnell\"\"" : "größer", i);
  const ep_part *part = ingested(csv.bytes, csv.used, NULL, &meta);
  ck_assert(part->rows == ROWS && meta.faults == 0);
  column_expect(&part->column[0], "number:number 0/120 0..119");
  column_expect(&part->column[1], "ordered:date 0/84 1672531200..1703721600");
  column_expect(&part->column[2], "at:date 0/120 0..86340");
  column_expect(&part->column[3], "total:number 0/120 1000..9116.16");
  column_expect(&part->column[4], "paid:category 0/2 0..1 ja=80,nein=40");
  column_expect(&part->column[5], "comment:text 0/120 0..0");
  ep_dataset_meta_deinit(&meta);
  free(csv.bytes);
}
END_TEST

/* As the census data that many begin with: no header, spaces behind the commas, ? for what is not
 * known. */
START_TEST(a_table_of_incomes) {
  enum { ROWS = 300 };
  static const char *const classes[] = {"Private", "Private", "?", "State-gov", "Self-emp-not-inc"};
  ep_dataset_meta meta;
  text csv = {0};
  for (int i = 0; i < ROWS; i++)
    text_add(&csv, "%d, %s, %d, %s, %s\n", 17 + i % 60, classes[i % 5], 77516 + i * 991,
             i % 2 ? "Husband" : "Not-in-family", i % 4 ? "<=50K" : ">50K");
  text_add(&csv, "\n");
  const ep_part *part = ingested(csv.bytes, csv.used, NULL, &meta);
  ck_assert(part->rows == ROWS && meta.faults == 0);
  column_expect(&part->column[0], ":number 0/60 17..76");
  column_expect(&part->column[1],
                ":category 60/3 0..2 Private=120,Self-emp-not-inc=60,State-gov=60");
  column_expect(&part->column[2], ":number 0/300 77516..373825");
  column_expect(&part->column[3], ":category 0/2 0..1 Husband=150,Not-in-family=150");
  column_expect(&part->column[4], ":category 0/2 0..1 <=50K=225,>50K=75");
  ep_dataset_meta_deinit(&meta);
  free(csv.bytes);
}
END_TEST

/* What a first line says of itself and of the last column. */
START_TEST(a_line_of_counts_is_told) {
  static const struct {
    const char *text, *note, *last;
  } files[] = {
      {"3,2,no,yes\n1,2,0\n3,4,1\n5,6,1\n",
       "the first line is not a header but scikit-learn's: there are 3 rows, and it names the "
       "classes "
       "of the last column",
       ":category 0/2 0..1 yes=2,no=1"},
      {"2,1,,\n\"a\",\"b\"\n1,2\n3,4\n",
       "the first line is not a header but scikit-learn's: there are 2 rows", "b:number 0/2 2..4"},
      {"4,2,no,yes\n1,2,0,1\n3,4,1,0\n", "", "yes:number 0/2 0..1"}, /* other rows */
      {"2,3,no,yes\n1,2,0,2\n3,4,1,0\n", "", "yes:number 0/2 0..2"}, /* another class */
      {"a,b\n\"x\",1.5,2\n\"y\",3,4\n",
       "the rows have a cell more than the header: column 1 is read as the names of the rows, and "
       "the header names the columns from column 2 on; ?row_names=false refuses it",
       "b:number 0/2 2..4"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    ep_dataset_meta meta, again;
    ep_error error;
    const ep_part *part = ingested(files[i].text, strlen(files[i].text), NULL, &meta);
    column_expect(&part->column[part->columns - 1], files[i].last);
    ck_assert_str_eq(meta.notes.text, files[i].note);
    ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &again, &error), EP_OK);
    ck_assert_str_eq(again.notes.text, files[i].note);
    ep_dataset_meta_deinit(&again);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* `odd` of ROWS cells of a column are `word`; all others are numbers, or dates. */
static ep_part *odd_ingest(int rows, int odd, const char *before, const char *word,
                           ep_dataset_meta *meta) {
  text csv = {0};
  text_add(&csv, "a,b\n");
  for (int i = 0; i < rows; i++) {
    text_add(&csv, "%d,", i);
    if (i < odd)
      text_add(&csv, "%s", word);
    else
      text_add(&csv, before[0] ? "%s%02d" : "%s%d", before, i % 20 + 1);
    text_add(&csv, "\n");
  }
  ep_part *part = ingested(csv.bytes, csv.used, NULL, meta);
  free(csv.bytes);
  return part;
}

START_TEST(a_few_odd_cells_are_missing_and_are_told) {
  static const struct {
    const char *before;
    ep_column_type type;
  } columns[] = {{"", EP_COLUMN_NUMBER}, {"2024-01-", EP_COLUMN_DATE}};
  for (size_t i = 0; i < 2; i++) {
    ep_dataset_meta meta, again;
    ep_error error;
    const ep_part *part = odd_ingest(2000, 19, columns[i].before, "<5", &meta);
    ck_assert_int_eq(part->column[1].type, columns[i].type);
    ck_assert_int_eq(part->column[1].missing, 19);
    ck_assert_int_eq(meta.faults, 19);
    ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &again, &error), EP_OK);
    ck_assert_int_eq(again.faults, 19);
    const ep_cell_fault *last = &again.fault[EP_LIMIT_PROBLEM_ERRORS - 1];
    ck_assert(last->row == EP_LIMIT_PROBLEM_ERRORS + 1 && last->column == 2);
    ck_assert_str_eq(last->text, "<5");
    ep_dataset_meta_deinit(&again);
    ep_dataset_meta_deinit(&meta);
    part = odd_ingest(2000, 200, columns[i].before, "<5", &meta); /* one word */
    ck_assert_int_eq(part->column[1].type, columns[i].type);
    ck_assert_int_eq(part->column[1].missing, 200);
    ck_assert_ptr_nonnull(
        strstr(part->column[1].note, "200 other cells taken as missing: 200 × `<5`"));
    ep_dataset_meta_deinit(&meta);
    part = odd_ingest(2000, 500, columns[i].before, "<5", &meta); /* a fourth is too much */
    ck_assert_int_eq(part->column[1].type, EP_COLUMN_CATEGORY);
    ck_assert_int_eq(part->column[1].words.count, 21);
    ck_assert_int_eq(meta.faults, 0);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* rows of a number and a word; words: how many there are; bytes: of each, at least. */
static ep_part *words_ingest(int64_t rows, int64_t words, int bytes, ep_dataset_meta *meta) {
  text csv = {0};
  text_add(&csv, "a,b\n");
  for (int64_t i = 0; i < rows; i++)
    text_add(&csv, "%lld,w%0*lld\n", (long long)i, bytes, (long long)(i % words));
  ep_part *part = ingested(csv.bytes, csv.used, NULL, meta);
  free(csv.bytes);
  return part;
}

START_TEST(words_are_text_beyond_the_limits) {
  static const struct {
    int64_t rows, words;
    int bytes;
    ep_column_type type;
    int64_t distinct;
  } cases[] = {
      {EP_LIMIT_IDENTIFIER_ROWS, EP_LIMIT_IDENTIFIER_ROWS, 1, EP_COLUMN_CATEGORY, 50},
      {EP_LIMIT_IDENTIFIER_ROWS + 1, EP_LIMIT_IDENTIFIER_ROWS + 1, 1, EP_COLUMN_TEXT, 51},
      {EP_LIMIT_IDENTIFIER_ROWS + 1, EP_LIMIT_IDENTIFIER_ROWS, 1, EP_COLUMN_CATEGORY, 50},
      {10, 5, EP_LIMIT_WORD_BYTES - 1, EP_COLUMN_CATEGORY, 5},
      {10, 5, EP_LIMIT_WORD_BYTES, EP_COLUMN_TEXT, 5},
      {EP_LIMIT_CATEGORIES + 1, EP_LIMIT_CATEGORIES, 1, EP_COLUMN_CATEGORY, EP_LIMIT_CATEGORIES},
      {EP_LIMIT_CATEGORIES + 2, EP_LIMIT_CATEGORIES + 1, 1, EP_COLUMN_TEXT, EP_LIMIT_CATEGORIES},
      {1000000, 1000000, 6, EP_COLUMN_TEXT, EP_LIMIT_CATEGORIES},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_dataset_meta meta;
    const ep_part *part = words_ingest(cases[i].rows, cases[i].words, cases[i].bytes, &meta);
    ck_assert_msg(part->column[1].type == cases[i].type, "%zu", i);
    ck_assert_int_eq(part->column[1].distinct, cases[i].distinct);
    ck_assert_int_eq(part->column[1].words.count,
                     cases[i].type == EP_COLUMN_TEXT ? 0 : cases[i].distinct);
    ck_assert_int_eq(part->column[0].distinct,
                     cases[i].rows < EP_LIMIT_CATEGORIES ? cases[i].rows : EP_LIMIT_CATEGORIES);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

/* 40 columns of 3000 words of 250 bytes are 40 MB: the largest become text, the others stay. */
START_TEST(the_words_of_all_columns_have_a_ceiling) {
  enum { COLUMNS = 40, WORDS = 4000 };
  ep_dataset_meta meta;
  text csv = {0};
  size_t words_bytes = 0;
  int64_t categories = 0;
  for (int i = 0; i < COLUMNS; i++) text_add(&csv, "%sc%d", i ? "," : "", i);
  text_add(&csv, ",sex\n");
  for (int row = 0; row < WORDS + 1; row++) {
    for (int i = 0; i < COLUMNS; i++) text_add(&csv, "w%0250d,", row % WORDS);
    text_add(&csv, "%s\n", row % 2 ? "m" : "f");
  }
  const ep_part *part = ingested(csv.bytes, csv.used, NULL, &meta);
  for (int64_t i = 0; i < part->columns; i++) {
    categories += part->column[i].type == EP_COLUMN_CATEGORY;
    for (int64_t j = 0; j < part->column[i].words.count; j++)
      words_bytes += strlen(part->column[i].words.word[j]);
  }
  ck_assert(categories > COLUMNS / 2 && categories < COLUMNS);
  ck_assert_uint_le(words_bytes, EP_LIMIT_WORDS_BYTES);
  column_expect(&part->column[COLUMNS], "sex:category 0/2 0..1 f=2001,m=2000");
  ep_dataset_meta_deinit(&meta);
  free(csv.bytes);
}
END_TEST

/* A cell that is no number in the last row changes nothing before it. */
START_TEST(numbers_are_stored_alike_on_both_ways) {
  enum { ROWS = 20011 };
  ep_dataset_meta meta;
  size_t plain_bytes, typed_bytes;
  char path[256];
  text csv = {0};
  uint64_t state = 11;
  for (int i = 0; i < ROWS; i++)
    text_add(&csv, "%.17g,%d,%.3e\n", (double)(int64_t)scratch_random(&state) * 0x1p-40, i % 5,
             (double)(i * 7 % 1000));
  const ep_part *part = ingested(csv.bytes, csv.used, NULL, &meta);
  ck_assert(part->column[1].distinct == 5 && part->column[2].distinct == 1000);
  ck_assert(part->column[0].missing == 0 && part->column[0].distinct == EP_LIMIT_CATEGORIES);
  ck_assert(part->column[1].type == EP_COLUMN_NUMBER && part->column[1].integer);
  ep_column plain[3];
  memcpy(plain, part->column, sizeof plain);
  ep_dataset_meta_deinit(&meta);
  snprintf(path, sizeof path, "%s/train.table.npy", scratch_folder);
  char *first = scratch_read(path, &plain_bytes);
  text_add(&csv, ",,NA\n");
  part = ingested(csv.bytes, csv.used, NULL, &meta);
  char *second = scratch_read(path, &typed_bytes);
  ck_assert_uint_eq(typed_bytes, plain_bytes + 3 * sizeof(double));
  ck_assert_int_eq(memcmp(first + 128, second + 128, plain_bytes - 128), 0);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(part->column[i].missing, 1);
    ck_assert(part->column[i].min == plain[i].min && part->column[i].max == plain[i].max);
    ck_assert(part->column[i].integer == plain[i].integer);
    ck_assert_int_eq(part->column[i].distinct, plain[i].distinct);
  }
  ep_dataset_meta_deinit(&meta);
  free(first);
  free(second);
  free(csv.bytes);
}
END_TEST

/* What the first, fast reading wrote counts no more. */
START_TEST(the_budget_is_that_of_one_part) {
  static const char csv[] = "a,b\n1,2\n3,x\n";
  ep_dataset_meta meta;
  ep_error error;
  int64_t bytes = 128 + 4 * (int64_t)sizeof(double);
  ck_assert_int_eq(scratch_ingest_within(csv, strlen(csv), NULL, bytes, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  ck_assert_int_eq(scratch_ingest_within(csv, strlen(csv), NULL, bytes - 1, &meta, &error),
                   EP_TOO_LARGE);
}
END_TEST

START_TEST(a_response_shows_the_commonest_words) {
  ep_dataset_meta meta;
  json_int_t missing, distinct, count;
  const char *type, *word;
  words_ingest(63, 30, 1, &meta);
  char *response = ep_dataset_meta_format(&meta, "x", "", 0, false);
  json_t *root = json_loads(response, 0, NULL);
  json_t *column = json_array_get(json_object_get(root, "columns"), 1);
  json_t *categories = json_object_get(column, "categories");
  ck_assert_int_eq(json_unpack(column, "{s:s, s:I, s:I, s:[{s:s, s:I}]}", "type", &type, "missing",
                               &missing, "distinct", &distinct, "categories", "value", &word,
                               "count", &count),
                   0);
  ck_assert_str_eq(type, "category");
  ck_assert_str_eq(word, "w0");
  ck_assert(missing == 0 && distinct == 30 && count == 3);
  ck_assert_uint_eq(json_array_size(categories), EP_LIMIT_SHOWN_WORDS);
  ck_assert_ptr_null(json_object_get(root, "faults"));
  json_decref(root);
  free(response);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(a_response_of_many_columns_is_bounded) {
  enum { COLUMNS = 4096 };
  ep_dataset_meta meta;
  text csv = {0};
  for (int row = 0; row < 3; row++)
    for (int i = 0; i < COLUMNS; i++)
      text_add(&csv, "%0200d%c%c", i, 'a' + row, i + 1 < COLUMNS ? ',' : '\n');
  ingested(csv.bytes, csv.used,
           &(ep_ingest_options){.dialect = {.set = 1u << EP_DIALECT_HEADER, .header = false}},
           &meta);
  char *response = ep_dataset_meta_format(&meta, "x", "", 0, false);
  ck_assert_uint_lt(strlen(response), EP_LIMIT_SHOWN_WORDS_BYTES + COLUMNS * 128);
  free(response);
  ep_dataset_meta_deinit(&meta);
  free(csv.bytes);
}
END_TEST

/* A description from before there were types. */
START_TEST(a_description_from_before_is_of_numbers) {
  static const char old[] =
      "{\"format\":\"csv\",\"sha256\":"
      "\"96bbd5de61f36b0e10c5771d180998d066192e8986aa34a8cb7c453f6295"
      "9274\",\"bytes\":8,\"parts\":{\"train\":{\"table\":{\"rows\":2,\"columns\":1,\"dtype\":"
      "\"f8\",\"column\":[{\"min\":1.0,\"max\":3.0,\"integer\":true}]}}}}";
  ep_dataset_meta meta;
  ep_error error;
  scratch_write("meta.json", old, strlen(old));
  ck_assert_msg(ep_dataset_meta_read(scratch_root, &meta, &error) == EP_OK, "%s", error.message);
  column_expect(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].column, ":number 0/0 1..3");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(damaged_columns_are_refused) {
  static const char *const columns[] = {
      "\"type\":\"word\"",
      "\"type\":\"category\"",
      "\"type\":\"category\",\"words\":[]",
      "\"type\":\"category\",\"words\":[[\"a\",0]]",
      "\"type\":\"category\",\"words\":[[\"a\",1],[1,1]]",
      "\"words\":[[\"a\",1]]",
      "\"missing\":-1",
      "\"distinct\":-1",
      "\"unit\":\"kg\"",
  };
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    ep_dataset_meta meta;
    ep_error error;
    char bytes[512];
    int count = snprintf(
        bytes, sizeof bytes,
        "{\"format\":\"csv\",\"sha256\":\"%064d\",\"bytes\":8,\"parts\":{\"train\":{\"table\":{"
        "\"rows\":2,\"columns\":1,\"dtype\":\"f8\",\"column\":[{\"min\":1,\"max\":3,\"integer\":"
        "true,%s}]}}}}",
        0, columns[i]);
    scratch_write("meta.json", bytes, (size_t)count);
    ck_assert_msg(ep_dataset_meta_read(scratch_root, &meta, &error) == EP_DAMAGED, "%s",
                  columns[i]);
  }
}
END_TEST

EP_SUITE("csv_typed") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_loop_test(all, tables_are_described_and_stored, 0, sizeof tables / sizeof *tables);
  tcase_add_test(all, a_table_of_passengers);
  tcase_add_test(all, a_table_of_orders);
  tcase_add_test(all, a_table_of_incomes);
  tcase_add_test(all, a_line_of_counts_is_told);
  tcase_add_test(all, a_few_odd_cells_are_missing_and_are_told);
  tcase_add_test(all, words_are_text_beyond_the_limits);
  tcase_add_test(all, the_words_of_all_columns_have_a_ceiling);
  tcase_add_test(all, numbers_are_stored_alike_on_both_ways);
  tcase_add_test(all, the_budget_is_that_of_one_part);
  tcase_add_test(all, a_response_shows_the_commonest_words);
  tcase_add_test(all, a_response_of_many_columns_is_bounded);
  tcase_add_test(all, a_description_from_before_is_of_numbers);
  tcase_add_test(all, damaged_columns_are_refused);
  tcase_set_timeout(all, 60);
}
