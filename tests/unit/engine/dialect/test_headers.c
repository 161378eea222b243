/* Which line of a text names its columns. */
#include "engine/data/datasets/meta.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* A first line of words is a header, unless it is like the lines below it. */
static const struct {
  const char *text;
  int64_t rows;
  const char *first_name; /* "": no header */
  ep_ingest_options options;
} headers[] = {
    {"5.1,3.5,setosa\n4.9,3,setosa\n7,3.2,other\n", 3, "", {0}},
    {"p,x,s\ne,x,s\np,x,y\n", 3, "", {0}},
    {"39, State-gov, ?\n50, State-gov, 13\n38, Private, 9\n", 3, "", {0}},
    {"2024-01-31,5\n2024-02-01,6\n", 2, "", {0}},
    {"1,5;$2;\n2,5;$3;\n", 2, "", {0}},
    {"1,?,3\n4,5,6\n", 2, "", {0}},
    {"1,,3\n4,5,6\n", 2, "", {0}},
    {"5.1,3.5,setosa\n4.9,3,setosa\n",
     1,
     "5.1",
     {.dialect = {.set = 1u << EP_DIALECT_HEADER, .header = true}}},
    {"country,1960,1961\nChad,1,2\nMali,3,\n", 2, "country", {0}},
    {"size,kind\n1,a\n2,b\n", 2, "size", {0}},
    {"kind,color\na,red\nb,red\n", 2, "kind", {0}},
    {"day,n\n2024-01-31,5\n", 1, "day", {0}},
    {",x\n1,a\n2,b\n", 2, "", {0}},
    /* numbers such as those below are no names, unless the words say otherwise */
    {"74025,61,Ada\n11058,72,Bo\n82772,61,Cy\n17350,70,Di\n40107,66,Ed\n", 5, "", {0}},
    {"level,2001\nlow,1990\nhigh,2010\nlow,2005\n", 3, "level", {0}},
    {"98909.5\tv2.1\n98168.3\tv3.9\n4822.3\tv2.7\n", 3, "", {0}},
    {"low\t5,25\t7\nhigh\t3,75\t9\nlow\t8,50\t6\nhigh\t6,25\t7\n", 4, "", {0}},
    /* a delimiter at the end of the header alone, above a word among numbers */
    {"mass\tarea\tload\t\ntbd\twest\teast\n8.73\tsouth\teast\n6.68\tsouth\twest\n9."
     "1\tsouth\teast\n",
     4,
     "mass",
     {0}},
    /* units above few rows */
    {"size,kind,mass\nmm,,kg\n1.5,a,2\n2.5,b,3\n3.5,a,4\n", 3, "size", {0}},
    /* lines that end in a CR, of cells with a LF */
    {"\"one,\ntwo\";5;8.5\r\"one,\ntwo\";6;9.5\r\"one,\ntwo\";7;7.5\r", 3, "", {0}},
    {"o'clock;5\rD'Arcy;6\r'tis;7\r", 3, "", {0}},
    /* a header above rows whose numbers are missing */
    {"name,a,b\nBob,,\nAl,1.5,2\nCy,2.5,3\nDi,3.5,1\n", 4, "name", {0}},
    {"a,b,c\nNA,NA,NA\nNA,NA,NA\n1,2,3\n2,3,4\n4,5,6\n", 5, "a", {0}},
    {"sma,ema,close\n,,\n,,\n,,2\n1,2,3\n2,3,4\n", 5, "sma", {0}},
    {"temp,speed,city\n,,Zürich\n1.5,2,Bonn\n2.5,3,Zürich\n1.7,3,Bonn\n", 4, "temp", {0}},
    /* a unit's letters are a word above no number */
    {"k,a,b\nK,,\nm,2,3\ns,3,4\n", 3, "k", {0}},
    /* an id that counts from the first line on */
    {"1,Eva,34\n2,Dirk,18\n3,Jo,21\n4,Al,20\n", 4, "", {0}},
    /* words that begin like those of a footer, or with the mark of comments */
    {"x,y\n1,2\n2,3\n3,4\n4,5\ncountless,5\n", 5, "x", {0}},
    {"tag\n#a\nb\nc\nd\ne\n", 5, "tag", {0}},
    /* names that are numbers, above numbers alone */
    {"0,1,2\n1,5.5,7\n2,6.1,8\n3,4.2,9\n", 3, "0", {0}},
    {"0,1,2\n1,5,7\n2,6,8\n3,4,9\n", 3, "0", {0}},
    {"0.1,0.5,2.5,y\n0.3,0.4,2.1,7\n0.05,0.9,2.9,3\n0.2,0.1,2.2,9\n", 3, "0.1", {0}},
    /* R's row names have none */
    {"\"a\",\"b\"\n\"x\",1,2\n\"y\",3,4\n", 2, "", {0}},
    {"x;y;n\nr;x;n;1\ns;n;x;2\n", 2, "", {0}},
    {"\"a\" \"b\"\n\"1\" 5.1 \"u\"\n\"2\" 4.9 \"v\"\n", 2, "", {0}},
    /* white space */
    {"Chins  Situps Jumps\n5 162 60\n  2 110 \t60 \n", 2, "Chins", {0}},
    {"full name\nJohn Smith\nJane Doe\n", 2, "full name", {0}},
    {"full name\nJohn Smith\nJane Doe\n",
     2,
     "full",
     {.dialect = {.set = 1u << EP_DIALECT_DELIMITER, .delimiter = ' '}}},
    /* scikit-learn's line of counts, and lines that only look like it */
    {"3,2,no,yes\n1,2,0\n3,4,1\n5,6,1\n", 3, "", {0}},
    {"2,1,,\n\"a\",\"b\"\n1,2\n3,4\n", 2, "a", {0}},
    /* quotes that hold a delimiter, in few lines */
    {"'a','b'\n'Sun, 25 Feb','3,5'\n'Tue, 22 May','4,5'\n'Tue, 15 May','6,5'\n", 3, "a", {0}},
};

START_TEST(a_header_is_told_from_a_row) {
  ep_dataset_meta meta;
  const char *bytes = headers[_i].text;
  ep_error error;
  ck_assert_msg(scratch_ingest(bytes, strlen(bytes), &headers[_i].options, &meta, &error) == EP_OK,
                "%s", error.message);
  const ep_part *part = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ck_assert_int_eq(part->rows, headers[_i].rows);
  ck_assert_str_eq(part->column[0].name, headers[_i].first_name);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

EP_SUITE("headers") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_loop_test(all, a_header_is_told_from_a_row, 0, sizeof headers / sizeof *headers);
}
