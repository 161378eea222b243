/* A table that is read once, by its draft, and one that is read again for a cell of another type.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/part_writer.h"
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

static void row_double(void *context, double *row) {
  (void)context;
  row[1] *= 2;
}

/* Rows are changed where they lie, of any number; what is known of other columns stays. */
START_TEST(rows_are_changed_in_their_place) {
  static const bool again[COLUMNS] = {[1] = true};
  for (int64_t rows = 1; rows <= ROWS; rows += ROWS - 1) {
    ep_part_writer writer;
    ep_part part;
    ep_table table;
    ep_error error;
    int64_t budget_bytes = 1 << 20, before = budget_bytes;
    snprintf(scratch_folder, sizeof scratch_folder, "%s", scratch_root);
    unlink(scratch_file("train.table.npy"));
    ck_assert_int_eq(ep_part_writer_open(&writer, scratch_folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE,
                                         EP_DTYPE_F64, COLUMNS, NULL, &budget_bytes, &error),
                     EP_OK);
    ck_assert_int_eq(ep_part_writer_table(&writer, &error), EP_OK);
    before = budget_bytes;
    for (int time = 0; time < 2; time++) {
      ck_assert_int_eq(ep_part_writer_restart(&writer, &error), EP_OK);
      ck_assert_int_eq(budget_bytes, before);
      for (int64_t row = 0; row < rows; row++) {
        for (int i = 0; i < COLUMNS; i++)
          ((double *)ep_part_writer_next(&writer))[i] = (double)(row * COLUMNS + i);
        ck_assert_int_eq(ep_part_writer_commit(&writer, &error), EP_OK);
      }
    }
    ck_assert_int_eq(ep_part_writer_map(&writer, again, row_double, NULL, &error), EP_OK);
    ck_assert_int_eq(ep_part_writer_finish(&writer, &part, &error), EP_OK);
    ep_part_writer_abandon(&writer);
    scratch_part("train.table", &table);
    ck_assert_int_eq(part.rows, rows);
    for (int64_t i = 0; i < rows * COLUMNS; i++)
      ck_assert_double_eq(ep_table_value(&table, i / COLUMNS, i % COLUMNS),
                          (double)(i % COLUMNS == 1 ? 2 * i : i));
    ck_assert_double_eq(part.column[1].max, 2.0 * (double)((rows - 1) * COLUMNS + 1));
    ck_assert_double_eq(part.column[2].max, (double)((rows - 1) * COLUMNS + 2));
    ck_assert_int_eq(part.column[1].distinct, part.column[2].distinct);
    ep_table_close(&table);
    ep_columns_destroy(part.column, COLUMNS);
  }
}
END_TEST

EP_SUITE("engine/data/draft") {
  TCase *tests = ep_suite_case(suite, "draft");
  tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
  tcase_add_test(tests, a_table_read_again_is_the_same);
  tcase_add_test(tests, rows_are_changed_in_their_place);
}
