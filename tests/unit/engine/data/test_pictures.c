/* Tests of ZIPs of pictures in class folders. */
#include <jansson.h>

#include "engine/data/inputs/picture_rows.h"
#include "tests/unit/engine/data/picture_archive.h"

static const wanted_item flat[] = {{"dog/2.png", 20, 4, 6, 1}, {"cat/b.png", 11, 4, 6, 1},
                                   {"cat/a.PNG", 10, 4, 6, 1}, {"Zebra/x.png", 30, 4, 6, 1},
                                   {"dog/1.png", 21, 4, 6, 1}, {NULL, 0, 0, 0, 0}};

START_TEST(folders_are_classes) {
  ep_dataset_meta meta;
  ingested(flat, NULL, &meta);
  ck_assert_int_eq(meta.classes, 3);
  ck_assert_str_eq(meta.class_name[0].name, "Zebra");
  ck_assert_str_eq(meta.class_name[1].name, "cat");
  ck_assert_str_eq(meta.class_name[2].name, "dog");
  const ep_part *x = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_X];
  ck_assert(x->dtype == EP_DTYPE_U8 && x->dimensions == 3);
  ck_assert(x->shape[0] == 1 && x->shape[1] == 4 && x->shape[2] == 6);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_Y].dimensions, 0);
  part_is("train.x", 5, VALUES(30, 10, 11, 21, 20));
  part_is("train.y", 5, VALUES(0, 1, 1, 2, 2));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(classes_are_kept_in_the_description) {
  ep_dataset_meta meta, copy, read;
  json_error_t fault;
  ingested(flat, NULL, &meta);
  ck_assert_int_eq(ep_dataset_meta_read(scratch_folder, &read, NULL), EP_OK);
  ck_assert(ep_dataset_meta_copy(&read, &copy));
  ep_dataset_meta_deinit(&read);
  char *text = ep_dataset_meta_format(&copy, "pets", "", 1, false);
  json_t *shown = json_loads(text, 0, &fault), *classes = json_object_get(shown, "classes");
  ck_assert_uint_eq(json_array_size(classes), 3);
  ck_assert_str_eq(json_string_value(json_array_get(classes, 2)), "dog");
  ck_assert_ptr_null(json_object_get(shown, "left_out"));
  ck_assert_uint_eq(json_array_size(json_object_get(shown, "columns")), 0); /* pixels */
  ck_assert_int_gt(json_integer_value(json_object_get(shown, "columns_count")), 0);
  json_decref(shown);
  free(text);
  ep_dataset_meta_deinit(&copy);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(splits_and_one_top_folder) {
  static const wanted_item items[] = {{"pets/", 0, 0, 0, 0},
                                      {"pets/Train/dog/1.png", 1, 2, 2, 1},
                                      {"pets/Train/cat/deep/er/2.png", 2, 2, 2, 1},
                                      {"pets/val/dog/3.png", 3, 2, 2, 1},
                                      {"pets/validation/cat/4.png", 4, 2, 2, 1},
                                      {"pets/test/dog/5.png", 5, 2, 2, 1},
                                      {NULL, 0, 0, 0, 0}};
  ep_dataset_meta meta;
  ingested(items, NULL, &meta);
  part_is("train.x", 2, VALUES(2, 1));
  part_is("train.y", 2, VALUES(0, 1));
  part_is("validation.x", 2, VALUES(4, 3));
  part_is("validation.y", 2, VALUES(0, 1));
  part_is("test.x", 1, VALUES(5));
  part_is("test.y", 1, VALUES(1));
  ck_assert_int_eq(meta.left_out, 0);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(a_class_may_be_called_train) {
  static const wanted_item items[] = {
      {"train/1.png", 1, 2, 2, 1}, {"car/2.png", 2, 2, 2, 1}, {NULL, 0, 0, 0, 0}};
  ep_dataset_meta meta;
  ingested(items, NULL, &meta);
  ck_assert_str_eq(meta.class_name[1].name, "train");
  part_is("train.y", 2, VALUES(0, 1));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(names_are_ordered_by_bytes) { /* as a path, "a b/" comes before "a/" */
  static const wanted_item items[] = {{"a b/1.png", 1, 2, 2, 1},
                                      {"a/2.png", 2, 2, 2, 1},
                                      {"\xC3\xA4/3.png", 3, 2, 2, 1},
                                      {NULL, 0, 0, 0, 0}};
  ep_dataset_meta meta;
  ingested(items, NULL, &meta);
  ck_assert_str_eq(meta.class_name[0].name, "a");
  ck_assert_str_eq(meta.class_name[1].name, "a b");
  ck_assert_str_eq(meta.class_name[2].name, "\xC3\xA4");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(what_is_no_picture_is_left_out) {
  static const wanted_item items[] = {{"all/cat/1.png", 1, 2, 2, 1},
                                      {"all/dog/2.png", 2, 2, 2, 1},
                                      {"__MACOSX/all/cat/._1.png", 0, 0, 0, 0},
                                      {"all/cat/.DS_Store", 0, 0, 0, 0},
                                      {"all/cat/Thumbs.db", 0, 0, 0, 0},
                                      {"all/.hidden/3.png", 3, 2, 2, 1},
                                      {"readme.txt", 0, 0, 0, 0},
                                      {"all/features.npy", 0, 0, 0, 0},
                                      {NULL, 0, 0, 0, 0}};
  ep_dataset_meta meta;
  ingested(items, NULL, &meta);
  ck_assert_int_eq(meta.left_out, 6);
  part_is("train.x", 2, VALUES(1, 2));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

static const wanted_item mixed[] = {{"a/1.png", 1, 5, 7, 1},
                                    {"a/2.png", 2, 9, 9, 1},
                                    {"b/3.png", 3, 9, 9, 1},
                                    {"b/4.png", 4, 300, 200, 3},
                                    {NULL, 0, 0, 0, 0}};
static const wanted_item large[] = {
    {"a/1.png", 1, 300, 400, 3}, {"b/2.png", 2, 300, 400, 3}, {NULL, 0, 0, 0, 0}};
static const wanted_item thin[] = {
    {"a/1.png", 1, 1, 30000, 3}, {"b/2.png", 2, 1, 30000, 3}, {NULL, 0, 0, 0, 0}};
static const wanted_item grey[] = {
    {"a/1.png", 1, 256, 256, 2}, {"b/2.png", 2, 256, 256, 1}, {NULL, 0, 0, 0, 0}};

/* What an upload of the items with these options is stored as. */
static const struct {
  const wanted_item *items;
  ep_ingest_options options;
  int shape[3];
} sizes[] = {
    {mixed, {0}, {3, 9, 9}},
    {mixed, {.channels = 1}, {1, 9, 9}},
    {mixed, {.height = 3, .width = 40}, {3, 3, 40}},
    {large, {0}, {3, 96, 128}},
    {thin, {0}, {3, 1, 128}},
    {grey, {0}, {1, 256, 256}},
    {grey, {.channels = 3}, {3, 128, 128}},
    {grey, {.height = 1, .width = 65536}, {1, 1, 65536}},
};

START_TEST(sizes_are_found_or_given) {
  ep_dataset_meta meta;
  ingested(sizes[_i].items, &sizes[_i].options, &meta);
  const int64_t *shape = meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].shape;
  for (int i = 0; i < 3; i++) ck_assert_int_eq(shape[i], sizes[_i].shape[i]);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(too_large_a_size_is_refused) {
  ep_dataset_meta meta;
  ep_error error;
  ep_ingest_options options = {.height = 148, .width = 148, .channels = 3};
  ck_assert_int_eq(ingest(flat, &options, &meta, &error), EP_INVALID);
  ck_assert_str_eq(error.message, "pictures: 148 x 148 pixels of 3 channels are 65712 values, and "
                                  "the limit of a row is 65536: choose a smaller size");
}
END_TEST

START_TEST(colours_and_jpegs_are_stored_by_planes) {
  static const uint8_t red[] = {255, 0, 0, 255, 0, 0};
  ep_dataset_meta meta;
  ep_error error;
  ep_table table;
  picture_item items[] = {{"a/1.png", picture_png(red, 1, 2, 3)},
                          {"b/2.jpg", picture_jpeg_flat((const uint8_t[4]){0, 0, 254}, 8, 16, 3)},
                          {NULL, {NULL, 0}}};
  picture_file archive = picture_zip(items, PICTURES_STORED);
  ep_ingest_options options = {.height = 1, .width = 2};
  ck_assert_msg(scratch_ingest(archive.bytes, archive.size, &options, &meta, &error) == EP_OK, "%s",
                error.message);
  scratch_part("train.x", &table);
  static const double wanted[2][6] = {{255, 255, 0, 0, 0, 0}, {0, 0, 0, 0, 254, 254}};
  for (int i = 0; i < 12; i++)
    ck_assert_double_eq_tol(ep_table_value(&table, i / 6, i % 6), wanted[i / 6][i % 6], 2);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(items[0].file.bytes);
  free(items[1].file.bytes);
  free(archive.bytes);
}
END_TEST

START_TEST(more_classes_than_a_byte_counts) {
  picture_item items[302] = {{NULL, {NULL, 0}}};
  static char names[301][16];
  ep_dataset_meta meta;
  ep_error error;
  picture_file one = picture_png_flat(7, 2, 2, 1);
  for (int i = 0; i < 301; i++) {
    snprintf(names[i], sizeof names[i], "c%03d/1.png", i);
    items[i] = (picture_item){names[i], one};
  }
  picture_file archive = picture_zip(items, PICTURES_STORED);
  ck_assert_msg(scratch_ingest(archive.bytes, archive.size, NULL, &meta, &error) == EP_OK, "%s",
                error.message);
  ep_table table;
  scratch_part("train.y", &table);
  for (int i = 0; i < 301; i++) ck_assert_double_eq(ep_table_value(&table, i, 0), i);
  ep_table_close(&table);
  ep_dataset_meta_deinit(&meta);
  free(one.bytes);
  free(archive.bytes);
}
END_TEST

static const struct {
  wanted_item items[4];
  const char *message;
} bad_trees[] = {
    {{{"cat/1.png", 1, 2, 2, 1}, {"../dog/2.png", 1, 2, 2, 1}},
     "pictures: \"../dog/2.png\" is not a path within the archive"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"dog/../2.png", 1, 2, 2, 1}},
     "pictures: \"dog/../2.png\" is not a path within the archive"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"../readme", 0, 0, 0, 0}},
     "pictures: \"../readme\" is not a path within the archive"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"/dog/2.png", 1, 2, 2, 1}},
     "pictures: \"/dog/2.png\" is not a path within the archive"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"C:/dog/2.png", 1, 2, 2, 1}},
     "pictures: \"C:/dog/2.png\" is not a path within the archive"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"dog//2.png", 1, 2, 2, 1}},
     "pictures: \"dog//2.png\" is not a path within the archive"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"2.png", 1, 2, 2, 1}},
     "pictures: \"2.png\" is not in a class folder"},
    {{{"1.png", 1, 2, 2, 1}}, "pictures: \"1.png\" is not in a class folder"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"cat/2.png", 1, 2, 2, 1}},
     "pictures: \"cat/1.png\" and all other training pictures are in a single class folder: at "
     "least two are required"},
    {{{"test/cat/1.png", 1, 2, 2, 1}, {"val/dog/2.png", 1, 2, 2, 1}},
     "pictures: none in a class folder of train/"},
    {{{"train/cat/1.png", 1, 2, 2, 1},
      {"train/dog/2.png", 1, 2, 2, 1},
      {"test/cow/3.png", 1, 2, 2, 1}},
     "pictures: \"test/cow/3.png\" is of a class that is not in train/"},
    {{{"train/cat/1.png", 1, 2, 2, 1}, {"train/dog/2.png", 1, 2, 2, 1}, {"test/3.png", 1, 2, 2, 1}},
     "pictures: \"test/3.png\" is outside the class folders of train/, val/ and test/"},
    {{{"cat/1.png", 1, 2, 2, 1}, {"dog/2.jpg", 0, 0, 0, 0}},
     "pictures: \"dog/2.jpg\": it is text, neither a PNG nor a JPEG; ?broken=skip skips it"},
    {{{"cat/1.png", 1, 2, 2, 1}, {" /2.png", 1, 2, 2, 1}},
     "pictures: \" /2.png\" has a class folder whose name is blank, too long or not UTF-8"},
};

START_TEST(bad_trees_are_refused) {
  ep_dataset_meta meta;
  ep_error error;
  wanted_item items[5] = {{NULL, 0, 0, 0, 0}};
  for (int i = 0; i < 4; i++) items[i] = bad_trees[_i].items[i];
  ck_assert_int_eq(ingest(items, NULL, &meta, &error), EP_INVALID);
  ck_assert_str_eq(error.message, bad_trees[_i].message);
}
END_TEST

/* A ZIP of a good picture and of `file`, which it takes. */
static void refused(picture_file file, int how, ep_status status, const char *message) {
  ep_dataset_meta meta;
  ep_error error;
  picture_item items[] = {
      {"a/1.png", picture_png_flat(1, 2, 2, 1)}, {"b/2.png", file}, {NULL, {NULL, 0}}};
  picture_file archive = picture_zip(items, how);
  ck_assert_int_eq(scratch_ingest(archive.bytes, archive.size, NULL, &meta, &error), status);
  ck_assert_msg(strstr(error.message, message) != NULL, "%s", error.message);
  free(items[0].file.bytes);
  free(file.bytes);
  free(archive.bytes);
}

START_TEST(bad_pictures_are_refused_by_name) {
  picture_file cut = picture_png_flat(3, 40, 40, 3);
  cut.size -= 20;
  refused(cut, PICTURES_DEFLATED, EP_INVALID, "pictures: \"b/2.png\": the PNG is damaged: ");
  refused(picture_png_claim(50000, 50000), PICTURES_DEFLATED, EP_INVALID,
          "pictures: \"b/2.png\": it has 50000 x 50000 pixels: the limit is 33554432 in all");
  refused(picture_png_flat(3, 2, 2, 1), PICTURES_ENCRYPTED, EP_INVALID,
          "ZIP: \"a/1.png\" is encrypted");
  refused((picture_file){calloc(1, 8 << 20), 8 << 20}, PICTURES_DEFLATED, EP_TOO_LARGE,
          "ZIP: \"b/2.png\" unpacks to more than 1000 times its size");
}
END_TEST

START_TEST(budgets_are_kept) {
  ep_dataset_meta meta;
  ep_error error;
  picture_file archive = archive_make(flat, PICTURES_STORED);
  int64_t stored = 2 * 128 + 5 * 24 + 5;
  ck_assert_int_eq(scratch_ingest_within(archive.bytes, archive.size, NULL, 100, &meta, &error),
                   EP_TOO_LARGE);
  ck_assert_ptr_nonnull(strstr(error.message, "\" is larger than the limit"));
  ck_assert_int_eq(
      scratch_ingest_within(archive.bytes, archive.size, NULL, stored - 1, &meta, &error),
      EP_TOO_LARGE);
  ck_assert_int_eq(
      scratch_ingest_within(archive.bytes, archive.size, NULL, stored + 400, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  free(archive.bytes);
}
END_TEST

/* Reads the bytes as an upload that is only checked. */
static ep_status check(const uint8_t *bytes, size_t size) {
  ep_dataset_meta meta = {0};
  ep_ingest ingest = {.bytes = bytes, .size = size, .budget_bytes = 1 << 20, .meta = &meta};
  ep_status status = ep_ingest_bytes(&ingest, NULL);
  ep_dataset_meta_deinit(&meta);
  return status;
}

START_TEST(damaged_archives_are_refused) {
  picture_file archive = archive_make(flat, PICTURES_DEFLATED);
  ck_assert_int_eq(check(archive.bytes, archive.size), EP_OK);
  for (size_t cut = 4; cut < archive.size; cut++)
    ck_assert_int_eq(check(archive.bytes, cut), EP_INVALID);
  for (size_t i = 0; i < archive.size; i++) {
    archive.bytes[i] ^= 0x5A;
    ep_status status = check(archive.bytes, archive.size);
    ck_assert_msg(status == EP_OK || status == EP_INVALID || status == EP_TOO_LARGE ||
                      status == EP_MEDIA_TYPE,
                  "byte %zu: %s", i, ep_status_name(status));
    archive.bytes[i] ^= 0x5A;
  }
  free(archive.bytes);
}
END_TEST

START_TEST(pictures_are_no_part) {
  ep_dataset_meta meta;
  ep_error error = {0};
  picture_file archive = archive_make(flat, PICTURES_STORED);
  char source[192];
  snprintf(source, sizeof source, "%s", scratch_write("upload", archive.bytes, archive.size));
  ck_assert_int_eq(ep_dataset_ingest_part(scratch_open(source), scratch_root, EP_SPLIT_TRAIN,
                                          EP_ROLE_X, NULL, 1 << 20, &meta, &error),
                   EP_INVALID);
  ck_assert_str_eq(
      error.message,
      "pictures in class folders contain both x and y: upload the archive as the whole dataset");
  free(archive.bytes);
}
END_TEST

static ep_status rows_of(picture_file file, int64_t channels, int64_t most, ep_picture_rows *rows,
                         ep_error *error) {
  ep_status status =
      ep_picture_rows_read(file.bytes, file.size, channels, 2, 3, false, most, rows, error);
  free(file.bytes);
  return status;
}

START_TEST(pictures_become_rows_to_predict) {
  const wanted_item items[] = {{"b/x.png", 200, 4, 6, 1},
                               {"notes.txt", 0, 0, 0, 0},
                               {"a.PNG", 90, 2, 3, 3},
                               {NULL, 0, 0, 0, 0}};
  ep_picture_rows rows;
  ep_error error = {0};
  ck_assert_int_eq(rows_of(archive_make(items, PICTURES_DEFLATED), 3, 36, &rows, &error), EP_OK);
  ck_assert_int_eq(rows.count, 2);
  ck_assert_str_eq(rows.name[0], "b/x.png");
  ck_assert_str_eq(rows.name[1], "a.PNG");
  for (int i = 0; i < 36; i++) ck_assert_double_eq(rows.x[i], i < 18 ? 200 : 90);
  ep_picture_rows_deinit(&rows);
  ck_assert_int_eq(rows_of(archive_make(items, PICTURES_STORED), 3, 35, &rows, &error),
                   EP_TOO_LARGE);
  ck_assert_ptr_nonnull(strstr(error.message, "at most 1 at once"));
  ck_assert_int_eq(rows_of(picture_png_flat(7, 8, 8, 4), 1, 6, &rows, &error), EP_OK);
  ck_assert_int_eq(rows.count, 1);
  ck_assert_ptr_null(rows.name);
  ck_assert_double_eq(rows.x[5], 248); /* as transparent as it is dark, on white */
  ep_picture_rows_deinit(&rows);
  ck_assert_int_eq(rows_of(picture_png_claim(60000, 60000), 1, 6, &rows, &error), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "60000 x 60000 pixels"));
  const wanted_item none[] = {{"notes.txt", 0, 0, 0, 0}, {NULL, 0, 0, 0, 0}};
  ck_assert_int_eq(rows_of(archive_make(none, PICTURES_STORED), 1, 6, &rows, &error), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "none found"));
}
END_TEST

/* What a network of 16 bits is asked with does not depend on the others. */
START_TEST(deep_pictures_become_rows_to_predict) {
  static const uint16_t pixels[] = {274, 275, 300, 301, 325, 326};
  ep_picture_rows rows;
  ep_error error = {0};
  picture_file one = picture_png_16(pixels, 2, 3, 1);
  picture_item items[] = {{"1.png", one}, {"2.png", picture_png_flat(3, 2, 3, 1)}, {NULL, {0}}};
  picture_file both = picture_zip(items, PICTURES_STORED);
  picture_file files[] = {one, both};
  for (int64_t count = 1; count <= 2; count++) {
    picture_file *file = &files[count - 1];
    ck_assert_int_eq(
        ep_picture_rows_read(file->bytes, file->size, 1, 2, 3, true, 12, &rows, &error), EP_OK);
    ck_assert_int_eq(rows.count, count);
    for (int i = 0; i < 6; i++) ck_assert_double_eq(rows.x[i], pixels[i]);
    for (int i = 6; i < 6 * count; i++) ck_assert_double_eq(rows.x[i], 3 * 257);
    ep_picture_rows_deinit(&rows);
  }
  ck_assert_int_eq(ep_picture_rows_read(one.bytes, one.size, 1, 2, 3, false, 6, &rows, &error),
                   EP_OK);
  ck_assert_double_eq(rows.x[0], 1);
  ep_picture_rows_deinit(&rows);
  free(items[1].file.bytes);
  free(one.bytes);
  free(both.bytes);
}
END_TEST

EP_SUITE("engine/data/formats/pictures") {
  TCase *taken = ep_suite_case(suite, "taken");
  tcase_add_checked_fixture(taken, scratch_setup, scratch_teardown);
  tcase_add_test(taken, folders_are_classes);
  tcase_add_test(taken, classes_are_kept_in_the_description);
  tcase_add_test(taken, splits_and_one_top_folder);
  tcase_add_test(taken, a_class_may_be_called_train);
  tcase_add_test(taken, names_are_ordered_by_bytes);
  tcase_add_test(taken, what_is_no_picture_is_left_out);
  tcase_add_loop_test(taken, sizes_are_found_or_given, 0, sizeof sizes / sizeof *sizes);
  tcase_add_test(taken, colours_and_jpegs_are_stored_by_planes);
  tcase_add_test(taken, more_classes_than_a_byte_counts);
  tcase_add_test(taken, deep_pictures_become_rows_to_predict);
  TCase *bad = ep_suite_case(suite, "refused");
  tcase_add_checked_fixture(bad, scratch_setup, scratch_teardown);
  tcase_add_test(bad, too_large_a_size_is_refused);
  tcase_add_loop_test(bad, bad_trees_are_refused, 0, sizeof bad_trees / sizeof *bad_trees);
  tcase_add_test(bad, bad_pictures_are_refused_by_name);
  tcase_add_test(bad, budgets_are_kept);
  tcase_add_test(bad, damaged_archives_are_refused);
  tcase_add_test(bad, pictures_are_no_part);
  tcase_add_test(taken, pictures_become_rows_to_predict);
}
