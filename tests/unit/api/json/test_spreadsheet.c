/* CSV for spreadsheets: which cells get an apostrophe. */
#include "api/json/spreadsheet.h"

#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

/* The text in two pieces, cut at each byte, must be what it is as a whole. */
static void becomes(char delimiter, const char *text, const char *wanted) {
  char *whole = ep_spreadsheet_text(strdup(text), delimiter);
  ck_assert_str_eq(whole, wanted);
  free(whole);
  for (size_t cut = 0; cut <= strlen(text); cut++) {
    ep_spreadsheet sheet = {.delimiter = delimiter};
    ep_writer out;
    ep_writer_init(&out, 1000);
    ep_spreadsheet_add(&sheet, text, cut, &out);
    ep_spreadsheet_add(&sheet, text + cut, strlen(text) - cut, &out);
    ep_spreadsheet_end(&sheet, &out);
    char *pieces = ep_writer_take(&out);
    ck_assert_str_eq(pieces, wanted);
    free(pieces);
  }
}

START_TEST(formulas_are_texts) {
  becomes(',', "=1+1,+a,-a,@a\n", "'=1+1,'+a,'-a,'@a\n");
  becomes(',', "a,=cmd|' /C calc'!A0\r\n=a", "a,'=cmd|' /C calc'!A0\r\n'=a");
  becomes(',', "\"=HYPERLINK(\"\"a\"\",1)\",b", "\"'=HYPERLINK(\"\"a\"\",1)\",b");
  becomes(',', "\t=1,\"\r=1\",\"\n=1\"", "'\t=1,\"'\r=1\",\"'\n=1\"");
  becomes(',', "a\"b,=1", "a\"b,'=1"); /* a quote within a cell opens nothing */
  becomes(',', "\"a\"\"b\",=1\n\"\",=1", "\"a\"\"b\",'=1\n\"\",'=1");
  becomes(';', "a;=1,-2", "a;'=1,-2");
  becomes(' ', "1 2\t=1 \t -1\n", "1 2\t'=1 \t -1\n"); /* runs of both */
  becomes('\t', "a\t=1\t\t-1", "a\t'=1\t\t-1");
  becomes(',', "=", "'=");
  becomes(',', "\"-1\"\"+a\"", "\"'-1\"\"+a\"");
  becomes(',', "-1-1,-1(a),+1:2,-a1,-$A$1,-,+.,-e5,-1e",
          "'-1-1,'-1(a),'+1:2,'-a1,'-$A$1,'-,'+.,'-e5,'-1e");
}
END_TEST

START_TEST(numbers_and_other_texts_stay) {
  static const char *const same[] = {"",
                                     "a,b\n1,-2.5\r\n-1e-05,+3\n",
                                     "-1,2;3",
                                     "-inf,+Infinity,-nan",
                                     "\"-1,5\",\"+1.234,5\"",
                                     "-5 %,-$5,-5 \xe2\x82\xac,-1 234",
                                     "a=b,a-b,a@b,a+b",
                                     "a,\r\n,\n",
                                     "\"a,=b\",\"a\n=b\"",
                                     ",,\"\""};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) becomes(',', same[i], same[i]);
}
END_TEST

START_TEST(a_long_cell_is_no_number) {
  char digits[100] = "-", wanted[101] = "'-";
  memset(digits + 1, '1', 90);
  memset(wanted + 2, '1', 90);
  becomes(',', digits, wanted);
  digits[EP_SPREADSHEET_NUMBER_BYTES - 2] = 0;
  becomes(',', digits, digits);
}
END_TEST

EP_SUITE("spreadsheet") {
  TCase *tests = ep_suite_case(suite, "spreadsheet");
  tcase_add_test(tests, formulas_are_texts);
  tcase_add_test(tests, numbers_and_other_texts_stay);
  tcase_add_test(tests, a_long_cell_is_no_number);
}
