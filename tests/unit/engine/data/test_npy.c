#include <math.h>

#include "engine/data/arrays/npy_header.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* A file of the given version: its head padded to 64 as NumPy does, then the values. */
static uint8_t *npy_make(int version, const char *header, const void *values, size_t values_bytes,
                         size_t *size) {
  size_t prefix = version == 1 ? 10 : 12, length = strlen(header) + 1;
  length += (64 - (prefix + length) % 64) % 64;
  *size = prefix + length + values_bytes;
  uint8_t *bytes = malloc(*size);
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (uint8_t)version;
  bytes[7] = 0;
  for (size_t i = 8; i < prefix; i++) bytes[i] = (uint8_t)(length >> 8 * (i - 8));
  memset(bytes + prefix, ' ', length);
  memcpy(bytes + prefix, header, strlen(header));
  bytes[prefix + length - 1] = '\n';
  memcpy(bytes + prefix + length, values, values_bytes);
  return bytes;
}

/* 2 rows, 3 columns: 1 2 3 / 4 5 6 in each type, both orders, both byte orders. */
static void type_check(ep_dtype dtype, bool big_endian, bool fortran, int version) {
  uint8_t values[6 * 8];
  char header[128];
  size_t width = ep_dtype_bytes(dtype), size;
  for (int place = 0; place < 6; place++) {
    int number = fortran ? place / 2 + 3 * (place % 2) + 1 : place + 1;
    float f4 = (float)number;
    double f8 = number;
    uint64_t whole = (uint64_t)(dtype == EP_DTYPE_BOOL ? number % 2 : number);
    const void *source = dtype == EP_DTYPE_F32   ? (const void *)&f4
                         : dtype == EP_DTYPE_F64 ? (const void *)&f8
                                                 : (const void *)&whole;
    for (size_t i = 0; i < width; i++)
      values[(size_t)place * width + i] = ((const uint8_t *)source)[big_endian ? width - 1 - i : i];
  }
  snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (2, 3), }",
           big_endian ? '>' : (width == 1 ? '|' : '<'), ep_dtype_name(dtype),
           fortran ? "True" : "False");
  uint8_t *bytes = npy_make(version, header, values, 6 * width, &size);
  ep_dataset_meta meta;
  ep_error error;
  ep_table table;
  ck_assert_msg(scratch_ingest(bytes, size, NULL, &meta, &error) == EP_OK, "%s: %s", header,
                error.message);
  ck_assert_str_eq(meta.format, "npy");
  scratch_part("train.table", &table);
  ck_assert_int_eq(table.dtype, dtype);
  ck_assert(table.rows == 2 && table.columns == 3);
  for (int i = 0; i < 6; i++)
    ck_assert_double_eq(ep_table_value(&table, i / 3, i % 3),
                        dtype == EP_DTYPE_BOOL ? (i + 1) % 2 : i + 1);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(bytes);
}

START_TEST(every_type_and_order_is_read) {
  for (int dtype = 0; dtype < EP_DTYPE_COUNT; dtype++)
    for (int order = 0; order < 4; order++)
      type_check((ep_dtype)dtype, order & 1, order & 2, 1 + (dtype + order) % 3);
}
END_TEST

START_TEST(extremes_of_integers_are_read) {
  int64_t i8[3] = {INT64_MIN, INT64_MAX, -1};
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  uint8_t *bytes =
      npy_make(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", i8, sizeof i8, &size);
  ck_assert_int_eq(scratch_ingest(bytes, size, NULL, &meta, &error), EP_OK);
  const ep_part *part = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ck_assert(part->rows == 3 && part->columns == 1);
  ck_assert_double_eq(part->column[0].min, -0x1p63);
  ck_assert_double_eq(part->column[0].max, 0x1p63);
  ck_assert(part->column[0].integer);
  ep_dataset_meta_deinit(&meta);
  free(bytes);
}
END_TEST

/* [2, 2, 3] in Fortran order: element (i, j, k) lies at i + 2 j + 4 k and is 100 i + 10 j + k. */
START_TEST(more_dimensions_are_flattened) {
  int16_t values[12];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 3; k++) values[i + 2 * j + 4 * k] = (int16_t)(100 * i + 10 * j + k);
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  ep_table table;
  uint8_t *bytes =
      npy_make(2, "{\"shape\": (2L, 2L, 3L), \"descr\": \"<i2\", \"fortran_order\": True}", values,
               sizeof values, &size);
  ck_assert_msg(scratch_ingest(bytes, size, NULL, &meta, &error) == EP_OK, "%s", error.message);
  scratch_part("train.table", &table);
  ck_assert(table.rows == 2 && table.columns == 6);
  for (int i = 0; i < 2; i++)
    for (int c = 0; c < 6; c++)
      ck_assert_double_eq(ep_table_value(&table, i, c), 100 * i + 10 * (c / 3) + c % 3);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(bytes);
}
END_TEST

#define PROMISE "NPY: the header must be a dictionary of descr, fortran_order and shape"
static const struct {
  const char *header, *message;
  size_t values_bytes;
  ep_status status;
} bad[] = {
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}",
     "NPY: the header declares 48 bytes of values (2 × 3 × 8), the file has 47", 47, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}",
     "NPY: the header declares 48 bytes of values (2 × 3 × 8), the file has 49", 49, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (65536, 65536)}",
     "NPY: the header declares 34359738368 bytes of values (65536 × 65536 × 8), the file has 8", 8,
     EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}", "NPY: the array has no values", 0,
     EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0)}", "NPY: the array has no values", 0,
     EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}",
     "NPY: a single number is not a table; at least one dimension is required", 8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 4294967296, 4294967296)}",
     "NPY: the shape is too large", 8, EP_TOO_LARGE},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
     "NPY: a dimension of the shape is not a 64-bit integer", 8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
     "NPY: a dimension of the shape is not a 64-bit integer", 8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 65537)}",
     "NPY: 65537 columns: the limit is 65536", 8, EP_TOO_LARGE},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (2147483649,)}",
     "NPY: 2147483649 rows: the limit is 2147483648", 8, EP_TOO_LARGE},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (2147483648,)}",
     "NPY: the header declares 2147483648 bytes of values (2147483648 × 1 × 1), the file has 8", 8,
     EP_INVALID},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (4,)}",
     "NPY: type \"<f2\" is not supported; store it as float32, float64, an integer type or bool", 8,
     EP_INVALID},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
     "NPY: type \"|O\" is not supported; store it as float32, float64, an integer type or bool", 8,
     EP_INVALID},
    {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
     "NPY: structured types are not supported, only plain numbers (float32, float64, int8 to "
     "int64, "
     "uint8 to uint64, bool)",
     8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False}", PROMISE, 8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': None, 'shape': (1,)}", PROMISE, 8, EP_INVALID},
    {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", PROMISE, 8,
     EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", PROMISE, 8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x", PROMISE, 8, EP_INVALID},
    {"{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}", PROMISE, 8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1",
     "NPY: the header's shape is not "
     "closed",
     8, EP_INVALID},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
     "NPY: the header's shape is not a tuple", 8, EP_INVALID},
    {"[]", "NPY: the header is not a dictionary", 8, EP_INVALID},
    {"", "NPY: the header is not a dictionary", 8, EP_INVALID},
};

START_TEST(bad_headers_are_refused) {
  uint8_t values[64] = {0};
  size_t size;
  uint8_t *bytes = npy_make(1, bad[_i].header, values, bad[_i].values_bytes, &size);
  scratch_refused(bytes, size, NULL, bad[_i].status, bad[_i].message);
  free(bytes);
}
END_TEST

START_TEST(heads_that_lie_about_themselves_are_refused) {
  uint8_t tiny[12] = "\x93NUMPY\x01\0\xFF\xFF";
  scratch_refused(tiny, 6, NULL, EP_INVALID, "not an NPY file");
  scratch_refused(tiny, 10, NULL, EP_INVALID, "NPY: the file ends inside its header");
  tiny[6] = 4;
  scratch_refused(tiny, 10, NULL, EP_INVALID,
                  "NPY: unsupported version 4, only 1 to 3 are supported");
  tiny[6] = 2;
  scratch_refused(tiny, 11, NULL, EP_INVALID, "NPY: the file ends inside its header");
  memcpy(tiny + 8, "\x01\x00\x01\x00", 4);
  scratch_refused(tiny, 12, NULL, EP_TOO_LARGE, "NPY: a header of 65537 bytes: the limit is 65536");
  memcpy(tiny + 8, "\x00\x00\x01\x00", 4);
  scratch_refused(tiny, 12, NULL, EP_INVALID, "NPY: the file ends inside its header");
}
END_TEST

START_TEST(dimensions_hold_their_limit) {
  double value = 1;
  for (int dimensions = EP_LIMIT_NPY_DIMENSIONS; dimensions <= EP_LIMIT_NPY_DIMENSIONS + 1;
       dimensions++) {
    char header[256] = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < dimensions; i++) strcat(header, "1,");
    strcat(header, ")}");
    size_t size;
    ep_array_header parsed;
    ep_error error = {0};
    uint8_t *bytes = npy_make(1, header, &value, sizeof value, &size);
    ck_assert_int_eq(ep_npy_header_parse(bytes, size, &parsed, &error),
                     dimensions > EP_LIMIT_NPY_DIMENSIONS ? EP_TOO_LARGE : EP_OK);
    free(bytes);
  }
}
END_TEST

START_TEST(values_that_are_not_finite_are_refused) {
  float values[4] = {1, 2, 3, NAN};
  size_t size;
  const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}";
  uint8_t *bytes = npy_make(3, header, values, sizeof values, &size);
  scratch_refused(bytes, size, NULL, EP_INVALID,
                  "row 2, column 2: NaN is not a number to train on");
  values[2] = -INFINITY;
  memcpy(bytes + size - sizeof values, values, sizeof values);
  scratch_refused(bytes, size, NULL, EP_INVALID,
                  "row 2, column 1: an infinity is not a number to train on");
  free(bytes);
}
END_TEST

START_TEST(canonical_heads_are_numpys) {
  uint8_t head[EP_NPY_CANONICAL_BYTES];
  ep_array_header parsed;
  ep_error error = {0};
  ep_npy_header_format(EP_DTYPE_I16, EP_LIMIT_ROWS, 1, (int64_t[]){EP_LIMIT_COLUMNS}, head);
  ck_assert_int_eq(memcmp(head,
                          "\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False,"
                          " 'shape': (2147483648, 65536), }",
                          80),
                   0);
  ck_assert_int_eq(head[EP_NPY_CANONICAL_BYTES - 1], '\n');
  size_t size = sizeof head + (size_t)EP_LIMIT_ROWS * EP_LIMIT_COLUMNS * 2;
  ck_assert_int_eq(ep_npy_header_parse(head, size, &parsed, &error), EP_OK); /* reads the head */
  ck_assert(parsed.rows == EP_LIMIT_ROWS && parsed.columns == EP_LIMIT_COLUMNS);
  ck_assert(parsed.dtype == EP_DTYPE_I16 && parsed.values_offset == sizeof head);
}
END_TEST

START_TEST(stored_tables_are_little_endian_c_order) {
  double values[2] = {1, 2};
  size_t size;
  ep_table table;
  ep_error error = {0};
  uint8_t *bytes = npy_make(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (2,)}", values,
                            sizeof values, &size);
  ck_assert_int_eq(ep_table_open(scratch_write("t.npy", bytes, size), &table, &error), EP_INVALID);
  ck_assert_int_eq(ep_table_open(scratch_file("none.npy"), &table, &error), EP_NOT_FOUND);
  ck_assert_int_eq(ep_table_open(scratch_write("e.npy", "", 0), &table, &error), EP_INVALID);
  free(bytes);
}
END_TEST

EP_SUITE("npy") {
  TCase *files = ep_suite_case(suite, "files");
  tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
  tcase_add_test(files, every_type_and_order_is_read);
  tcase_add_test(files, extremes_of_integers_are_read);
  tcase_add_test(files, more_dimensions_are_flattened);
  tcase_add_loop_test(files, bad_headers_are_refused, 0, sizeof bad / sizeof *bad);
  tcase_add_test(files, heads_that_lie_about_themselves_are_refused);
  tcase_add_test(files, dimensions_hold_their_limit);
  tcase_add_test(files, values_that_are_not_finite_are_refused);
  tcase_add_test(files, canonical_heads_are_numpys);
  tcase_add_test(files, stored_tables_are_little_endian_c_order);
  tcase_set_timeout(files, 60);
}
