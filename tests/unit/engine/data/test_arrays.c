/* Tests of files of many arrays: NPZ and safetensors. */
#include <zip.h>

#include "api/names.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/parts.h"
#include "engine/data/formats/array.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* A canonical NPY file of bytes 0, 1, 2, …: [rows, columns], or [rows] without columns. */
static uint8_t *npy_make(int64_t rows, int64_t columns, size_t *size) {
  int64_t count = rows * (columns > 0 ? columns : 1);
  *size = EP_NPY_CANONICAL_BYTES + (size_t)count;
  uint8_t *bytes = malloc(*size);
  ep_npy_header_format(EP_DTYPE_U8, rows, columns > 0 ? 1 : 0, &columns, bytes);
  for (int64_t i = 0; i < count; i++) bytes[EP_NPY_CANONICAL_BYTES + i] = (uint8_t)i;
  return bytes;
}

typedef struct {
  const char *name;
  int64_t rows, columns;
} array;

static zip_t *archive_make(char path[192]) {
  int code;
  snprintf(path, 192, "%s", scratch_file("made.npz"));
  unlink(path);
  zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_EXCL, &code);
  ck_assert_ptr_nonnull(archive);
  return archive;
}

/* An archive of such arrays; the list ends with a name NULL. Owned by the caller. */
static char *npz_make(const array *arrays, bool deflated, size_t *size) {
  char path[192];
  uint8_t *content[8];
  int count = 0;
  zip_t *archive = archive_make(path);
  for (; arrays[count].name; count++) {
    size_t bytes;
    content[count] = npy_make(arrays[count].rows, arrays[count].columns, &bytes);
    zip_source_t *source = zip_source_buffer(archive, content[count], bytes, 0);
    zip_int64_t index = zip_file_add(archive, arrays[count].name, source, 0);
    ck_assert_int_ge(index, 0);
    zip_set_file_compression(archive, (zip_uint64_t)index, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                             0);
  }
  ck_assert_int_eq(zip_close(archive), 0);
  while (count > 0) free(content[--count]);
  return scratch_read(path, size);
}

START_TEST(archives_are_read) {
  static const array arrays[] = {{"x_train.npy", 3, 2}, {"y_train.npy", 3, 0}, {"X_test.npy", 2, 2},
                                 {"test_y.npy", 2, 0},  {"val_x.npy", 1, 2},   {"y_val.npy", 1, 1},
                                 {NULL, 0, 0}};
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  ep_table table;
  char *bytes = npz_make(arrays, _i, &size);
  ck_assert_msg(scratch_ingest(bytes, size, NULL, &meta, &error) == EP_OK, "%s", error.message);
  ck_assert_str_eq(meta.format, "npz");
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].rows, 3);
  ck_assert_int_eq(meta.part[EP_SPLIT_TEST][EP_ROLE_X].rows, 2);
  ck_assert_int_eq(meta.part[EP_SPLIT_VALIDATION][EP_ROLE_X].rows, 1);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_Y].dimensions, 0);
  ck_assert_int_eq(meta.part[EP_SPLIT_VALIDATION][EP_ROLE_Y].dimensions, 1);
  scratch_part("train.x", &table);
  for (int i = 0; i < 6; i++) ck_assert_double_eq(ep_table_value(&table, i / 2, i % 2), i);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(bytes);
}
END_TEST

START_TEST(test_rows_may_have_no_targets) {
  static const array arrays[] = {
      {"x_train.npy", 3, 2}, {"y_train.npy", 3, 0}, {"x_test.npy", 2, 2}, {NULL, 0, 0}};
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  char *bytes = npz_make(arrays, true, &size);
  ck_assert_msg(scratch_ingest(bytes, size, NULL, &meta, &error) == EP_OK, "%s", error.message);
  ck_assert_int_eq(meta.part[EP_SPLIT_TEST][EP_ROLE_X].rows, 2);
  ck_assert_int_eq(ep_dataset_pairs_check(&meta, &error), EP_OK);
  ck_assert(ep_dataset_is_unlabelled(&meta, EP_SPLIT_TEST));
  ck_assert(!ep_dataset_is_unlabelled(&meta, EP_SPLIT_TRAIN));
  ep_dataset_meta_deinit(&meta);
  free(bytes);
}
END_TEST

static const struct {
  array arrays[4];
  const char *message;
} bad_archives[] = {
    {{{"x.npy", 3, 2}}, "NPZ: y of the train set is missing: name it y_train"},
    {{{"y_test.npy", 3, 0}}, "NPZ: x of the train set is missing: name it x_train"},
    {{{"x.npy", 3, 2}, {"y.npy", 2, 0}}, "NPZ: the train set has 3 rows of x and 2 of y"},
    {{{"x.npy", 3, 2}, {"y.npy", 3, 0}, {"x_val.npy", 1, 2}},
     "NPZ: y of the validation set is missing: name it y_validation"},
    {{{"x.npy", 3, 2}, {"x_train.npy", 3, 2}}, "NPZ: \"x_train\" duplicates x of the train set"},
    {{{"arr_0.npy", 3, 2}},
     "NPZ: unknown array \"arr_0\": the names are x_train, y_train, x_test, y_test, x_val, "
     "y_val, or x and y"},
    {{{"x", 3, 2}},
     "ZIP: \"x\" is not supported: an archive can contain NPY arrays, PNG and JPEG pictures, or "
     "one CSV, TSV, "
     "TXT, JSON or NDJSON file"},
    {{{"a.csv", 3, 2}, {"b.csv", 3, 2}},
     "ZIP: \"a.csv\" is not supported: an archive can contain NPY arrays, PNG and JPEG pictures, "
     "or one CSV, "
     "TSV, TXT, JSON or NDJSON file"},
    {{{"x.npy", 3, 2}, {"readme.txt", 3, 2}},
     "ZIP: \"readme.txt\" is not supported: an archive can contain NPY arrays, PNG and JPEG "
     "pictures, or one "
     "CSV, TSV, TXT, JSON or NDJSON file"},
};

START_TEST(bad_archives_are_refused) {
  size_t size;
  char *bytes = npz_make(bad_archives[_i].arrays, true, &size);
  scratch_refused(bytes, size, NULL, EP_INVALID, bad_archives[_i].message);
  free(bytes);
}
END_TEST

/* Its only text, in the format that this has. */
START_TEST(a_text_of_an_archive_is_read) {
  static const struct {
    const char *name[3], *text, *format, *note; /* format NULL: refused with that */
  } cases[] = {
      {{"c.csv"}, "a,b\n1,2\n3,4\n", "csv", ""},
      {{"data/C.TSV", "data/"},
       "a\tb\n1\t2\n3\t4\n",
       "csv",
       "only \"data/C.TSV\" of the archive is read"},
      {{"LICENSE", "c.json", "__MACOSX/._c.json"},
       "[{\"a\":1,\"b\":2},{\"a\":3,\"b\":4}]",
       "json",
       "only \"c.json\" of the archive is read"},
      {{"c.ndjson"}, "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n", "ndjson", ""},
      {{"c.txt"}, "PK\3\4", NULL, "nested ZIP archives are not supported"},
      {{"c.csv", "d.csv"}, "a,b\n1,2\n3,4\n", NULL, "one CSV, TSV, TXT, JSON or NDJSON file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[192];
    size_t size;
    ep_dataset_meta meta;
    ep_error error;
    zip_t *archive = archive_make(path);
    for (int k = 0; k < 3 && cases[i].name[k]; k++) {
      const char *name = cases[i].name[k];
      zip_source_t *source = zip_source_buffer(archive, cases[i].text, strlen(cases[i].text), 0);
      bool folder = name[strlen(name) - 1] == '/';
      ck_assert_int_ge(
          folder ? zip_dir_add(archive, name, 0) : zip_file_add(archive, name, source, 0), 0);
      if (folder) zip_source_free(source);
    }
    ck_assert_int_eq(zip_close(archive), 0);
    char *bytes = scratch_read(path, &size);
    ep_status status = scratch_ingest(bytes, size, NULL, &meta, &error);
    ck_assert_msg((status == EP_OK) == (cases[i].format != NULL), "%zu: %s", i, error.message);
    if (status == EP_OK) {
      ck_assert_str_eq(meta.format, cases[i].format);
      ck_assert_str_eq(meta.notes.text, cases[i].note);
      ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows, 2);
      ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].columns, 2);
      ep_dataset_meta_deinit(&meta);
    } else {
      ck_assert_msg(strstr(error.message, cases[i].note) != NULL, "%zu: %s", i, error.message);
    }
    free(bytes);
  }
}
END_TEST

START_TEST(an_empty_archive_is_refused) {
  uint8_t bytes[22] = "PK\5\6";
  scratch_refused(bytes, sizeof bytes, NULL, EP_INVALID, "NPZ: the archive is empty");
}
END_TEST

START_TEST(damaged_archives_are_refused) {
  static const array arrays[] = {{"x.npy", 9, 2}, {"y.npy", 9, 0}, {NULL, 0, 0}};
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  char *bytes = npz_make(arrays, true, &size);
  for (size_t cut = 4; cut < size; cut += 3)
    ck_assert_int_eq(scratch_ingest(bytes, cut, NULL, &meta, &error), EP_INVALID);
  size_t values = 30 + strlen("x.npy") + 40; /* within what is packed: the checksum must see it */
  bytes[values] ^= 0x55;
  ck_assert_int_eq(scratch_ingest(bytes, size, NULL, &meta, &error), EP_INVALID);
  free(bytes);
}
END_TEST

START_TEST(what_unpacks_to_too_much_is_refused) {
  static const array arrays[] = {{"x.npy", 1000, 20}, {"y.npy", 1000, 0}, {NULL, 0, 0}};
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  char *bytes = npz_make(arrays, true, &size);
  ck_assert_int_eq(scratch_ingest_within(bytes, size, NULL, 20000, &meta, &error), EP_TOO_LARGE);
  ck_assert_str_eq(error.message, "ZIP: unpacked, \"x.npy\" is larger than the limit");
  ck_assert_int_eq(scratch_ingest_within(bytes, size, NULL, 30000, &meta, &error), EP_TOO_LARGE);
  ck_assert_int_eq(scratch_ingest_within(bytes, size, NULL, 50000, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  free(bytes);
}
END_TEST

/* A file with that header, as JSON, and `values` bytes 0, 1, 2, …. Owned by the caller. */
static uint8_t *safetensors_make(const char *header, size_t values, size_t *size) {
  size_t length = strlen(header);
  *size = 8 + length + values;
  uint8_t *bytes = calloc(1, *size);
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(length >> 8 * i);
  memcpy(bytes + 8, header, length);
  for (size_t i = 0; i < values; i++) bytes[8 + length + i] = (uint8_t)i;
  return bytes;
}

START_TEST(tensors_called_x_and_y_are_data) {
  static const char header[] =
      "{\"__metadata__\": {\"a\": \"b\"}, \"y\": {\"dtype\": \"U8\", \"shape\": [2], "
      "\"data_offsets\": [12, 14]}, \"x\": {\"dtype\": \"I16\", \"shape\": [2, 1, 3], "
      "\"data_offsets\": [0, 12]}}";
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  ep_table table;
  uint8_t *bytes = safetensors_make(header, 14, &size);
  ck_assert_msg(scratch_ingest(bytes, size, NULL, &meta, &error) == EP_OK, "%s", error.message);
  ck_assert_str_eq(meta.format, "safetensors");
  ck_assert_int_eq(meta.tensors, 0);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].dimensions, 2);
  scratch_part("train.x", &table);
  ck_assert_double_eq(ep_table_value(&table, 1, 2), 10 + 256 * 11);
  ep_table_close(&table);
  scratch_part("train.y", &table);
  ck_assert_double_eq(ep_table_value(&table, 1, 0), 13);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(bytes);
}
END_TEST

START_TEST(other_tensors_are_weights) {
  static const char header[] =
      "{\"0.weight\": {\"dtype\": \"F32\", \"shape\": [2, 2, 1, 1], \"data_offsets\": [0, 16]}, "
      "\"1.num_batches_tracked\": {\"dtype\": \"I64\", \"shape\": [], \"data_offsets\": [16, 24]}}";
  size_t size, count;
  ep_dataset_meta meta, again;
  ep_error error;
  char path[256];
  uint8_t *bytes = safetensors_make(header, 24, &size);
  ck_assert_msg(scratch_ingest(bytes, size, NULL, &meta, &error) == EP_OK, "%s", error.message);
  ck_assert_int_eq(meta.tensors, 2);
  snprintf(path, sizeof path, "%s/" EP_WEIGHTS_FILE, scratch_folder);
  char *kept = scratch_read(path, &count);
  ck_assert(count == size && memcmp(kept, bytes, size) == 0);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &again, &error), EP_OK);
  ck_assert_int_eq(again.tensors, 2);
  char *text = ep_dataset_meta_format(&again, "start", "", 0, false);
  ck_assert_ptr_nonnull(strstr(text, "\"role\":\"weights\""));
  ep_dataset_meta_deinit(&meta);
  ep_dataset_meta_deinit(&again);
  free(text);
  free(kept);
  free(bytes);
}
END_TEST

#define TENSOR(name, dtype, shape, offsets) \
  "\"" name "\": {\"dtype\": \"" dtype "\", \"shape\": " shape ", \"data_offsets\": " offsets "}"
static const struct {
  const char *header, *message;
  size_t values;
} bad_tensors[] = {
    {"{" TENSOR("x", "F16", "[1]", "[0, 2]") "}",
     "safetensors: \"x\" has the unsupported type \"F16\": store it as F32", 2},
    {"{" TENSOR("0.weight", "BF16", "[1]", "[0, 2]") "}",
     "safetensors: \"0.weight\" has the unsupported type \"BF16\": store it as F32", 2},
    {"{" TENSOR("x", "U8", "[2]", "[0, 3]") "}",
     "safetensors: the shape of \"x\" takes 2 bytes, its offsets 3", 3},
    {"{" TENSOR("x", "U8", "[2]", "[0, 2]") "}",
     "safetensors: 1 bytes of the file belong to no tensor", 3},
    {"{" TENSOR("x", "U8", "[2]", "[1, 3]") "}", "safetensors: gap or overlap before \"x\"", 3},
    {"{" TENSOR("x", "U8", "[2]", "[0, 2]") ", " TENSOR("y", "U8", "[2]", "[1, 3]") "}",
     "safetensors: gap or overlap before \"y\"", 3},
    {"{" TENSOR("x", "U8", "[2]", "[0, 99]") "}", "safetensors: \"x\" lies outside the file", 2},
    {"{" TENSOR("x", "U8", "[2]", "[-2, 0]") "}", "safetensors: \"x\" lies outside the file", 2},
    {"{" TENSOR("x", "F64", "[4294967296, 4294967296]", "[0, 2]") "}",
     "safetensors: invalid shape of \"x\"", 2},
    {"{" TENSOR("x", "U8", "[-1]", "[0, 2]") "}", "safetensors: invalid shape of \"x\"", 2},
    {"{" TENSOR("x", "U8", "[2]", "[0, 2]") ", " TENSOR("z", "U8", "[1]", "[2, 3]") "}",
     "safetensors: unknown array \"z\" beside x and y: the names are x_train, y_train, x_test, "
     "y_test, x_val, y_val, or x and y",
     3},
    {"{" TENSOR("x", "U8", "[2]", "[0, 2]") "}",
     "safetensors: y of the train set is missing: name it y_train", 2},
    {"{\"x\": {\"dtype\": \"U8\"}}",
     "safetensors: \"x\" must have only dtype, shape and data_offsets", 0},
    {"{}", "safetensors: no tensors", 0},
    {"{\"__metadata__\": {}}", "safetensors: no tensors", 0},
    {"{", "safetensors: the header is not JSON (line 1, column 1)", 0},
};

START_TEST(bad_tensors_are_refused) {
  size_t size;
  uint8_t *bytes = safetensors_make(bad_tensors[_i].header, bad_tensors[_i].values, &size);
  scratch_refused(bytes, size, NULL, EP_INVALID, bad_tensors[_i].message);
  free(bytes);
}
END_TEST

START_TEST(headers_that_lie_are_refused) {
  uint8_t bytes[16] = {9, 0, 0, 0, 0, 0, 0, 0, '{'};
  scratch_refused(bytes, sizeof bytes, NULL, EP_INVALID,
                  "safetensors: the file ends inside its header");
  bytes[3] = 2;
  scratch_refused(bytes, sizeof bytes, NULL, EP_TOO_LARGE,
                  "safetensors: a header of 33554441 bytes: the limit is 16777216");
}
END_TEST

START_TEST(names_say_what_an_array_is) {
  ep_split split;
  ep_role role;
  ck_assert(ep_array_part_find("X_Train", &split, &role) && split == EP_SPLIT_TRAIN &&
            role == EP_ROLE_X);
  ck_assert(ep_array_part_find("validation_y", &split, &role) && split == EP_SPLIT_VALIDATION &&
            role == EP_ROLE_Y);
  ck_assert(ep_array_part_find("test_images", &split, &role) && split == EP_SPLIT_TEST &&
            role == EP_ROLE_X);
  ck_assert(ep_array_part_find("labels", &split, &role) && split == EP_SPLIT_TRAIN &&
            role == EP_ROLE_Y);
  static const char *const others[] = {"",         "x_",    "_x", "xtrain",
                                       "x_train_", "train", "z",  "0.bias"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    ck_assert_msg(!ep_array_part_find(others[i], &split, &role), "%s", others[i]);
}
END_TEST

EP_SUITE("arrays") {
  TCase *files = ep_suite_case(suite, "files");
  tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
  tcase_add_loop_test(files, archives_are_read, 0, 2);
  tcase_add_test(files, test_rows_may_have_no_targets);
  tcase_add_loop_test(files, bad_archives_are_refused, 0,
                      sizeof bad_archives / sizeof *bad_archives);
  tcase_add_test(files, a_text_of_an_archive_is_read);
  tcase_add_test(files, an_empty_archive_is_refused);
  tcase_add_test(files, damaged_archives_are_refused);
  tcase_add_test(files, what_unpacks_to_too_much_is_refused);
  tcase_add_test(files, tensors_called_x_and_y_are_data);
  tcase_add_test(files, other_tensors_are_weights);
  tcase_add_loop_test(files, bad_tensors_are_refused, 0, sizeof bad_tensors / sizeof *bad_tensors);
  tcase_add_test(files, headers_that_lie_are_refused);
  tcase_add_test(files, names_say_what_an_array_is);
  tcase_set_timeout(files, 60);
}
