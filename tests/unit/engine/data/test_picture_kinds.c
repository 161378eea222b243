/* Tests of pictures as cameras, other systems and careless hands make them. */
#include "tests/unit/engine/data/picture_archive.h"

START_TEST(sixteen_bits_are_stored) {
  static const uint16_t low[] = {274, 300}, high[] = {326, 275};
  ep_dataset_meta meta;
  ep_error error = {0};
  picture_item items[] = {{"a/1.png", picture_png_16(low, 1, 2, 1)},
                          {"b/2.png", picture_png_16(high, 1, 2, 1)},
                          {NULL, {0}},
                          {NULL, {0}}};
  ck_assert_int_eq(items_ingest(items, PICTURES_DEFLATED, NULL, &meta, &error), EP_OK);
  ck_assert_int_eq(meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].dtype, EP_DTYPE_U16);
  ck_assert_str_eq(meta.notes.text,
                   "values of 16 bits are stored as they are: from 274 to 326 in train");
  part_is("train.x", 2, VALUES(274, 326));
  ep_dataset_meta_deinit(&meta);
  items[0].file = picture_png_16(low, 1, 2, 1);
  items[1].file = picture_png_16(high, 1, 2, 1);
  items[2] = (picture_item){"b/3.png", picture_png_flat(255, 1, 2, 1)};
  ck_assert_int_eq(items_ingest(items, PICTURES_DEFLATED, NULL, &meta, &error), EP_OK);
  ck_assert_str_eq(
      meta.notes.text,
      "values of 16 bits are stored as they are: from 274 to 65535 in train\n1 picture "
      "of 8 bits is stored times 257, so that white is 65535");
  part_is("train.x", 3, VALUES(274, 326, 65535));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(pictures_are_stored_as_they_are_viewed) {
  static const uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
  ep_dataset_meta meta;
  ep_error error = {0};
  picture_item items[] = {
      {"a/1.png", picture_png_turned(picture_png(pixels, 2, 3, 1), 6, PICTURE_EXIF_BEFORE)},
      {"b/2.png", picture_png(pixels, 3, 2, 1)},
      {NULL, {0}}};
  ck_assert_int_eq(items_ingest(items, PICTURES_DEFLATED, NULL, &meta, &error), EP_OK);
  const int64_t *shape = meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].shape;
  ck_assert(shape[1] == 3 && shape[2] == 2);
  ck_assert_str_eq(meta.notes.text, "1 of 2 pictures is rotated by its EXIF orientation");
  part_is("train.x", 2, VALUES(4, 1));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Names of the first and the second split's folder: two classes, and a picture in each. */
static const struct {
  const char *train, *other;
  ep_split split;
} split_names[] = {
    {"Training", "Testing", EP_SPLIT_TEST},
    {"train_set", "valid_set", EP_SPLIT_VALIDATION},
    {"training_set", "test_set", EP_SPLIT_TEST},
    {"seg_train", "seg_test", EP_SPLIT_TEST},
    {"seg_train/seg_train", "seg_test/seg_test", EP_SPLIT_TEST},
    {"train-set", "VALIDATION", EP_SPLIT_VALIDATION},
    {"Train Data", "Val", EP_SPLIT_VALIDATION},
    {"data/TRAIN", "data/dev", EP_SPLIT_VALIDATION},
    {"a/b/trainset", "a/b/TestSet", EP_SPLIT_TEST},
};

START_TEST(splits_have_many_names) {
  char names[6][64];
  wanted_item items[7] = {{NULL, 0, 0, 0, 0}};
  ep_dataset_meta meta;
  for (int i = 0; i < 4; i++) {
    snprintf(names[i], sizeof names[i], "%s/%s/%d.png",
             i < 2 ? split_names[_i].train : split_names[_i].other, i % 2 ? "dog" : "cat", i);
    items[i] = (wanted_item){names[i], i, 2, 2, 1};
  }
  ingested(items, NULL, &meta);
  ck_assert_int_eq(meta.classes, 2);
  ck_assert_str_eq(meta.class_name[1].name, "dog");
  part_is("train.x", 2, VALUES(0, 1));
  part_is(split_names[_i].split == EP_SPLIT_TEST ? "test.x" : "validation.x", 2, VALUES(2, 3));
  ck_assert_str_eq(meta.notes.text, "");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

START_TEST(pictures_to_predict_are_left_out) {
  static const wanted_item items[] = {{"seg_pred/seg_pred/9.png", 9, 2, 2, 1},
                                      {"seg_train/seg_train/cat/1.png", 1, 2, 2, 1},
                                      {"seg_train/seg_train/dog/2.png", 2, 2, 2, 1},
                                      {NULL, 0, 0, 0, 0}};
  ep_dataset_meta meta;
  ingested(items, NULL, &meta);
  part_is("train.x", 2, VALUES(1, 2));
  ck_assert_int_eq(meta.left_out, 1);
  ck_assert_str_eq(meta.notes.text, "1 picture to predict has no class and is left out");
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* What a note says of folders that may be splits. */
static const struct {
  wanted_item items[5];
  const char *note;
} doubtful[] = {
    {{{"train/1.png", 1, 2, 2, 1}, {"car/2.png", 1, 2, 2, 1}},
     "the class \"train\" has the name of a split: a split must contain class folders"},
    {{{"fold1/cat/1.png", 1, 2, 2, 1},
      {"fold1/dog/2.png", 1, 2, 2, 1},
      {"fold2/cat/3.png", 1, 2, 2, 1},
      {"fold2/dog/4.png", 1, 2, 2, 1}},
     "the class folders have the same folders in them: where \"fold1\" and \"fold2\" are splits, "
     "name them train, val or test"},
    {{{"fold1/cat/1.png", 1, 2, 2, 1},
      {"fold1/dog/2.png", 1, 2, 2, 1},
      {"fold2/cat/3.png", 1, 2, 2, 1}},
     ""},
    {{{"fold1/cat/1.png", 1, 2, 2, 1},
      {"fold2/cat/2.png", 1, 2, 2, 1},
      {"fold2/dog/3.png", 1, 2, 2, 1}},
     ""},
    {{{"fold1/cat/1.png", 1, 2, 2, 1},
      {"fold1/2.png", 1, 2, 2, 1},
      {"fold2/cat/3.png", 1, 2, 2, 1},
      {"fold2/4.png", 1, 2, 2, 1}},
     ""},
};

START_TEST(folders_that_may_be_splits_are_noted) {
  ep_dataset_meta meta;
  ingested(doubtful[_i].items, NULL, &meta);
  ck_assert_str_eq(meta.notes.text, doubtful[_i].note);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

/* Backslashes are slashes where DOS made a name, and where no name has a slash. */
START_TEST(backslashes_are_slashes) {
  static const struct {
    const char *names[2];
    int how;
    bool taken;
  } cases[] = {{{"train\\cat\\1.png", "train\\dog\\2.png"}, PICTURES_DOS, true},
               {{"cat\\1.png", "dog\\2.png"}, PICTURES_STORED, true},
               {{"train/cat/1.png", "train\\dog\\2.png"}, PICTURES_DOS, true},
               {{"train/cat/1.png", "train\\dog\\2.png"}, PICTURES_STORED, false}};
  ep_dataset_meta meta;
  ep_error error = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    picture_item items[] = {{cases[i].names[0], picture_png_flat(1, 2, 2, 1)},
                            {cases[i].names[1], picture_png_flat(2, 2, 2, 1)},
                            {NULL, {0}}};
    ep_status status = items_ingest(items, cases[i].how, NULL, &meta, &error);
    ck_assert_msg(status == (cases[i].taken ? EP_OK : EP_INVALID), "case %zu: %s", i,
                  error.message);
    if (status != EP_OK) continue;
    ck_assert_str_eq(meta.class_name[0].name, "cat");
    part_is("train.x", 2, VALUES(1, 2));
    ep_dataset_meta_deinit(&meta);
  }
  picture_item outside[] = {{"cat\\1.png", picture_png_flat(1, 2, 2, 1)},
                            {"..\\dog\\2.png", picture_png_flat(2, 2, 2, 1)},
                            {NULL, {0}}};
  ck_assert_int_eq(items_ingest(outside, PICTURES_DOS, NULL, &meta, &error), EP_INVALID);
  ck_assert_str_eq(error.message, "pictures: \"../dog/2.png\" is not a path within the archive");
}
END_TEST

START_TEST(class_folders_are_one_in_nfc) {
  static const wanted_item items[] = {
      {"train/caf\u00e9/1.png", 1, 2, 2, 1},  {"train/bar/2.png", 2, 2, 2, 1},
      {"train/cafe\u0301/3.png", 3, 2, 2, 1}, {"test/cafe\u0301/4.png", 4, 2, 2, 1},
      {"test/bar/5.png", 5, 2, 2, 1},         {NULL, 0, 0, 0, 0}};
  ep_dataset_meta meta;
  ingested(items, NULL, &meta);
  ck_assert_int_eq(meta.classes, 2);
  ck_assert_str_eq(meta.class_name[1].name, "caf\u00e9");
  part_is("train.y", 3, VALUES(0, 1, 1));
  part_is("test.y", 2, VALUES(0, 1));
  ep_dataset_meta_deinit(&meta);
}
END_TEST

static picture_file bytes_file(const char *bytes, size_t count) {
  picture_file file = {malloc(count + 1), count};
  memcpy(file.bytes, bytes, count);
  return file;
}

/* Two good pictures of each class, of which b's may be broken as well, and five broken ones of a.
 */
static void broken_items(picture_item items[9], bool b) {
  picture_file cut = picture_png_flat(9, 40, 40, 3);
  cut.size -= 20;
  static const char gif[] = "GIF89a", page[] = "<!DOCTYPE html><title>404</title>";
  const picture_item made[9] = {{"a/1.png", picture_png_flat(1, 2, 2, 1)},
                                {"a/2.jpg", bytes_file("", 0)},
                                {"a/3.jpg", bytes_file(gif, sizeof gif - 1)},
                                {"a/4.png", cut},
                                {"a/5.png", bytes_file(page, sizeof page - 1)},
                                {"a/6.jpeg", bytes_file("RIFF\1\0\0\0WEBPVP8 ", 16)},
                                {"a/7.png", picture_png_flat(7, 2, 2, 1)},
                                {"b/8.png", b ? bytes_file("BM", 2) : picture_png_flat(8, 2, 2, 1)},
                                {NULL, {0}}};
  memcpy(items, made, sizeof made);
}

START_TEST(broken_pictures_are_refused_at_once) {
  static const char *const details[] = {
      "\"a/2.jpg\": it is an empty file, neither a PNG nor a JPEG",
      "\"a/3.jpg\": it is a GIF, neither a PNG nor a JPEG",
      "\"a/5.png\": it is an HTML page, neither a PNG nor a JPEG",
      "\"a/6.jpeg\": it is a WebP, neither a PNG nor a JPEG",
      "\"a/4.png\": the PNG is damaged: the file ends early",
  };
  ep_dataset_meta meta;
  ep_error error = {0};
  ep_problem faults = {0};
  picture_item items[9];
  const ep_ingest_options options = {.faults = &faults};
  broken_items(items, false);
  ck_assert_int_eq(items_ingest(items, PICTURES_DEFLATED, &options, &meta, &error), EP_INVALID);
  ck_assert_str_eq(error.message,
                   "pictures: 5 of 8 cannot be read, the first: \"a/2.jpg\": it is an empty file, "
                   "neither a PNG nor a JPEG; ?broken=skip skips them");
  ck_assert_int_eq(faults.errors_count, 5);
  for (int i = 0; i < 5; i++) ck_assert_str_eq(faults.errors[i].detail, details[i]);
}
END_TEST

START_TEST(broken_pictures_are_left_out) {
  ep_dataset_meta meta;
  ep_error error = {0};
  ep_problem faults = {0};
  picture_item items[9];
  const ep_ingest_options options = {.faults = &faults, .skip_broken = true};
  broken_items(items, false);
  ck_assert_msg(items_ingest(items, PICTURES_DEFLATED, &options, &meta, &error) == EP_OK, "%s",
                error.message);
  part_is("train.x", 3, VALUES(1, 7, 8));
  part_is("train.y", 3, VALUES(0, 0, 1));
  ck_assert_int_eq(meta.left_out, 5);
  ck_assert_str_eq(meta.notes.text,
                   "5 of 8 pictures cannot be read and are left out: \"a/2.jpg\", \"a/3.jpg\", "
                   "\"a/5.png\", \"a/6.jpeg\", \"a/4.png\"");
  ep_dataset_meta_deinit(&meta);
  broken_items(items, true);
  ck_assert_int_eq(items_ingest(items, PICTURES_DEFLATED, &options, &meta, &error), EP_INVALID);
  ck_assert_str_eq(
      error.message,
      "pictures: no training picture of \"b\" can be read: \"a/2.jpg\": it is an empty "
      "file, neither a PNG nor a JPEG");
}
END_TEST

/* More than a response lists, and than a note names; and a split without a picture. */
START_TEST(many_broken_pictures_are_counted) {
  enum { COUNT = 40 };
  static char names[COUNT][32];
  picture_item items[COUNT + 3];
  ep_problem faults = {0};
  ep_dataset_meta meta;
  ep_error error = {0};
  ep_ingest_options options = {.faults = &faults};
  for (int skip = 0; skip < 2; skip++) {
    for (int i = 0; i < COUNT; i++) {
      snprintf(names[i], sizeof names[i], "%s/%s/%02d.png", i < 38 ? "train" : "test",
               i % 2 ? "a" : "b", i);
      items[2 + i] = (picture_item){names[i], bytes_file("x", 1)};
    }
    items[0] = (picture_item){"train/a/x.png", picture_png_flat(1, 2, 2, 1)};
    items[1] = (picture_item){"train/b/x.png", picture_png_flat(2, 2, 2, 1)};
    items[COUNT + 2] = (picture_item){NULL, {0}};
    options.skip_broken = skip;
    ep_status status = items_ingest(items, PICTURES_STORED, &options, &meta, &error);
    ck_assert_msg(status == (skip ? EP_OK : EP_INVALID), "%s", error.message);
    if (!skip) ck_assert_ptr_nonnull(strstr(error.message, "40 of 42 cannot be read"));
    ck_assert_int_eq(faults.errors_count, EP_LIMIT_PROBLEM_ERRORS);
  }
  ck_assert_ptr_nonnull(strstr(meta.notes.text, "40 of 42 pictures cannot be read"));
  ck_assert_ptr_nonnull(strstr(meta.notes.text, "\"train/a/01.png\", "));
  ck_assert_ptr_nonnull(strstr(meta.notes.text, " and others"));
  part_is("train.x", 2, VALUES(1, 2));
  ck_assert_int_eq(meta.part[EP_SPLIT_TEST][EP_ROLE_X].rows, 0);
  ep_dataset_meta_deinit(&meta);
}
END_TEST

EP_SUITE("engine/data/formats/picture_kinds") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(all, scratch_setup, scratch_teardown);
  tcase_add_test(all, sixteen_bits_are_stored);
  tcase_add_test(all, pictures_are_stored_as_they_are_viewed);
  tcase_add_loop_test(all, splits_have_many_names, 0, sizeof split_names / sizeof *split_names);
  tcase_add_test(all, pictures_to_predict_are_left_out);
  tcase_add_loop_test(all, folders_that_may_be_splits_are_noted, 0,
                      sizeof doubtful / sizeof *doubtful);
  tcase_add_test(all, backslashes_are_slashes);
  tcase_add_test(all, class_folders_are_one_in_nfc);
  tcase_add_test(all, broken_pictures_are_refused_at_once);
  tcase_add_test(all, broken_pictures_are_left_out);
  tcase_add_test(all, many_broken_pictures_are_counted);
}
