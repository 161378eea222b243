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

#define ROWS_OF_SEVEN \
  "k1;2024-03-01;5;50;500;7;ja\nk2;2024-03-02;6;60;600;8;nein\nk3;2024-03-03;7;70;700;9;ja\n"
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
     "cells containing the delimiter must be quoted", NULL},
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
    {"1.5 -4.25 gone 2024-03-01 6.5\n2.5 3.25 4 2024-03-02 1.5\n0.5 -7.5 6 2024-03-03 9.25\n"
     "1.25 -2.5 3 2024-03-04 4.5\n2.75 1.5 8 2024-03-05 2.25\n",
     ":n,:n,:n,:d,:n|5|1.5 -4.25 nan 1709251200 6.5", "is read as a row", NULL},
    {"x;2.5;2024-03-01\n4;3.5;2024-03-02\n", "x:n,2.5:n,2024-03-01:d|1|4 3.5 1709337600",
     "is read as the names", NULL},
    {"mm,day\n-,2024-03-01\n-,2024-03-02\n", "mm:n,day:d|2|nan 1709251200",
     "2 × `-` taken as missing", NULL},
    {"sample,400.5,401.5,402.5,kind\n1,490.16,578.99,268.47,red\n2,685.66,221.88,817.46,blue\n"
     "3,345.95,995.52,483.12,red\n4,716.88,338.87,732.33,blue\n",
     "sample:n,400.5:n,401.5:n,402.5:n,kind:c|4|1 490.16 578.99 268.47 1", NULL, NULL},
    {"sample,400.5,410.25,402.5,kind\n1,490.16,578.99,268.47,red\n2,685.66,221.88,817.46,blue\n"
     "3,345.95,995.52,483.12,red\n4,716.88,338.87,732.33,blue\n",
     "sample:n,400.5:n,410.25:n,402.5:n,kind:c|4|1 490.16 578.99 268.47 1",
     "its words do not occur below", NULL},
    {"mm;'Town; Land';'Lake; Sea'\nr1;5;Moss;Mjosa\nr2;6;Hamar;Mjosa\nr3;7;Moss;Tyri\n",
     ":c,mm:n,Town; Land:c,Lake; Sea:c|3|0 5 0 0", "the names of the rows", NULL},
    {"'on/off'\t'mm'\t\n1\t2.5\n3\t4.5\n", "on/off:n,mm:n|2|1 2.5", NULL, NULL},
    {"sum\tmm\thue\tday\nm\t[m]\t\t(s)\n1\tgone\tred\t20\n3\t50\tred\tgone\n2\t61\tb"
     "lue\t42\n5\t38\tred\t11\n1\tgone\tred\t83\n4\t22\tblue\tgone\n6\t10\tred"
     "\t35\n3\t44\tblue\t57\n8\t96\tred\t71\n7\t80\tblue\t64\n",
     "sum:n,mm:n,hue:c,day:n|10|1 nan 0 20", "units", NULL},
    {"21 213 842\n7 897 691\n724 839 372\n", ":n,:n,:n|3|21 213 842", "makes one", NULL},
    {"1,5e+01\n2,25e-01\n-3,5e+02\n", ":n,:n|3|1 50", "the comma divides each row", NULL},

    /* lines that are no rows */
    {"day,mm\n2024-03-01,5\n2024-03-02,6\nday,mm\n2024-03-03,7\n", "day:d,mm:n|3|1709251200 5",
     "the header is repeated 1 time", NULL},
    {"day,mm\n2024-03-01,5\n" DAYS "End of report\n", "day:d,mm:n|9|1709251200 5", "footer", NULL},
    {"day,mm\n2024-03-01,5\n" DAYS "Total,46\n", "day:d,mm:n|9|1709251200 5", "footer", NULL},
    {"hue;mm;day;fee\nred;5;2024-03-01;7\nblue;6;2024-03-02;8\n\nSumme;11;;15\n",
     "hue:c,mm:n,day:d,fee:n|2|1 5 1709251200 7", "as a footer: `Summe;11;;15`", NULL},
    {"hue;mm\nred;5\nred;7\n\"Total:\";\"12\"\n", "hue:c,mm:n|2|0 5", "as a footer", NULL},
    {"hue;mm\ntotal;5\nred;7\ntotal;12\n", "hue:c,mm:n|3|0 5", NULL, NULL},
    {"hue;mm\nred;5\nred;7\nTotal Ltd;12\n", "hue:c,mm:n|3|0 5", NULL, NULL},
    {"Stand 2024\n\nno;day;t;area;fee;age;long\n;;\u00b0C;m\u00b2;EUR;Jahre;\n" ROWS_OF_SEVEN,
     "no:c,day:d,t:n,area:n,fee:n,age:n,long:c|3|0 1709251200 5 50 500 7 0", "units", NULL},
    {"no;day;t;area;fee;age;long\n-;TT.MM;\u00b0C;m\u00b2;EUR;Jahre;ja/nein\n" ROWS_OF_SEVEN,
     "no:c,day:d,t:n,area:n,fee:n,age:n,long:c|3|0 1709251200 5 50 500 7 0", "units", NULL},
    {"day,mm\n,[mm]\n2024-03-01,5\n" DAYS, "day:d,mm:n|9|1709251200 5", "units", NULL},

    /* words for a missing cell that are classes */
    {"mm,storm\n4,None\n5,weak\n6,strong\n", "mm:n,storm:c|3|4 0", "`None` taken as a word", NULL},
    {"mm,storm\n4,+\n5,-\n6,+\n", "mm:n,storm:c|3|4 0", "`-` taken as a word", NULL},
    {"mm,storm\n4,None\n5,\n6,strong\n", "mm:n,storm:c|3|4 0", "`None` taken as a word", NULL},
    {"mm,land\nNA,NA\n5,DE\n6,ZA\n", "mm:n,land:c|3|nan nan", "`NA` taken as missing", NULL},
    {"mm,storm\n4,None\n5,\n6,gone\n", "mm:n,storm:c|3|4 0", NULL, "missing=gone"},
    {"mm,storm\n4,None\n,NA\n6,?\n", "mm:n,storm:c|3|4 2", NULL, "missing="},

    /* as programs print tables: Markdown, MySQL, psql, sqlite3 -column, tabulate, sqlcmd */
    {"| hue | mm |\n|---|---:|\n| red | 5 |\n|  | 6 |\n| red | 7 |\n", "hue:c,mm:n|3|0 5",
     "lines of dashes, as of a printed table, are left out, the first is line 2", NULL},
    {"Ours:\n\n|hue|mm|\n|:-:|-:|\n|red, dark|5|\n|blue|6|\n\nDone.\n", "hue:c,mm:n|2|1 5",
     "the `|` at both ends of each line are left out", NULL},
    {"hue | mm\n--- | ---\nred | 5\nblue | 6\n", "hue:c,mm:n|2|1 5", "lines of dashes", NULL},
    {"> select\n+-----+----+\n| hue | mm |\n+-----+----+\n| red |  5 |\n| a b |    "
     "|\n+-----+----+\n2 rows in set (0.01 sec)\n\n",
     "hue:c,mm:n|2|1 5", "the first is line 2", NULL},
    {" hue | mm \n-----+----\n red |  5\n a b |  6\n(2 rows)\n\n", "hue:c,mm:n|2|1 5",
     "left out as a footer: `(2 rows)`", NULL},
    {" mm \n----\n  5\n  6\n(2 rows)\n", "mm:n|2|5", "left out as a footer: `(2 rows)`", NULL},
    {"hue   mm\n----  --\nred   5\na b   6\nred   7\n", "hue:c,mm:n|3|0 5", "lines of dashes",
     NULL},
    {"a  b  c\n-  -  -\n1  2  3\n4  5  6\n", "a:n,b:n,c:n|2|1 2 3", "lines of dashes", NULL},
    {"====  ==\nhue   mm\n====  ==\nr\u00f6t   5\na b   6\n====  ==\n", "hue:c,mm:n|2|1 5",
     "the first is line 1", NULL},
    {"hue,mm\n---,--\nred,5\nblue,6\n", "hue:c,mm:n|2|1 5", "lines of dashes", NULL},
    {"hue   mm\n----  --\nred   5\na  b    \nred   7\n", NULL, "line 4 does not fit the columns",
     NULL},
    {"hue   mm\n----  --\nred   5\nblue  6\ngrey\n", NULL, "line 5 does not fit the columns", NULL},
    {"hue a mm\n----- --\nred a 5\nred b 6\n", NULL, "has 2 columns, and the rows have 3", NULL},
    {"\u250c\u2500\u2510\n\u2502a\u2502\n\u2502 5\u2502\n", NULL, "save it as CSV", NULL},
    {"n,text\n5,\"a\n--- ---\nb\"\n6,\"| c |\n| d |\"\n", "n:n,text:c|2|5 0", NULL, NULL},
    {"|a|b|\n|1|2|\n|3|4|\n", "a:n,b:n|2|1 2", "at both ends of each line", NULL},
    {"|a|b\n|1|2\n|3|4\n", ":n,a:n,b:n|2|nan 1 2", NULL, NULL},
    {"size,n\n3 rows,5\n4 rows,6\n2 rows,7\n", "size:c,n:n|3|1 5", NULL, NULL},
    {"a b\n- -\n1 2\n3 4\n", "a:n,b:n|3|nan nan", NULL, NULL},
    {"a|b\n|5\n|6\nx|\n", "a:c,b:n|3|nan 5", NULL, NULL},

    /* data frames as pandas and R print them */
    {"   mm  snow\n0   4   2.5\n0   6  -4.5\n1   5   6.5\n", ":n,mm:n,snow:n|3|0 4 2.5",
     "column 1 is read as the names of the rows", NULL},
    {"             mm\n2024-03-01  4.5\n2024-03-02  6.5\n", ":d,mm:n|2|1709251200 4.5",
     "column 1 is read as the names of the rows", NULL},
    {"     mm\nMoss  4\nBerg  6\n", ":c,mm:n|2|1 4", "the names of the rows", NULL},
    {"      mm  snow\nplot         \nx7     4   2.5\ny9     6   4.5\n", ":c,mm:n,snow:n|2|0 4 2.5",
     "line 2 is left out: the name of the row names", NULL},
    {"        town  mm\n0  Nord Moss   4\n1  Rio Negro   6\n", NULL, "2 names above 4 cells", NULL},
    {"   top snow  mm\n0       4.5   7\n1       6.5   9\n", NULL, "save the table as CSV", NULL},
    {"    mm\n0    4\n1    6\n..  ..\n9    5\n", NULL, "rows omitted when", NULL},

    /* words of a title, which spaces divide, too */
    {"Storms of Moss\nby hand, in the open air\nmm, not inches\nday mm n\n1 7 2\n2 0 5\n3 4 1\n4 1 "
     "8\n5 3 9\n6 2 3\n7 7 4\n",
     "day:n,mm:n,n:n|7|1 7 2", "3 lines before the table", NULL},

    /* a comma in quotes, or in numbers, is no delimiter; where it may be one, nothing is guessed */
    {"town \"rain, mm\"\nf 0,3822\ng 0,3911\n", "town:c,rain, mm:n|2|0 0.3822", NULL, NULL},
    {"day,\"rain, mm\"\nf 0,3822\ng 0,3911\nh 0,4001\n", NULL, "?delimiter=space", NULL},
    {"day rain,mm\nf 0,38\ng 0,39\nh 0,40\n", NULL, "?delimiter=comma", NULL},
    {"at what,mm\n2024-03-01 10:00,5\n2024-03-01 11:00,6\n", "at what:d,mm:n|2|1709287200 5", NULL,
     NULL},

    /* a comment may be indented */
    {"mm,n\n5,1\n  # by hand\n6,2\n7,3\n", "mm:n,n:n|3|5 1", "left out as comments", NULL},
    {"# done by "
     "hand\rrate\tmm\tid\tu\rno\t41\t70.5\tb\rno\t44\t68.5\tb\rno\t47\t66.5\tb\rno\t50\t64."
     "5\tb\rno\t53\t62.5\tb\rno\t56\t60.5\tb\rno\t59\t58.5\tb\rno\t62\t56.5\tb\rno\t65\t54."
     "5\tb\rno\t68\t52.5\tb\rno\t71\t50.5\tb\r# done by "
     "hand\rno\t74\t48.5\tb\rno\t77\t46.5\tb\rno\t80\t44.5\tb\r",
     "rate:c,mm:n,id:n,u:c|14|0 41 70.5 0", "line 14: `# done by hand`", NULL},

    /* encodings and ends of lines */
    {"stra\xDF"
     "e,mm\nWeg,5\nWeg,6\n",
     "stra\u00dfe:c,mm:n|2|0 5", "windows-1252", NULL},
    {"town,mm\nOrl\x8E"
     "ans,5\nMoss,6\n",
     "town:c,mm:n|2|1 5", "0x8E, there `\u017d`", NULL},
    {"# by Fran\x8D"
     "ois\ntown,mm\nOrl\x8E"
     "ans,5\nMoss,6\n",
     NULL, "byte 10 (0x8D) is neither UTF-8 nor windows-1252", NULL},
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

/* The same text in UTF-16 of both orders, with a mark and without, also JSON; UTF-32 is refused by
 * its name. */
START_TEST(wide_texts_are_read) {
  static const char csv[] = "town,mm\nMoss,5\nHamar,6\n";
  static const char json[] = " [{\"town\":\"Moss\",\"mm\":5},\n{\"town\":\"Hamar\",\"mm\":6}]";
  for (int round = 0; round < 10; round++) {
    const char *text = round < 5 ? csv : json;
    int kind = round % 5;
    uint8_t wide[8 * sizeof json];
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
    for (size_t i = 0; text[i]; i++, used += width)
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
    if (text == csv)
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
