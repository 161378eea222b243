/* How a text is written, by its rows: the names, types and cells that come out, and what is said of
 * it; or the refusal, which has the option. */
#include "engine/data/datasets/meta.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

enum { SHOWN_BYTES = 512 };

/* "name:type,…|rows|cells of the first row" */
static void shown_make(const ep_part *part, char out[SHOWN_BYTES]) {
  ep_table table;
  size_t used = 0;
  scratch_part("train.table", &table);
  for (int64_t i = 0; i < part->columns; i++)
    used += (size_t)snprintf(out + used, SHOWN_BYTES - used, "%s%s:%c", i ? "," : "",
                             part->column[i].name, ep_column_type_name(part->column[i].type)[0]);
  used += (size_t)snprintf(out + used, SHOWN_BYTES - used, "|%lld|", (long long)part->rows);
  for (int64_t i = 0; i < part->columns; i++)
    used += (size_t)snprintf(out + used, SHOWN_BYTES - used, "%s%.10g", i ? " " : "",
                             ep_table_value(&table, 0, i));
  ep_table_close(&table);
}

/* Sets the keys of "decimal=,&header=true". */
static void options_set(ep_ingest_options *options, const char *query) {
  char text[128], *rest = NULL;
  ep_error error = {0};
  snprintf(text, sizeof text, "%s", query ? query : "");
  for (char *key = strtok_r(text, "&", &rest); key; key = strtok_r(NULL, "&", &rest)) {
    char *value = strchr(key, '=');
    *value++ = 0;
    for (ep_dialect_key at = 0; at < EP_DIALECT_KEYS; at++)
      if (strcmp(ep_dialect_key_name(at), key) == 0)
        ck_assert_msg(ep_dialect_set(&options->dialect, at, value, &error) == EP_OK, "%s",
                      error.message);
  }
}

#define DAYS                                                                          \
  "2024-03-02,6\n2024-03-03,7\n2024-03-04,1\n2024-03-05,2\n2024-03-06,5\n2024-03-07," \
  "9\n2024-03-08,3\n2024-03-09,8\n"

static const struct {
  const char *text;
  const char *wanted; /* NULL: refused */
  const char *said;   /* part of a note, or of the refusal; NULL: there is no note */
  const char *query;
} texts[] = {
    /* a cell more than the header has names: a delimiter at the end, names of rows, or neither */
    {"day,wind,power\n2024-03-01,4,11,\n2024-03-02,6,17,\n",
     "day:d,wind:n,power:n|2|1709251200 4 11", "each row ends in a delimiter", NULL},
    {"day,wind,power\nNA,4,11,\n2024-03-02,6,17,\n2024-03-03,6,17,\n",
     "day:d,wind:n,power:n|3|nan 4 11", "each row ends in a delimiter", NULL},
    {"day,wind\n2024-03-01,4,,\n2024-03-02,6,,\n", "day:d,wind:n|2|1709251200 4",
     "ends in 2 delimiters", NULL},
    {"id;wind\n\"A1\";4;\n\"A2\";6;\n", "id:c,wind:n|2|0 4", "each row ends in a delimiter", NULL},
    {"at|wind\n06:15|4|\n06:30|NA|\n", "at:d,wind:n|2|22500 4", "each row ends in a delimiter",
     NULL},
    {"fig,pear\nfig,2,5\nplum,3,5\nfig,1,0\n", NULL, "?row_names=true", NULL},
    {"town,people\nBergen,1,204\nHamar,2,117\n", NULL, "an unquoted comma", NULL},
    {"town,people\nBergen,1,204\nHamar,97\nMoss,80\n", NULL,
     "cells that hold a delimiter need quotes", NULL},
    {"hour,mm\n06:00,1,5\n07:00,0,5\n", NULL, "?row_names=true", NULL},
    {"fee,mm\n$5,1,5\n$7,0,5\n", NULL, "?row_names=true", NULL},
    {"id,mm\n\"A1\",1,5\n\"A2\",0,5\n", NULL, "?row_names=true", NULL},
    {"id,mm\nNA,1,5\nB,0,5\n", NULL, "?row_names=true", NULL},
    {"\"wind\",\"mm\"\n\"A1\",1,5\n\"A2\",0,5\n", ":c,wind:n,mm:n|2|0 1 5", "the names of the rows",
     NULL},
    {"wind,mm\n\"A1\",1.5,5\n\"A2\",0,5\n", ":c,wind:n,mm:n|2|0 1.5 5", "the names of the rows",
     NULL},
    {"fig,pear\nfig,2,5\nfig,3,5\n", ":c,fig:n,pear:n|2|0 2 5", NULL, "row_names=true"},

    /* rows of missing cells are no names */
    {"land,sum,share\nNA,NA,NA\nDE,3,4\nZA,5,6\nDE,7,8\n", "land:c,sum:n,share:n|4|nan nan nan",
     "`NA` taken as missing", NULL},
    {"sum,share,hue\nNA,NA,red\n3,4,blue\n5,6,red\n", "sum:n,share:n,hue:c|3|nan nan 0", NULL,
     NULL},
    {"Storm report,,\n,,\nday,mm,hue\n2024-03-01,5,red\n2024-03-02,6,red\n",
     "day:d,mm:n,hue:c|2|1709251200 5 0", "2 lines before the table", NULL},

    /* the delimiter explains all rows, not only the header */
    {"wind, m/s;rain, mm\n4,5;1,25\n6,0;0,5\n", "wind, m/s:n,rain, mm:n|2|4.5 1.25", NULL, NULL},
    {"Town, County\tPeople\nMoss, Viken\t49\nHamar, Hedmark\t31\n",
     "Town, County:c,People:n|2|1 49", NULL, NULL},
    {"a;b\n1,5;2,5\n3,5;4,5\n", "a:n,b:n|2|1.5 2.5", NULL, NULL},
    {"Town|Price\nMoss, NO|1,5\nRoma, IT|2,5\n", "Town:c,Price:n|2|0 1.5", NULL, NULL},
    {"screen,price\n24\" wide,110\n27\" wide,150\n", "screen:c,price:n|2|0 110", NULL, NULL},
    {"price,screen\n110,\"24 wide\n150,27 wide\n170,27 wide\n", "price:n,screen:c|3|110 1",
     "?quote=", NULL},
    {"a!b\n1!2\n3!4\n", "a:n,b:n|2|1 2", NULL, "delimiter=!"},

    /* decimal and thousands marks, by the whole file */
    {"a,b\n\"2,320\",\"7,0\"\n\"1,150\",\"6,5\"\n", "a:n,b:n|2|2.32 7", NULL, NULL},
    {"a;b\n2.320;7,0\n1.150;6,5\n", "a:n,b:n|2|2320 7", NULL, NULL},
    {"a;b\n2.320;x\n1.150;y\n", NULL, "?decimal=", NULL},
    {"a;b\n2.320;x\n1.150;y\n", "a:n,b:c|2|2.32 0", NULL, "decimal=.&thousands=none"},

    /* the first line: names, or a row */
    {"2019,2020,2021\n7,12,5\n3,14,9\n", "2019:n,2020:n,2021:n|2|7 12 5", "?header=false", NULL},
    {",0,1,2\n0,1.5,4,7\n1,2.5,3,8\n", ":n,0:n,1:n,2:n|2|0 1.5 4 7", "?header=false", NULL},
    {"7,12,5\n3,14,9\n", ":n,:n,:n|2|7 12 5", "?header=true", NULL},
    {"red,north\nblue,south\nred,south\nblue,north\n", ":c,:c|4|1 0", NULL, NULL},
    {"2019,2020\n7,12\n", ":n,:n|2|2019 2020", NULL, "header=false"},

    /* lines that are no rows */
    {"day,mm\n2024-03-01,5\n2024-03-02,6\nday,mm\n2024-03-03,7\n", "day:d,mm:n|3|1709251200 5",
     "the header is repeated 1 time", NULL},
    {"day,mm\n2024-03-01,5\n" DAYS "End of report\n", "day:d,mm:n|9|1709251200 5", "footer", NULL},
    {"day,mm\n2024-03-01,5\n" DAYS "Total,46\n", "day:d,mm:n|9|1709251200 5", "footer", NULL},
    {"day,mm\n,[mm]\n2024-03-01,5\n" DAYS, "day:d,mm:n|9|1709251200 5", "units", NULL},

    /* words for a missing cell that are classes */
    {"mm,storm\n4,None\n5,weak\n6,strong\n", "mm:n,storm:c|3|4 0", "`None` taken as a word", NULL},
    {"mm,storm\n4,+\n5,-\n6,+\n", "mm:n,storm:c|3|4 0", "`-` taken as a word", NULL},
    {"mm,storm\n4,None\n5,\n6,strong\n", "mm:n,storm:c|3|4 0", "`None` taken as a word", NULL},
    {"mm,land\nNA,NA\n5,DE\n6,ZA\n", "mm:n,land:c|3|nan nan", "`NA` taken as missing", NULL},
    {"mm,storm\n4,None\n5,\n6,gone\n", "mm:n,storm:c|3|4 0", NULL, "missing=gone"},
    {"mm,storm\n4,None\n,NA\n6,?\n", "mm:n,storm:c|3|4 2", NULL, "missing="},

    /* encodings and ends of lines */
    {"stra\xDF"
     "e,mm\nWeg,5\nWeg,6\n",
     "stra\u00dfe:c,mm:n|2|0 5", "windows-1252", NULL},
    {"a,mm\rx,5\ry,6\r", "a:c,mm:n|2|0 5", NULL, NULL},
};

/* What is said of the text and of its columns. */
static void notes_make(const ep_dataset_meta *meta, char out[2 * SHOWN_BYTES]) {
  const ep_part *part = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  size_t used = (size_t)snprintf(out, 2 * SHOWN_BYTES, "%s", meta->notes.text);
  for (int64_t i = 0; i < part->columns; i++)
    used += (size_t)snprintf(out + used, 2 * SHOWN_BYTES - used, "%s",
                             part->column[i].note ? part->column[i].note : "");
}

static void text_check(size_t i) {
  ep_ingest_options options = {0};
  ep_dataset_meta meta;
  ep_error error = {0};
  char shown[SHOWN_BYTES], notes[2 * SHOWN_BYTES];
  options_set(&options, texts[i].query);
  ep_status status = scratch_ingest(texts[i].text, strlen(texts[i].text), &options, &meta, &error);
  if (status != EP_OK) {
    ck_assert_msg(!texts[i].wanted && status == EP_INVALID &&
                      strstr(error.message, texts[i].said) != NULL,
                  "%s: %s", texts[i].text, error.message);
    return;
  }
  shown_make(&meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE], shown);
  ck_assert_msg(texts[i].wanted != NULL, "%s is read as %s", texts[i].text, shown);
  ck_assert_str_eq(shown, texts[i].wanted);
  notes_make(&meta, notes);
  bool said = texts[i].said ? strstr(notes, texts[i].said) != NULL : !notes[0];
  ck_assert_msg(said, "%s: the notes are \"%s\"", texts[i].text, notes);
  ep_dataset_meta_deinit(&meta);
}

START_TEST(texts_are_read_or_refused_with_the_option) {
  text_check((size_t)_i);
}
END_TEST

/* Many unique words, of which none shows that the first line is another thing. */
START_TEST(names_above_unique_words_are_noted) {
  enum { ROWS = 60, LINE_BYTES = 24 };
  char csv[ROWS * LINE_BYTES];
  size_t used = 0;
  ep_dataset_meta meta;
  ep_error error = {0};
  for (int row = 0; row < ROWS; row++)
    used += (size_t)sprintf(csv + used, "farm%d,town%d\n", row, row * 7);
  ck_assert_int_eq(scratch_ingest(csv, used, NULL, &meta, &error), EP_OK);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows, ROWS - 1);
  ck_assert_ptr_nonnull(strstr(meta.notes.text, "?header=false makes it a row"));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* The same text in UTF-16 of both orders, with a mark and without; UTF-32 is refused by its name.
 */
START_TEST(wide_texts_are_read) {
  static const char text[] = "town,mm\nMoss,5\nHamar,6\n";
  for (int kind = 0; kind < 5; kind++) {
    uint8_t wide[8 * sizeof text];
    size_t used = 0, width = kind == 4 ? 4 : 2;
    bool big = kind & 1, mark = kind >= 2;
    ep_dataset_meta meta;
    ep_error error = {0};
    char shown[SHOWN_BYTES];
    memset(wide, 0, sizeof wide);
    if (mark) {
      wide[big ? 1 : 0] = 0xFF;
      wide[big ? 0 : 1] = 0xFE;
      used = width;
    }
    for (size_t i = 0; i + 1 < sizeof text; i++, used += width)
      wide[used + (big ? width - 1 : 0)] = (uint8_t)text[i];
    ep_status status = scratch_ingest(wide, used, NULL, &meta, &error);
    if (width == 4) {
      ck_assert_int_eq(status, EP_INVALID);
      ck_assert_msg(strstr(error.message, "UTF-32") != NULL, "%s", error.message);
      continue;
    }
    ck_assert_msg(status == EP_OK, "%d: %s", kind, error.message);
    shown_make(&meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE], shown);
    ck_assert_str_eq(shown, "town:c,mm:n|2|1 5");
    ck_assert_int_eq(meta.dialect->dialect.encoding, big ? EP_TEXT_UTF_16BE : EP_TEXT_UTF_16LE);
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

EP_SUITE("dialect") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_loop_test(all, texts_are_read_or_refused_with_the_option, 0,
                      sizeof texts / sizeof *texts);
  tcase_add_test(all, names_above_unique_words_are_noted);
  tcase_add_test(all, wide_texts_are_read);
}
