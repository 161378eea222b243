#include "engine/data/arrays/idx_header.h"
#include "engine/data/datasets/meta.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* An IDX file of that type and shape. Owned by the caller. */
static uint8_t *idx_make(uint8_t type, int dimensions, const uint32_t *shape, const void *values,
                         size_t values_bytes, size_t *size) {
  *size = 4 + 4 * (size_t)dimensions + values_bytes;
  uint8_t *bytes = malloc(*size);
  bytes[0] = bytes[1] = 0;
  bytes[2] = type;
  bytes[3] = (uint8_t)dimensions;
  for (int i = 0; i < dimensions; i++)
    for (int b = 0; b < 4; b++) bytes[4 + 4 * i + b] = (uint8_t)(shape[i] >> (24 - 8 * b));
  memcpy(bytes + 4 + 4 * (size_t)dimensions, values, values_bytes);
  return bytes;
}

/* Reads the bytes as the training set's x. */
static ep_status part_ingest(const void *bytes, size_t size, ep_role role, ep_dataset_meta *meta,
                             ep_error *error) {
  char source[192];
  snprintf(source, sizeof source, "%s", scratch_write("upload", bytes, size));
  snprintf(scratch_folder, sizeof scratch_folder, "%s/set", scratch_root);
  if (mkdir(scratch_folder, 0755) != 0) scratch_empty(scratch_folder);
  memset(error, 0, sizeof *error);
  return ep_dataset_ingest_part(scratch_open(source), scratch_folder, EP_SPLIT_TRAIN, role, NULL,
                                1 << 20, meta, error);
}

static const struct {
  uint8_t code;
  ep_dtype dtype;
} types[] = {{0x08, EP_DTYPE_U8},  {0x09, EP_DTYPE_I8},  {0x0B, EP_DTYPE_I16},
             {0x0C, EP_DTYPE_I32}, {0x0D, EP_DTYPE_F32}, {0x0E, EP_DTYPE_F64}};

/* 1, 2, … in the type, big-endian. */
static size_t values_make(ep_dtype dtype, int count, uint8_t *out) {
  size_t width = ep_dtype_bytes(dtype);
  for (int i = 0; i < count; i++) {
    float f4 = (float)(i + 1);
    double f8 = i + 1;
    uint64_t whole = (uint64_t)i + 1;
    const void *source = dtype == EP_DTYPE_F32   ? (const void *)&f4
                         : dtype == EP_DTYPE_F64 ? (const void *)&f8
                                                 : (const void *)&whole;
    for (size_t b = 0; b < width; b++)
      out[(size_t)i * width + b] = ((const uint8_t *)source)[width - 1 - b];
  }
  return width * (size_t)count;
}

START_TEST(every_type_and_dimension_is_read) {
  static const uint32_t shapes[4][4] = {{24}, {4, 6}, {4, 2, 3}, {2, 2, 2, 3}};
  uint8_t values[24 * 8];
  for (int dimensions = 1; dimensions <= 4; dimensions++) {
    const uint32_t *shape = shapes[dimensions - 1];
    size_t size, bytes = values_make(types[_i].dtype, 24, values);
    ep_dataset_meta meta;
    ep_error error;
    ep_table table;
    uint8_t *file = idx_make(types[_i].code, dimensions, shape, values, bytes, &size);
    ck_assert_msg(part_ingest(file, size, EP_ROLE_X, &meta, &error) == EP_OK, "%s", error.message);
    const ep_part *part = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_X];
    ck_assert_str_eq(meta.format, "idx");
    ck_assert_int_eq(part->dimensions, dimensions - 1);
    for (int i = 1; i < dimensions; i++) ck_assert_int_eq(part->shape[i - 1], shape[i]);
    ck_assert_str_eq(part->sha256, meta.sha256);
    scratch_part("train.x", &table);
    ck_assert_int_eq(table.dtype, types[_i].dtype);
    ck_assert_int_eq(table.dimensions, dimensions - 1);
    for (int i = 0; i < 24; i++)
      ck_assert_double_eq(ep_table_value(&table, i / table.columns, i % table.columns), i + 1);
    ep_table_close(&table);
    ep_dataset_meta_deinit(&meta);
    free(file);
  }
}
END_TEST

static const struct {
  uint8_t type, dimensions;
  uint32_t shape[5];
  size_t values_bytes;
  ep_status status;
  const char *message;
} bad[] = {
    {0x08,
     2,
     {2, 3},
     5,
     EP_INVALID,
     "IDX: the header declares 6 bytes of values (2 × 3 × 1), the file has 5"},
    {0x08,
     2,
     {2, 3},
     7,
     EP_INVALID,
     "IDX: the header declares 6 bytes of values (2 × 3 × 1), the file has 7"},
    {0x0E,
     2,
     {2, 3},
     6,
     EP_INVALID,
     "IDX: the header declares 48 bytes of values (2 × 3 × 8), the file has 6"},
    {0x0A, 1, {4}, 4, EP_INVALID, "IDX: unknown type 0x0A"},
    {0x08, 0, {0}, 4, EP_INVALID, "IDX: 0 dimensions: 1 to 4 are supported"},
    {0x08, 5, {1, 1, 1, 1, 1}, 1, EP_INVALID, "IDX: 5 dimensions: 1 to 4 are supported"},
    {0x08, 2, {0, 3}, 0, EP_INVALID, "IDX: the array has no values"},
    {0x08, 2, {3, 0}, 0, EP_INVALID, "IDX: the array has no values"},
    {0x08, 2, {1, 65537}, 8, EP_TOO_LARGE, "IDX: 65537 columns: the limit is 65536"},
    {0x08, 1, {0xFFFFFFFF}, 8, EP_TOO_LARGE, "IDX: 4294967295 rows: the limit is 2147483648"},
    {0x0E,
     4,
     {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
     8,
     EP_TOO_LARGE,
     "IDX: the shape is too large"},
};

START_TEST(bad_files_are_refused) {
  uint8_t values[16] = {0};
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  uint8_t *file = idx_make(bad[_i].type, bad[_i].dimensions, bad[_i].shape, values,
                           bad[_i].values_bytes, &size);
  ck_assert_int_eq(part_ingest(file, size, EP_ROLE_X, &meta, &error), bad[_i].status);
  ck_assert_str_eq(error.message, bad[_i].message);
  free(file);
}
END_TEST

START_TEST(a_head_that_is_cut_is_refused) {
  uint8_t bytes[] = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7};
  ep_dataset_meta meta;
  ep_error error;
  for (size_t size = 4; size < sizeof bytes; size++)
    ck_assert_int_eq(part_ingest(bytes, size, EP_ROLE_X, &meta, &error), EP_INVALID);
  ck_assert_int_eq(part_ingest(bytes, sizeof bytes, EP_ROLE_X, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  scratch_refused(bytes, sizeof bytes, NULL, EP_INVALID,
                  "IDX: an array of 3 dimensions is not a table with a target: upload x and y as "
                  "the parts train/x and train/y");
}
END_TEST

START_TEST(one_hot_rows_are_known) {
  static const struct {
    uint8_t values[6];
    bool one_hot;
  } cases[] = {{{1, 0, 0, 0, 0, 1}, true},
               {{1, 0, 0, 0, 0, 0}, false},
               {{1, 0, 0, 1, 1, 0}, false},
               {{2, 0, 0, 0, 0, 1}, false},
               {{0, 1, 0, 1, 0, 255}, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int wide = 0; wide < 2; wide++) { /* as bytes, and as 32-bit integers */
      uint8_t values[24] = {0};
      size_t size;
      ep_dataset_meta meta;
      ep_error error;
      for (int j = 0; j < 6; j++) values[wide ? 4 * j + 3 : j] = cases[i].values[j];
      uint8_t *file = idx_make(wide ? 0x0C : 0x08, 2, (uint32_t[]){2, 3}, values,
                               wide ? sizeof values : 6, &size);
      ck_assert_int_eq(part_ingest(file, size, EP_ROLE_Y, &meta, &error), EP_OK);
      ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_Y].one_hot, cases[i].one_hot);
      ep_dataset_meta_deinit(&meta);
      free(file);
    }
}
END_TEST

START_TEST(extremes_of_bytes_are_found_by_column) {
  static const double least[] = {7, 100, 3}, greatest[] = {9, 200, 255};
  uint8_t values[6] = {7, 200, 3, 9, 100, 255};
  size_t size;
  ep_dataset_meta meta, again;
  ep_error error;
  uint8_t *file = idx_make(0x08, 2, (uint32_t[]){2, 3}, values, sizeof values, &size);
  ck_assert_int_eq(part_ingest(file, size, EP_ROLE_X, &meta, &error), EP_OK);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &again, &error), EP_OK);
  for (int i = 0; i < 3; i++) {
    const ep_column *column = &again.part[EP_SPLIT_TRAIN][EP_ROLE_X].column[i];
    ck_assert_double_eq(column->min, least[i]);
    ck_assert_double_eq(column->max, greatest[i]);
    ck_assert(column->integer);
  }
  ck_assert_int_eq(again.part[EP_SPLIT_TRAIN][EP_ROLE_X].bytes, (int64_t)size);
  ep_dataset_meta_deinit(&meta);
  ep_dataset_meta_deinit(&again);
  free(file);
}
END_TEST

EP_SUITE("idx") {
  TCase *files = ep_suite_case(suite, "files");
  tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
  tcase_add_loop_test(files, every_type_and_dimension_is_read, 0, sizeof types / sizeof *types);
  tcase_add_loop_test(files, bad_files_are_refused, 0, sizeof bad / sizeof *bad);
  tcase_add_test(files, a_head_that_is_cut_is_refused);
  tcase_add_test(files, one_hot_rows_are_known);
  tcase_add_test(files, extremes_of_bytes_are_found_by_column);
}
