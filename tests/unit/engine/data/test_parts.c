/* Tests of data that comes in parts, and of what becomes of it: shapes, bytes, one-hot classes,
 * files below an allowed folder. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "api/json/problem.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/parts.h"
#include "engine/data/prepare/prepare.h"
#include "engine/data/prepare/shape.h"
#include "engine/data/sources/allowed_paths.h"
#include "engine/data/sources/path_source.h"
#include "engine/data/sources/table_walk.h"
#include "engine/plan/plan.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

enum { ROWS = 10, SIDE = 2, PIXELS = SIDE * SIDE };

/* NPY of [rows, shape…] values of the type. Owned by the caller. */
static uint8_t *npy_make(ep_dtype dtype, int64_t rows, int dimensions, const int64_t *shape,
                         const void *values, size_t *size) {
  size_t bytes = (size_t)rows * ep_dtype_bytes(dtype);
  for (int i = 0; i < dimensions; i++) bytes *= (size_t)shape[i];
  *size = EP_NPY_CANONICAL_BYTES + bytes;
  uint8_t *out = malloc(*size);
  ep_npy_header_format(dtype, rows, dimensions, shape, out);
  memcpy(out + EP_NPY_CANONICAL_BYTES, values, bytes);
  return out;
}

static uint8_t pixel(int row, int i) {
  return (uint8_t)(20 * row + i);
}

/* x: ROWS images [2, 2] of bytes. */
static uint8_t *images_make(size_t *size) {
  uint8_t x[ROWS * PIXELS];
  for (int i = 0; i < ROWS * PIXELS; i++) x[i] = pixel(i / PIXELS, i % PIXELS);
  return npy_make(EP_DTYPE_U8, ROWS, 2, (int64_t[]){SIDE, SIDE}, x, size);
}

static void folder_make(const char *name, char out[256]) {
  snprintf(out, 256, "%s/%s", scratch_root, name);
  ck_assert_int_eq(mkdir(out, 0755), 0);
}

/* A part in a folder of its own, completed by `before`. */
static void part_put(const char *name, const char *before, ep_split split, ep_role role,
                     const uint8_t *bytes, size_t size, char folder[256]) {
  char source[192];
  ep_dataset_meta meta;
  ep_error error = {0};
  snprintf(source, sizeof source, "%s", scratch_write("upload", bytes, size));
  folder_make(name, folder);
  ck_assert_msg(ep_dataset_ingest_part(scratch_open(source), folder, split, role, NULL, 1 << 20,
                                       &meta, &error) == EP_OK,
                "%s", error.message);
  ep_dataset_meta_deinit(&meta);
  ck_assert_msg(ep_dataset_complete(folder, before, &error) == EP_OK, "%s", error.message);
}

/* A folder with the images and their targets, one of `classes` one-hot columns or, with 0, a list
 * of classes: a row's number modulo 3. */
static void images_put(int64_t classes, char folder[256]) {
  size_t size;
  uint8_t y[ROWS * 4] = {0};
  char first[256];
  uint8_t *bytes = images_make(&size);
  part_put("one", NULL, EP_SPLIT_TRAIN, EP_ROLE_X, bytes, size, first);
  free(bytes);
  for (int i = 0; i < ROWS; i++)
    y[classes ? i * classes + i % 3 : i] = classes ? 1 : (uint8_t)(i % 3);
  bytes = npy_make(EP_DTYPE_U8, ROWS, classes ? 1 : 0, &classes, y, &size);
  part_put("two", first, EP_SPLIT_TRAIN, EP_ROLE_Y, bytes, size, folder);
  free(bytes);
}

static ep_data_shape shape_of(const ep_data_spec *spec, const char *folder) {
  bool there;
  ep_dataset_meta meta;
  ep_data_shape shape;
  ep_error error = {0};
  ep_problem problem = {0};
  ck_assert_msg(ep_data_describe(spec, folder, true, &there, &meta, &error) == EP_OK, "%s",
                error.message);
  ck_assert(there);
  ck_assert_msg(ep_data_shape_find(spec, &meta, &shape, &problem) == EP_OK, "%s", problem.detail);
  ep_dataset_meta_deinit(&meta);
  return shape;
}

START_TEST(parts_make_a_content) {
  char folder[256], again[256];
  ep_dataset_meta first, second;
  ep_error error = {0};
  size_t size;
  images_put(0, folder);
  ck_assert_int_eq(ep_dataset_meta_read(folder, &first, &error), EP_OK);
  ck_assert_str_eq(first.format, "parts");
  ck_assert_int_eq(first.part[EP_SPLIT_TRAIN][EP_ROLE_X].dimensions, 2);
  ck_assert_int_eq(first.part[EP_SPLIT_TRAIN][EP_ROLE_Y].dimensions, 0);
  ck_assert_int_eq(first.bytes, 2 * EP_NPY_CANONICAL_BYTES + ROWS * PIXELS + ROWS);
  uint8_t *bytes = images_make(&size); /* the same part over itself changes nothing */
  part_put("three", folder, EP_SPLIT_TRAIN, EP_ROLE_X, bytes, size, again);
  ck_assert_int_eq(ep_dataset_meta_read(again, &second, &error), EP_OK);
  ck_assert_str_eq(first.sha256, second.sha256);
  ep_dataset_meta_deinit(&second);
  part_put("four", folder, EP_SPLIT_TEST, EP_ROLE_X, bytes, size, again);
  ck_assert_int_eq(ep_dataset_meta_read(again, &second, &error), EP_OK);
  ck_assert_str_ne(first.sha256, second.sha256);
  ck_assert_int_eq(ep_dataset_pairs_check(&first, &error), EP_OK);
  ck_assert_int_eq(ep_dataset_pairs_check(&second, &error), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "test/y"));
  ck_assert_str_eq(error.pointer, "/data/dataset");
  ep_dataset_meta_deinit(&first);
  ep_dataset_meta_deinit(&second);
  free(bytes);
}
END_TEST

START_TEST(a_table_takes_no_parts) {
  ep_dataset_meta meta;
  ep_error error;
  size_t size;
  char folder[256], source[192];
  ck_assert_int_eq(scratch_ingest("a,b\n1,2\n", 8, NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  uint8_t *bytes = images_make(&size);
  snprintf(source, sizeof source, "%s", scratch_write("upload2", bytes, size));
  folder_make("part", folder);
  ck_assert_int_eq(ep_dataset_ingest_part(scratch_open(source), folder, EP_SPLIT_TRAIN, EP_ROLE_X,
                                          NULL, 1 << 20, &meta, &error),
                   EP_OK);
  ep_dataset_meta_deinit(&meta);
  ck_assert_int_eq(ep_dataset_complete(folder, scratch_folder, &error), EP_CONFLICT);
  free(bytes);
}
END_TEST

START_TEST(images_have_a_shape) {
  char folder[256];
  images_put(0, folder);
  ep_data_spec spec = {.source = EP_DATA_DATASET, .split_seed = 1};
  ep_data_shape shape = shape_of(&spec, folder);
  ck_assert(shape.row.channels == 1 && shape.row.height == SIDE && shape.row.width == SIDE);
  ck_assert(shape.x_type == EP_X_UINT8 && shape.x_integer && shape.classes == 3);
  ck_assert(shape.x_min == 0 && shape.x_max == pixel(ROWS - 1, PIXELS - 1));
  spec.shape[0] = PIXELS;
  spec.shape[1] = spec.shape[2] = 1;
  ck_assert_int_eq(shape_of(&spec, folder).row.channels, PIXELS);
  spec.standardize_x = true;
  ck_assert_int_eq(shape_of(&spec, folder).x_type, EP_X_FLOAT32);
  spec.shape[0] = 5;
  ep_dataset_meta meta;
  ep_error error = {0};
  ep_problem problem = {0};
  ck_assert_int_eq(ep_dataset_meta_read(folder, &meta, &error), EP_OK);
  ck_assert_int_eq(ep_data_shape_find(&spec, &meta, &shape, &problem), EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/data/shape");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

static void prepare(const ep_data_spec *spec, ep_loss_type loss, const char *folder,
                    ep_prepared *out) {
  ep_error error = {0};
  ck_assert_msg(ep_prepare(spec, loss, folder, out, &error) == EP_OK, "%s", error.message);
}

START_TEST(bytes_stay_bytes) {
  char folder[256];
  ep_prepared prepared;
  double mean = 0.25, std = 0.5;
  images_put(0, folder);
  ep_data_spec spec = {.source = EP_DATA_DATASET, .split_seed = 1};
  prepare(&spec, EP_LOSS_NLL, folder, &prepared);
  ck_assert_int_eq(prepared.x_type, EP_X_UINT8);
  ck_assert_ptr_null(prepared.x_owned[EP_SPLIT_TRAIN]); /* where they lie */
  const uint8_t *x = prepared.x[EP_SPLIT_TRAIN];
  for (int i = 0; i < ROWS * PIXELS; i++) ck_assert_int_eq(x[i], pixel(i / PIXELS, i % PIXELS));
  ck_assert_float_eq(prepared.x_scale[0], 1);
  ck_assert_float_eq(prepared.x_shift[0], 0);
  for (int i = 0; i < ROWS; i++) ck_assert_int_eq(prepared.classes[EP_SPLIT_TRAIN][i], i % 3);
  ep_prepared_deinit(&prepared);

  spec.normalize = true;
  spec.normalize_mean = &mean;
  spec.normalize_std = &std;
  spec.normalize_channels = 1;
  spec.test = 0.3;
  prepare(&spec, EP_LOSS_NLL, folder, &prepared);
  ck_assert_ptr_nonnull(prepared.x_owned[EP_SPLIT_TRAIN]);
  ck_assert_float_eq(prepared.x_scale[0], (float)(1 / 255.0 / 0.5));
  ck_assert_float_eq(prepared.x_shift[0], -0.5f);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) { /* rows go with their classes */
    const uint8_t *rows = prepared.x[split];
    for (int i = 0; i < prepared.rows[split]; i++)
      ck_assert_int_eq(prepared.classes[split][i], rows[i * PIXELS] / 20 % 3);
  }
  uint8_t first = *(const uint8_t *)prepared.x[EP_SPLIT_TEST];
  ep_error error = {0};
  ck_assert_int_eq(ep_prepared_widen(&prepared, &error), EP_OK);
  ck_assert_int_eq(prepared.x_type, EP_X_FLOAT32);
  ck_assert_float_eq_tol(*(const float *)prepared.x[EP_SPLIT_TEST],
                         (float)((first / 255.0 - mean) / std), 1e-6f);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(standardized_bytes_are_floats) {
  char folder[256];
  ep_prepared prepared;
  images_put(0, folder);
  ep_data_spec spec = {.source = EP_DATA_DATASET, .split_seed = 1, .standardize_x = true};
  prepare(&spec, EP_LOSS_NLL, folder, &prepared);
  ck_assert_int_eq(prepared.x_type, EP_X_FLOAT32);
  ck_assert_ptr_null(prepared.x_scale);
  const float *x = prepared.x[EP_SPLIT_TRAIN];
  ck_assert_float_eq_tol(x[0], (float)(-90 / sqrt(20 * 20 * 8.25)), 1e-5f);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(one_hot_columns_are_classes) {
  char folder[256];
  ep_prepared prepared;
  images_put(4, folder);
  ep_data_spec spec = {.source = EP_DATA_DATASET, .split_seed = 1};
  ep_data_shape shape = shape_of(&spec, folder);
  ck_assert(shape.one_hot && shape.target_columns == 4);
  prepare(&spec, EP_LOSS_CROSS_ENTROPY, folder, &prepared);
  ck_assert_int_eq(prepared.target_columns, 1);
  for (int i = 0; i < ROWS; i++) ck_assert_int_eq(prepared.classes[EP_SPLIT_TRAIN][i], i % 3);
  ep_prepared_deinit(&prepared);
  prepare(&spec, EP_LOSS_MSE, folder,
          &prepared); /* as they are, for a loss that compares columns */
  ck_assert_int_eq(prepared.target_columns, 4);
  ck_assert_float_eq(prepared.y[EP_SPLIT_TRAIN][4 * 1 + 1], 1);
  ep_prepared_deinit(&prepared);
}
END_TEST

START_TEST(floats_are_normalized_by_channel) {
  char first[256], folder[256];
  size_t size;
  ep_prepared prepared;
  float x[2 * 2 * 1 * 2] = {1, 2, 3, 4, 5, 6, 7, 8}, y[2] = {0, 1}; /* [2, 2, 1, 2] */
  double mean[] = {1, 2}, std[] = {2, 4};
  uint8_t *bytes = npy_make(EP_DTYPE_F32, 2, 3, (int64_t[]){2, 1, 2}, x, &size);
  part_put("one", NULL, EP_SPLIT_TRAIN, EP_ROLE_X, bytes, size, first);
  free(bytes);
  bytes = npy_make(EP_DTYPE_F32, 2, 0, NULL, y, &size);
  part_put("two", first, EP_SPLIT_TRAIN, EP_ROLE_Y, bytes, size, folder);
  free(bytes);
  ep_data_spec spec = {.source = EP_DATA_DATASET, .split_seed = 1};
  prepare(&spec, EP_LOSS_MSE, folder, &prepared);
  ck_assert_ptr_null(prepared.x_owned[EP_SPLIT_TRAIN]);
  ck_assert_int_eq(memcmp(prepared.x[EP_SPLIT_TRAIN], x, sizeof x), 0);
  ep_prepared_deinit(&prepared);
  spec.normalize = true;
  spec.normalize_mean = mean;
  spec.normalize_std = std;
  spec.normalize_channels = 2;
  spec.scale = 10;
  prepare(&spec, EP_LOSS_MSE, folder, &prepared);
  const float *scaled = prepared.x[EP_SPLIT_TRAIN];
  for (int i = 0; i < 8; i++) {
    int c = i / 2 % 2;
    ck_assert_float_eq_tol(scaled[i], (float)((10.0 * x[i] - mean[c]) / std[c]), 1e-5f);
  }
  ep_prepared_deinit(&prepared);
  spec.normalize_channels = 3;
  ep_error error = {0};
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_MSE, folder, &prepared, &error), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/data/normalize");
}
END_TEST

/* A folder of files as they are mapped: x as NPY, y as IDX. */
static void files_make(char folder[256]) {
  size_t size;
  uint8_t y[8 + ROWS] = {0, 0, 8, 1, 0, 0, 0, ROWS};
  folder_make("allowed", folder);
  uint8_t *bytes = images_make(&size);
  scratch_write("allowed/x_train.npy", bytes, size);
  scratch_write("allowed/train-labels-idx1-ubyte", y, sizeof y);
  scratch_write("allowed/train-labels-idx1-ubyte.gz", "none", 4); /* not looked at */
  scratch_write("allowed/readme.txt", "x", 1);
  free(bytes);
}

START_TEST(files_are_used_where_they_lie) {
  char folder[256];
  ep_error error = {0};
  ep_prepared prepared;
  files_make(folder);
  ck_assert_int_eq(ep_allowed_paths_add(folder, &error), EP_OK);
  ep_data_spec spec = {.source = EP_DATA_PATH, .split_seed = 1, .path = "."};
  ep_data_shape shape = shape_of(&spec, NULL);
  ck_assert(shape.train_rows == ROWS && shape.x_type == EP_X_UINT8 && shape.classes == 1);
  prepare(&spec, EP_LOSS_NLL, NULL, &prepared);
  ck_assert_ptr_null(prepared.x_owned[EP_SPLIT_TRAIN]);
  ck_assert_int_eq(((const uint8_t *)prepared.x[EP_SPLIT_TRAIN])[5], pixel(1, 1));
  ep_prepared_deinit(&prepared);
  scratch_write("allowed/train.x.npy", "again", 5);
  ck_assert_int_eq(ep_prepare(&spec, EP_LOSS_NLL, NULL, &prepared, &error), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "the same part"));
  ck_assert_str_eq(error.pointer, "/data/path");
  ep_allowed_paths_clear();
}
END_TEST

START_TEST(a_file_that_is_none_is_told) {
  char folder[256];
  ep_error error = {0};
  ep_path_source source;
  files_make(folder);
  scratch_write("allowed/x_train.npy", "\x93NUMPY\x01", 7); /* cut in its header */
  ck_assert_int_eq(ep_allowed_paths_add(folder, &error), EP_OK);
  ck_assert_int_ne(ep_path_source_open(".", &source, &error), EP_OK);
  ck_assert_str_eq(error.pointer, "/data/path");
  ck_assert_str_eq(error.message, "not an NPY file");
  ep_allowed_paths_clear();
}
END_TEST

static void openings_check(void) {
  char folder[256], path[512];
  int file;
  ep_error error = {0};
  files_make(folder);
  ck_assert_int_eq(ep_allowed_paths_open("x_train.npy", &file, &error),
                   EP_INVALID); /* none is allowed */
  ck_assert_int_eq(ep_allowed_paths_add("/none/such", &error), EP_NOT_FOUND);
  ck_assert_int_eq(ep_allowed_paths_add(folder, &error), EP_OK);
  ck_assert_int_eq(ep_allowed_paths_open("x_train.npy", &file, &error), EP_OK);
  close(file);
  snprintf(path, sizeof path, "%s//x_train.npy", folder);
  ck_assert_int_eq(ep_allowed_paths_open(path, &file, &error), EP_OK);
  close(file);
  scratch_write("secret", "x", 1);
  snprintf(path, sizeof path, "%s/link", folder);
  ck_assert_int_eq(symlink("../secret", path), 0);
  snprintf(path, sizeof path, "%s/pipe", folder);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  snprintf(path, sizeof path, "%s2", folder); /* a folder whose name only starts alike */
  ck_assert_int_eq(mkdir(path, 0700), 0);
  static const char *const wrong[] = {"../secret",      "link", "pipe",
                                      "x/../../secret", "none", "./../secret"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_msg(ep_allowed_paths_open(wrong[i], &file, &error) == EP_INVALID, "%s", wrong[i]);
    ck_assert_str_eq(error.pointer, "/data/path");
    ck_assert_int_eq(file, -1);
  }
  ck_assert_int_eq(ep_allowed_paths_open(path, &file, &error), EP_INVALID);
  ck_assert_int_eq(ep_allowed_paths_open(scratch_file("secret"), &file, &error), EP_INVALID);
  ep_allowed_paths_clear();
}

START_TEST(nothing_else_is_opened) {
  openings_check();
}
END_TEST

/* Where there is no openat2: a filter of this process says so, as old kernels do. */
START_TEST(the_walk_by_names_is_as_strict) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
  ck_assert_int_eq((int)syscall(SYS_openat2, AT_FDCWD, ".", NULL, 0), -1);
  ck_assert_int_eq(errno, ENOSYS);
  openings_check();
}
END_TEST

EP_SUITE("parts") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, parts_make_a_content);
  tcase_add_test(all, a_table_takes_no_parts);
  tcase_add_test(all, images_have_a_shape);
  tcase_add_test(all, bytes_stay_bytes);
  tcase_add_test(all, standardized_bytes_are_floats);
  tcase_add_test(all, one_hot_columns_are_classes);
  tcase_add_test(all, floats_are_normalized_by_channel);
  tcase_add_test(all, files_are_used_where_they_lie);
  tcase_add_test(all, a_file_that_is_none_is_told);
  tcase_add_test(all, nothing_else_is_opened);
  tcase_add_test(all, the_walk_by_names_is_as_strict);
}
