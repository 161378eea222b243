/* A table that is read once, by its draft, and one that is read again for a cell of another type.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/tables/draft.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

enum { ROWS = 30000, COLUMNS = 4 }; /* more than a block of either has; without the last one */

/* The first columns, as they are described and stored; the caller's. `odd`: of the last column. */
static char *told(const char *odd) {
  char *csv, *out;
  size_t csv_bytes, bytes;
  ep_dataset_meta meta;
  ep_table table;
  ep_error error;
  FILE *file = open_memstream(&csv, &csv_bytes), *text = open_memstream(&out, &bytes);
  fprintf(file, "n,word,day,id,last\n");
  for (int i = 0; i < ROWS; i++)
    fprintf(file, "%d.5,w%d,2024-01-%02d,id%d,%s\n", i, i * 17 % 23, i % 28 + 1, i,
            i == 5000 ? odd : "1");
  fclose(file);
  ep_status status = scratch_ingest(csv, csv_bytes, &(ep_ingest_options){0}, &meta, &error);
  ck_assert_msg(status == EP_OK, "%s", error.message);
  const ep_part *part = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ck_assert_int_eq(meta.faults, odd[0] == 'x');
  ck_assert_int_eq(part->column[3].type, EP_COLUMN_TEXT);
  scratch_part("train.table", &table);
  for (int i = 0; i < COLUMNS; i++) {
    const ep_column *column = &part->column[i];
    fprintf(text, "%d %lld %lld %g %g", (int)column->type, (long long)column->missing,
            (long long)column->distinct, column->min, column->max);
    for (int64_t j = 0; j < column->words.count; j++)
      fprintf(text, " %s=%lld", column->words.word[j], (long long)column->words.rows[j]);
  }
  for (int64_t i = 0; i < COLUMNS * part->rows; i++)
    fprintf(text, " %.10g", ep_table_value(&table, i / COLUMNS, i % COLUMNS));
  fclose(text);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(csv);
  return out;
}

START_TEST(a_table_read_again_is_the_same) {
  char *once = told("2"), *again = told("x"), *gap = told("");
  ck_assert_uint_gt(strlen(once), (size_t)ROWS * COLUMNS);
  ck_assert_str_eq(once, again);
  ck_assert_str_eq(once, gap);
  free(once);
  free(again);
  free(gap);
}
END_TEST

/* Rows come back as they went in; what is more than the disk may take is not kept. */
START_TEST(a_draft_keeps_all_rows_or_none) {
  for (int room = 0; room < 2; room++) {
    ep_draft draft;
    ep_error error;
    const int64_t bytes = (int64_t)ROWS * COLUMNS * (int64_t)sizeof(double);
    ck_assert_int_eq(ep_draft_open("/tmp", COLUMNS, room ? bytes : bytes - 1, &draft, &error),
                     EP_OK);
    for (int row = 0; row < ROWS; row++) {
      for (int i = 0; i < COLUMNS; i++) ep_draft_row(&draft)[i] = row * COLUMNS + i;
      ep_draft_add(&draft);
    }
    ep_draft_rewind(&draft);
    ck_assert_int_eq(draft.kept, room);
    for (int row = 0; room && row < ROWS; row++) {
      const double *found = ep_draft_next(&draft);
      ck_assert_ptr_nonnull(found);
      for (int i = 0; i < COLUMNS; i++) ck_assert_double_eq(found[i], row * COLUMNS + i);
    }
    ep_draft_reset(&draft);
    ck_assert(draft.kept);
    ep_draft_close(&draft);
  }
}
END_TEST

EP_SUITE("engine/data/draft") {
  TCase *tests = ep_suite_case(suite, "draft");
  tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
  tcase_add_test(tests, a_table_read_again_is_the_same);
  tcase_add_test(tests, a_draft_keeps_all_rows_or_none);
}
