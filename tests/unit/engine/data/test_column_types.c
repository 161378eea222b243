/* Tables whose words reach the ceilings of memory. */
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

EP_SUITE("column_types") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, words_that_come_twice_count_once);
}
