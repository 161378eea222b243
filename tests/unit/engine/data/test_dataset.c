#include <jansson.h>
#include <zlib.h>

#include "api/json/problem.h"
#include "api/reserve.h"
#include "api/spec/job_spec.h"
#include "engine/data/datasets/cached_meta.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/prepare/shape.h"
#include "engine/plan/plan.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

/* gzip of bytes; *size is the packed size. Owned by the caller. */
static uint8_t *pack(const void *bytes, size_t count, size_t *size) {
  size_t capacity = count + count / 1000 + 64;
  uint8_t *packed = malloc(capacity);
  z_stream stream = {.next_in = (Bytef *)bytes,
                     .avail_in = (uInt)count,
                     .next_out = packed,
                     .avail_out = (uInt)capacity};
  ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
  *size = capacity - stream.avail_out;
  deflateEnd(&stream);
  return packed;
}

START_TEST(gz_of_any_is_unpacked) {
  static const struct {
    const char *text, *format;
  } contents[] = {{"a,b\n1,2\n", "csv"}, {"{\"m\":1,\"n\":1,\"x\":[1],\"y\":[2]}", "json"}};
  for (size_t i = 0; i < 2; i++) {
    size_t size;
    ep_dataset_meta meta;
    ep_error error;
    uint8_t *packed = pack(contents[i].text, strlen(contents[i].text), &size);
    ck_assert_msg(scratch_ingest(packed, size, NULL, &meta, &error) == EP_OK, "%s", error.message);
    ck_assert_str_eq(meta.format, contents[i].format);
    ck_assert_int_eq(meta.bytes, (int64_t)size);
    ep_dataset_meta_deinit(&meta);
    free(packed);
  }
}
END_TEST

START_TEST(gz_of_several_members_is_one_file) {
  size_t first, second;
  ep_dataset_meta meta;
  ep_error error;
  uint8_t *a = pack("a,b\n1,", 6, &first), *b = pack("2\n3,4\n", 6, &second);
  uint8_t *both = malloc(first + second);
  memcpy(both, a, first);
  memcpy(both + first, b, second);
  ck_assert_msg(scratch_ingest(both, first + second, NULL, &meta, &error) == EP_OK, "%s",
                error.message);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows, 2);
  ep_dataset_meta_deinit(&meta);
  free(a);
  free(b);
  free(both);
}
END_TEST

START_TEST(damaged_gz_is_refused) {
  size_t size, outer;
  ep_dataset_meta meta;
  ep_error error;
  uint8_t *packed = pack("a,b\n1,2\n", 8, &size);
  for (size_t cut = 3; cut < size; cut++)
    ck_assert_msg(scratch_ingest(packed, cut, NULL, &meta, &error) == EP_INVALID, "%zu", cut);
  ck_assert_str_eq(error.message, "gzip: unexpected end after byte 27");
  uint8_t *nested = pack(packed, size, &outer);
  scratch_refused(nested, outer, NULL, EP_MEDIA_TYPE, "nested gzip is not supported");
  packed[size - 6] ^= 1; /* the checksum */
  ck_assert_int_eq(scratch_ingest(packed, size, NULL, &meta, &error), EP_INVALID);
  free(packed);
  free(nested);
}
END_TEST

/* A long cell of zeros packs about a thousandfold; a page of noise before it moves the ratio. */
static ep_status bomb_ingest(size_t zeros, size_t noise, double *ratio, ep_error *error) {
  size_t size;
  ep_dataset_meta meta;
  char *text = malloc(zeros + noise);
  uint64_t state = 3;
  for (size_t i = 0; i < noise; i++) text[i] = (char)('a' + scratch_random(&state) % 16);
  memset(text + noise, '0', zeros);
  uint8_t *packed = pack(text, zeros + noise, &size);
  *ratio = (double)(zeros + noise) / (double)size;
  ep_status status = scratch_ingest(packed, size, NULL, &meta, error);
  ep_dataset_meta_deinit(&meta);
  free(packed);
  free(text);
  return status;
}

START_TEST(bombs_are_refused) {
  ep_error error;
  double ratio;
  ck_assert_int_eq(bomb_ingest(32 << 20, 0, &ratio, &error), EP_TOO_LARGE);
  ck_assert_double_gt(ratio, EP_LIMIT_GZ_RATIO);
  ck_assert_str_eq(error.message, "gzip: expands to more than 1000 times its size");
  /* just below the ratio it is unpacked, and refused for what it holds */
  ck_assert_int_eq(bomb_ingest(32 << 20, 8192, &ratio, &error), EP_TOO_LARGE);
  ck_assert(ratio > 850 && ratio < EP_LIMIT_GZ_RATIO);
  ck_assert_str_eq(error.message, "row 1, column 1: a cell of more than 65536 bytes");
}
END_TEST

START_TEST(unpacked_bytes_count_as_written) {
  size_t size;
  ep_dataset_meta meta;
  ep_error error;
  uint8_t *packed = pack("1,2\n", 4, &size);
  int64_t bytes = 4 + 128 + 2 * (int64_t)sizeof(double);
  ck_assert_int_eq(scratch_ingest_within(packed, size, NULL, bytes, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  ck_assert_int_eq(scratch_ingest_within(packed, size, NULL, bytes - 1, &meta, &error),
                   EP_TOO_LARGE);
  ck_assert_int_eq(scratch_ingest_within(packed, size, NULL, 3, &meta, &error), EP_TOO_LARGE);
  ck_assert_str_eq(error.message, "gzip: the uncompressed data exceeds the limit");
  free(packed);
}
END_TEST

START_TEST(unknown_content_is_refused) {
  static const char message[] =
      "unknown format: supported are CSV, JSON, NPY, NPZ, IDX, safetensors, a ZIP of one CSV or "
      "JSON file, and a ZIP or TAR of pictures, each also gzipped";
  scratch_refused("\0\0\x07\x03", 4, NULL, EP_MEDIA_TYPE, message);
  scratch_refused("1\0\0\0002\0", 6, NULL, EP_MEDIA_TYPE, message);
  scratch_refused("", 0, NULL, EP_INVALID, "the content is empty");
}
END_TEST

/* Also where hardly more than the first bytes are there, all of them printable. */
START_TEST(files_that_are_no_table_are_named) {
  static const struct {
    const char *bytes;
    size_t size;
    const char *message;
  } files[] = {
#define NAMED(literal, message) {literal, sizeof literal - 1, message}
      NAMED("%PDF-1.7\n1 0 obj\n", "this is a PDF: export its table as CSV"),
      NAMED("PAR1\x15\x04", "this is a Parquet file: export its table as CSV"),
      NAMED("SQLite format 3\0", "this is a database of SQLite: export its table as CSV"),
      NAMED("\x89HDF\r\n\x1A\n",
            "this is an HDF5 file: write its arrays as NPZ, or its table as CSV"),
      NAMED("\x89PNG\r\n\x1A\n",
            "this is a PNG: put pictures as PNG or JPEG into a ZIP, a folder a class"),
      NAMED("\xFF\xD8\xFF\xE0\0\x10JFIF",
            "this is a JPEG: put pictures as PNG or JPEG into a ZIP, a folder a class"),
      NAMED("\x7F"
            "ELF\2\1\1\0",
            "this is a program (ELF): send the data themselves"),
      NAMED("\x7F"
            "ELF",
            "this is a program (ELF): send the data themselves"),
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    scratch_refused(files[i].bytes, files[i].size, NULL, EP_MEDIA_TYPE, files[i].message);
}
END_TEST

/* The letters of a Parquet file and of a BMP are those of a column's name, too. */
START_TEST(a_header_may_begin_like_another_file) {
  static const char *const texts[] = {"PAR1,PAR2\n1,2\n3,4\n", "BMI,age\n20.5,30\n31,40\n",
                                      "car_ftyp,JXL \n1,2\n3,4\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ep_dataset_meta meta;
    ep_error error = {.message = ""};
    ck_assert_msg(scratch_ingest(texts[i], strlen(texts[i]), NULL, &meta, &error) == EP_OK, "%s",
                  error.message);
    ck_assert_str_eq(meta.format, "csv");
    ep_dataset_meta_deinit(&meta);
  }
}
END_TEST

START_TEST(a_folder_that_is_not_empty_is_not_overwritten) {
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest("1,2\n", 4, NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  char source[192];
  snprintf(source, sizeof source, "%s", scratch_file("upload"));
  ck_assert_int_eq(
      ep_dataset_ingest(scratch_open(source), scratch_folder, NULL, 1000, &meta, &error), EP_IO);
}
END_TEST

START_TEST(description_is_read_back) {
  static const char text[] = "alter,\"größe, \"\"m\"\"\"\n0.1,-2\n30,4\n";
  ep_dataset_meta written, read;
  ep_error error;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &written, &error), EP_OK);
  ck_assert_msg(ep_dataset_meta_read(scratch_folder, &read, &error) == EP_OK, "%s", error.message);
  ck_assert_str_eq(read.format, "csv");
  ck_assert_int_eq(read.bytes, (int64_t)strlen(text));
  ck_assert_str_eq(read.sha256, written.sha256);
  const ep_part *part = &read.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ck_assert(part->rows == 2 && part->columns == 2 && part->dtype == EP_DTYPE_F64);
  ck_assert_str_eq(part->column[1].name, "größe, \"m\"");
  ck_assert_double_eq(part->column[0].min, 0.1);
  ck_assert(!part->column[0].integer && part->column[1].integer);
  ep_dataset_meta_deinit(&read);
  ep_dataset_meta_deinit(&written);
}
END_TEST

/* The hash becomes the name of a folder, and a process that was taken over may have written it. */
START_TEST(a_hash_is_no_path) {
  ep_dataset_meta written, read;
  ep_error error;
  const char *outside = "../../../../../../../../../../../../../../../../../../../../tmp/";
  ck_assert_int_eq(scratch_ingest("1,2\n", 4, NULL, &written, &error), EP_OK);
  for (int i = 0; i < 2; i++) {
    snprintf(written.sha256, sizeof written.sha256, "%s", i == 0 ? outside : "");
    ck_assert_int_eq(ep_dataset_meta_write(scratch_folder, &written, &error), EP_OK);
    ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &read, &error), EP_DAMAGED);
  }
  snprintf(written.format, sizeof written.format, "path"); /* mapped where it lies: it has none */
  ck_assert_int_eq(ep_dataset_meta_write(scratch_folder, &written, &error), EP_OK);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &read, &error), EP_OK);
  ep_dataset_meta_deinit(&read);
  ep_dataset_meta_deinit(&written);
}
END_TEST

/* More than are held, and one that is replaced: each reader has what is there, and owns it. */
START_TEST(descriptions_that_are_held_are_those_on_the_disk) {
  enum { CONTENTS = EP_LIMIT_CACHED_METAS + 2, ROUNDS = 3 };
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < CONTENTS; i++) {
      char text[64], folder[128], source[192];
      ep_dataset_meta meta, read;
      ep_error error;
      double most = 100 + i + (i == 1 ? round : 0);
      snprintf(folder, sizeof folder, "%s/%d", scratch_root, i);
      if (round == 0) ck_assert_int_eq(mkdir(folder, 0700), 0);
      if (round == 0 || i == 1) {
        scratch_empty(folder);
        snprintf(text, sizeof text, "%g,2\n%s", most, i % 2 ? "0,1\n" : "");
        scratch_write("source", text, strlen(text));
        snprintf(source, sizeof source, "%s", scratch_file("source"));
        ck_assert_int_eq(
            ep_dataset_ingest(scratch_open(source), folder, NULL, 1 << 20, &meta, &error), EP_OK);
        ep_dataset_meta_deinit(&meta);
      }
      for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(ep_dataset_meta_read(folder, &read, &error), EP_OK);
        ep_part *part = &read.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
        ck_assert_int_eq(part->rows, 1 + i % 2);
        ck_assert_double_eq(part->column[0].max, most);
        ck_assert_int_eq(ep_part_columns_own(part, &error), EP_OK);
        part->column[0].max = -1; /* the reader's own */
        ep_dataset_meta_deinit(&read);
      }
    }
}
END_TEST

/* A table of so many columns, which is not held in the cache, in the scratch folder. */
static void wide_ingest(int columns) {
  ep_dataset_meta meta;
  ep_error error;
  size_t used = 0, room = (size_t)columns * 16;
  char *text = malloc(room);
  for (int i = 0; i < columns; i++)
    used += (size_t)snprintf(text + used, room - used, "%sc%d", i ? "," : "", i);
  for (int i = 0; i < columns; i++)
    used += (size_t)snprintf(text + used, room - used, "%c%d", i ? ',' : '\n', i % 7);
  ck_assert_int_eq(scratch_ingest(text, used, NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  free(text);
}

static int64_t reserved_bytes, reserve_most;
static ep_status reserve_count(void *context, int64_t bytes, ep_error *error) {
  (void)context;
  if (reserved_bytes + bytes > reserve_most) return ep_fail(error, EP_BUSY, "full");
  reserved_bytes += bytes;
  return EP_OK;
}

/* Readers share the columns; a change is the reader's own. */
START_TEST(wide_descriptions_are_shared) {
  enum { COLUMNS = 5000 };
  ep_dataset_meta first, second;
  ep_error error;
  wide_ingest(COLUMNS);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &first, &error), EP_OK);
  ck_assert_int_ge(ep_cached_metas_bytes(), COLUMNS * (int64_t)sizeof(ep_column));
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &second, &error), EP_OK);
  ep_part *one = &first.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE],
          *other = &second.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ck_assert_ptr_eq(one->column, other->column);
  ck_assert_int_eq(ep_part_columns_own(one, &error), EP_OK);
  ck_assert_ptr_ne(one->column, other->column);
  ck_assert_str_eq(one->column[COLUMNS - 1].name, "c4999");
  ck_assert(ep_dataset_same_rows(&first, &second));
  one->column[7].max = 8;
  ck_assert(!ep_dataset_same_rows(&first, &second));
  ep_dataset_meta_deinit(&first);
  ep_cached_metas_expire(-1); /* the second reader has them still */
  ck_assert_int_eq(ep_cached_metas_bytes(), 0);
  ck_assert_str_eq(other->column[COLUMNS - 1].name, "c4999");
  ep_dataset_meta_deinit(&second);
}
END_TEST

/* What a description takes is reserved before it is read, and what is refused is not read. */
START_TEST(wide_descriptions_are_reserved) {
  enum { COLUMNS = 5000 };
  ep_dataset_meta meta;
  ep_error error;
  wide_ingest(COLUMNS);
  ep_cached_metas_expire(-1);
  reserved_bytes = 0;
  reserve_most = COLUMNS * (int64_t)sizeof(ep_column);
  ep_reserve_begin(reserve_count, NULL);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &meta, &error), EP_BUSY);
  ck_assert_str_eq(error.message, "full");
  ck_assert_int_eq(reserved_bytes, 0);
  int64_t text_bytes;
  ck_assert_int_eq(ep_dataset_summary_read(scratch_folder, &meta, &text_bytes, &error), EP_OK);
  ck_assert_int_gt(text_bytes, COLUMNS * 32);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].columns, COLUMNS);
  ck_assert_ptr_null(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].column);
  ep_dataset_meta_deinit(&meta);
  reserve_most *= 2;
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &meta, &error), EP_OK);
  ck_assert_int_eq(reserved_bytes, 0); /* the cache has it */
  ep_dataset_meta_deinit(&meta);
  ep_cached_metas_bound(0);
  ck_assert_int_eq(ep_cached_metas_bytes(), 0);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &meta, &error), EP_OK);
  ck_assert_int_gt(reserved_bytes, COLUMNS * (int64_t)sizeof(ep_column));
  ep_dataset_meta_deinit(&meta);
  ep_cached_metas_bound(EP_LIMIT_CACHED_META_BYTES_MIN);
  ep_reserve_begin(NULL, NULL);
}
END_TEST

START_TEST(sha256_is_that_of_the_upload) {
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest("1,2\n3,4\n", 8, NULL, &meta, &error), EP_OK);
  ck_assert_str_eq(meta.sha256, "96bbd5de61f36b0e10c5771d180998d066192e8986aa34a8cb7c453f62959274");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(damaged_descriptions_are_refused) {
  static const char *const texts[] = {
      "",
      "[]",
      "{}",
      "{\"format\":\"csv\"}",
      "{\"format\":\"a format of a long name\",\"sha256\":\"\",\"bytes\":1,\"parts\":{}}",
      "{\"format\":\"csv\",\"sha256\":\"12\",\"bytes\":1,\"parts\":{}}"};
  ep_dataset_meta meta;
  ep_error error;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    scratch_write("meta.json", texts[i], strlen(texts[i]));
    ck_assert_msg(ep_dataset_meta_read(scratch_root, &meta, &error) == EP_DAMAGED, "%s", texts[i]);
  }
  unlink(scratch_file("meta.json"));
  ck_assert_int_eq(ep_dataset_meta_read(scratch_root, &meta, &error), EP_NOT_FOUND);
}
END_TEST

START_TEST(answer_has_what_a_reader_needs) {
  static const char text[] =
      "{\"m\":2,\"n\":1,\"x\":[0.1,2],\"y\":[1,0],\"m_test\":1,\"x_test\":[3],\"y_test\":[1]}";
  ep_dataset_meta meta;
  ep_error error;
  const char *object, *name, *created, *dtype;
  json_int_t rows, test_rows;
  double min;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &meta, &error), EP_OK);
  char *answer = ep_dataset_meta_format(&meta, "li\"ne", "", INT64_C(1763662327123456), false);
  ck_assert_ptr_nonnull(answer);
  json_t *root = json_loads(answer, 0, NULL);
  ck_assert_int_eq(
      json_unpack(root, "{s:s, s:s, s:s, s:I, s:{s:{s:{s:s}}, s:{s:{s:I}}}, s:[{s:F}]}", "object",
                  &object, "name", &name, "created_at", &created, "rows", &rows, "parts", "train",
                  "x", "dtype", &dtype, "test", "y", "rows", &test_rows, "columns", "min", &min),
      0);
  ck_assert_str_eq(object, "dataset");
  ck_assert_str_eq(name, "li\"ne");
  ck_assert_str_eq(created, "2025-11-20T18:12:07.123Z");
  ck_assert_str_eq(dtype, "f8");
  ck_assert(rows == 2 && test_rows == 1 && min == 0.1);
  ck_assert_ptr_nonnull(strstr(answer, "\"min\":0.1,"));
  json_decref(root);
  free(answer);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Shapes. A spec of a dataset with these fractions and target. */
static ep_data_spec spec_of(double test, double validation, const char *target) {
  ep_data_spec spec = {
      .source = EP_DATA_DATASET, .test = test, .validation = validation, .split_seed = 1};
  spec.target_by = target ? EP_TARGET_NAME : EP_TARGET_LAST;
  if (target) snprintf(spec.target, sizeof spec.target, "%s", target);
  return spec;
}

static ep_data_spec spec_of_index(int64_t index) {
  ep_data_spec spec = spec_of(0, 0, NULL);
  spec.target_by = EP_TARGET_INDEX;
  spec.target_index = index;
  return spec;
}

static void shape_refused(const ep_data_spec *spec, const ep_dataset_meta *meta,
                          const char *pointer, const char *detail) {
  ep_data_shape shape;
  ep_problem problem = {0};
  ck_assert_int_eq(ep_data_shape_find(spec, meta, &shape, &problem), EP_INVALID);
  ck_assert_int_eq(problem.errors_count, 1);
  ck_assert_str_eq(problem.errors[0].pointer, pointer);
  ck_assert_str_eq(problem.errors[0].detail, detail);
}

static ep_data_shape shape_of(const ep_data_spec *spec, const ep_dataset_meta *meta) {
  ep_data_shape shape;
  ep_problem problem = {0};
  ck_assert_msg(ep_data_shape_find(spec, meta, &shape, &problem) == EP_OK, "%s", problem.detail);
  ck_assert_int_eq(problem.status, EP_OK);
  return shape;
}

static void table_make(ep_dataset_meta *meta) {
  static const char text[] = "a,1,b,b,c\n1,0,1,1,-1\n2,1,1,1,2.5\n3,2,1,1,3\n4,0,1,1,4\n";
  ep_error error;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, meta, &error), EP_OK);
}

START_TEST(targets_are_found_by_name_or_index) {
  static const struct {
    const char *name; /* NULL: the index */
    int64_t index;
    double min, max;
    int64_t classes;
  } targets[] = {{"a", 0, 1, 4, 5},    {"1", 0, 0, 2, 3},   {NULL, 0, 1, 4, 5}, {NULL, 1, 0, 2, 3},
                 {NULL, -1, -1, 4, 0}, {NULL, -5, 1, 4, 5}, {NULL, 4, -1, 4, 0}};
  ep_dataset_meta meta;
  table_make(&meta);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    ep_data_spec spec =
        targets[i].name ? spec_of(0, 0, targets[i].name) : spec_of_index(targets[i].index);
    ep_data_shape shape = shape_of(&spec, &meta);
    ck_assert(shape.features == 4 && shape.target_columns == 1 && shape.train_rows == 4);
    ck_assert_double_eq(shape.target_min, targets[i].min);
    ck_assert_double_eq(shape.target_max, targets[i].max);
    ck_assert_int_eq(shape.classes, targets[i].classes);
  }
  ep_data_spec last = spec_of(0, 0, NULL);
  ck_assert_double_eq(shape_of(&last, &meta).target_min, -1);
  ep_data_spec spec = spec_of_index(5);
  shape_refused(&spec, &meta, "/data/target",
                "no column 5: the data has columns 0 to 4, or -5 to -1 from the end");
  spec = spec_of(0, 0, "4");
  shape_refused(&spec, &meta, "/data/target",
                "no column named \"4\": to use it as an index, give the number 4 without quotes");
  spec.target_by = EP_TARGET_EITHER; /* as an earlier version stored it */
  spec.target_index = 4;
  ck_assert_double_eq(shape_of(&spec, &meta).target_min, -1);
  spec = spec_of(0, 0, "1");
  spec.target_by = EP_TARGET_EITHER;
  spec.target_index = 4; /* the name goes first */
  ck_assert_double_eq(shape_of(&spec, &meta).target_max, 2);
  spec = spec_of_index(-6);
  shape_refused(&spec, &meta, "/data/target",
                "no column -6: the data has columns 0 to 4, or -5 to -1 from the end");
  spec = spec_of(0, 0, "A");
  shape_refused(&spec, &meta, "/data/target", "no column named \"A\": did you mean \"a\"?");
  spec = spec_of(0, 0, "pric");
  shape_refused(&spec, &meta, "/data/target", "no column named \"pric\"; the last one is \"c\"");
  spec = spec_of(0, 0, "b");
  shape_refused(&spec, &meta, "/data/target",
                "columns 2 and 3 are both named \"b\": give the index");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(fractions_are_counted) {
  ep_dataset_meta meta;
  table_make(&meta);
  ep_data_spec spec = spec_of(0.25, 0.5, NULL);
  ep_data_shape shape = shape_of(&spec, &meta);
  ck_assert(shape.train_rows == 1 && shape.validation_rows == 2 && shape.test_rows == 1);
  spec = spec_of(0.125, 0, NULL); /* half a row rounds up */
  ck_assert_int_eq(shape_of(&spec, &meta).test_rows, 1);
  spec = spec_of(0.1, 0, NULL);
  shape_refused(&spec, &meta, "/data/test", "0.1 of 4 rows is less than one row");
  spec = spec_of(0, 0.1, NULL);
  shape_refused(&spec, &meta, "/data/validation", "0.1 of 4 rows is less than one row");
  spec = spec_of(0.5, 0.5, NULL);
  shape_refused(&spec, &meta, "/data/test",
                "test (0.5) and validation (0.5) of 4 rows leave none to train on");
  spec = spec_of(0.9, 0, NULL);
  shape_refused(&spec, &meta, "/data/test",
                "test (0.9) and validation (0) of 4 rows leave none to train on");
  spec = spec_of(0, 0.9, NULL);
  shape_refused(&spec, &meta, "/data/validation",
                "test (0) and validation (0.9) of 4 rows leave none to train on");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(a_test_set_of_its_own_stays) {
  static const char text[] =
      "{\"m\":4,\"n\":2,\"x\":[1,2,3,4,5,6,7,8],\"y\":[0,1,1,0],\"m_test\":1,"
      "\"x_test\":[3,4],\"y_test\":[5]}";
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &meta, &error), EP_OK);
  ep_data_spec spec = spec_of(0, 0.25, NULL);
  ep_data_shape shape = shape_of(&spec, &meta);
  ck_assert(shape.train_rows == 3 && shape.validation_rows == 1 && shape.test_rows == 1);
  ck_assert(shape.features == 2 && shape.classes == 6); /* the test set's class counts too */
  spec = spec_of(0.25, 0, NULL);
  shape_refused(&spec, &meta, "/data/test",
                "the data already has a test set (1 rows): remove the fraction");
  spec = spec_of(0, 0, "0");
  shape_refused(&spec, &meta, "/data/target",
                "the data has separate x and y: there is no target to choose");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(one_column_is_not_enough) {
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest("1\n2\n", 4, NULL, &meta, &error), EP_OK);
  ep_data_spec spec = spec_of(0, 0, NULL);
  shape_refused(&spec, &meta, "/data/dataset",
                "the data has only one column: nothing to predict it from");
  ep_dataset_meta_deinit(&meta);
  snprintf(spec.dataset, sizeof spec.dataset, "houses");
  shape_refused(&spec, NULL, "/data/dataset", "dataset \"houses\" not found");
}
END_TEST

EP_SUITE("dataset") {
  TCase *files = ep_suite_case(suite, "files"), *shapes = ep_suite_case(suite, "shapes");
  tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
  tcase_add_checked_fixture(shapes, scratch_setup, scratch_teardown);
  tcase_add_test(files, gz_of_any_is_unpacked);
  tcase_add_test(files, gz_of_several_members_is_one_file);
  tcase_add_test(files, damaged_gz_is_refused);
  tcase_add_test(files, bombs_are_refused);
  tcase_add_test(files, unpacked_bytes_count_as_written);
  tcase_add_test(files, unknown_content_is_refused);
  tcase_add_test(files, files_that_are_no_table_are_named);
  tcase_add_test(files, a_header_may_begin_like_another_file);
  tcase_add_test(files, a_folder_that_is_not_empty_is_not_overwritten);
  tcase_add_test(files, description_is_read_back);
  tcase_add_test(files, a_hash_is_no_path);
  tcase_add_test(files, descriptions_that_are_held_are_those_on_the_disk);
  tcase_add_test(files, wide_descriptions_are_shared);
  tcase_add_test(files, wide_descriptions_are_reserved);
  tcase_add_test(files, sha256_is_that_of_the_upload);
  tcase_add_test(files, damaged_descriptions_are_refused);
  tcase_add_test(files, answer_has_what_a_reader_needs);
  tcase_add_test(shapes, targets_are_found_by_name_or_index);
  tcase_add_test(shapes, fractions_are_counted);
  tcase_add_test(shapes, a_test_set_of_its_own_stays);
  tcase_add_test(shapes, one_column_is_not_enough);
  tcase_set_timeout(files, 60);
}
