/* Files that are put in place together, or not at all. */
#include "engine/files/durable_file.h"

#include "api/hash/sha256.h"

#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static const char *const names[] = {"a", "b", "c"};

static ep_durable_file *file_begin(const char *name, const char *text) {
  ep_durable_file *file = NULL;
  ep_error error = {0};
  ck_assert_msg(ep_durable_file_create(scratch_file(name), &file, &error) == EP_OK, "%s",
                error.message);
  ck_assert_int_eq(ep_durable_file_write(file, text, strlen(text), &error), EP_OK);
  return file;
}

static bool is_there(const char *name) {
  return access(scratch_file(name), F_OK) == 0;
}

static int entries_count(void) {
  int count = 0;
  DIR *listing = opendir(scratch_root);
  ck_assert_ptr_nonnull(listing);
  for (struct dirent *entry; (entry = readdir(listing));) count += entry->d_name[0] != '.';
  closedir(listing);
  return count;
}

static void group_fill(ep_durable_group *group) {
  for (int i = 0; i < 3; i++) {
    char sha256[65], expected[65];
    ep_sha256 hash;
    int64_t bytes = 0;
    ep_error error = {0};
    ep_durable_file *file = file_begin(names[i], names[i]);
    ck_assert_int_eq(ep_durable_group_take(group, file, sha256, &bytes, &error), EP_OK);
    ck_assert_int_eq(ep_sha256_init(&hash, &error), EP_OK);
    ep_sha256_update(&hash, names[i], 1);
    ep_sha256_final(&hash, expected);
    ck_assert_str_eq(sha256, expected);
    ck_assert_int_eq(bytes, 1);
  }
}

START_TEST(a_group_is_placed_together) {
  ep_durable_group group = {0};
  ep_error error = {0};
  group_fill(&group);
  for (int i = 0; i < 3; i++) ck_assert(!is_there(names[i]));
  ck_assert_int_eq(ep_durable_group_commit(&group, &error), EP_OK);
  ck_assert_int_eq(group.count, 0);
  ck_assert_int_eq(entries_count(), 3);
  for (int i = 0; i < 3; i++) {
    size_t count;
    char *text = scratch_read(scratch_file(names[i]), &count);
    ck_assert_str_eq(text, names[i]);
    free(text);
  }
  ck_assert_int_eq(ep_durable_group_commit(&group, &error), EP_OK); /* of nothing */
}
END_TEST

START_TEST(a_group_given_up_leaves_nothing) {
  ep_durable_group group = {0};
  group_fill(&group);
  ck_assert_int_eq(entries_count(), 3);
  ep_durable_group_abandon(&group);
  ck_assert_int_eq(group.count, 0);
  ck_assert_int_eq(entries_count(), 0);
}
END_TEST

/* A folder has the second name: nothing else is left. */
START_TEST(a_name_that_is_taken_is_said) {
  ep_durable_group group = {0};
  ep_error error = {0};
  ck_assert_int_eq(mkdir(scratch_file("b"), 0755), 0);
  group_fill(&group);
  ck_assert_int_eq(ep_durable_group_commit(&group, &error), EP_IO);
  ck_assert_ptr_nonnull(strstr(error.message, "rename"));
  ck_assert_int_eq(group.count, 0);
  ck_assert(is_there("b"));
  ck_assert_int_eq(entries_count(), 1);
}
END_TEST

/* A full disk is a state that passes; other faults are not. */
START_TEST(a_full_disk_is_said) {
  ep_error error = {0};
  int full = open("/dev/full", O_WRONLY), none = open("/dev/null", O_RDONLY);
  ck_assert_int_eq(ep_file_write_all(full, "x", 1, &error), EP_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(error.message, "No space left"));
  ck_assert_int_eq(ep_file_write_all(none, "x", 1, &error), EP_IO);
  close(full);
  close(none);
}
END_TEST

START_TEST(one_file_replaces_another) {
  ep_error error = {0};
  for (int turn = 0; turn < 2; turn++)
    ck_assert_int_eq(
        ep_durable_file_commit(file_begin("a", turn ? "new" : "old one"), NULL, NULL, &error),
        EP_OK);
  size_t count;
  char *text = scratch_read(scratch_file("a"), &count);
  ck_assert_str_eq(text, "new");
  free(text);
}
END_TEST

static bool after_three(void *context) {
  int *asked = context;
  return ++*asked > 3;
}

/* Whoever asked for a long file has gone: the next buffer is not written, and nothing is left. */
START_TEST(what_nobody_wants_is_not_written) {
  static const char bytes[1 << 20];
  int asked = 0;
  ep_error error = {0};
  ep_durable_file *file = file_begin("long", "");
  ep_status status = EP_OK;
  ep_durable_file_heed(file, &(ep_cancellation){after_three, &asked});
  for (int i = 0; i < 1000 && status == EP_OK; i++)
    status = ep_durable_file_write(file, bytes, i % 2 ? 1000 : sizeof bytes, &error);
  ck_assert_int_eq(status, EP_CANCELLED);
  ck_assert_int_eq(asked, 4);
  ep_durable_file_abandon(file);
  ck_assert_int_eq(entries_count(), 0);
}
END_TEST

EP_SUITE("engine/data/durable_file") {
  TCase *tests = ep_suite_case(suite, "files");
  tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
  tcase_add_test(tests, a_group_is_placed_together);
  tcase_add_test(tests, a_group_given_up_leaves_nothing);
  tcase_add_test(tests, a_name_that_is_taken_is_said);
  tcase_add_test(tests, one_file_replaces_another);
  tcase_add_test(tests, a_full_disk_is_said);
  tcase_add_test(tests, what_nobody_wants_is_not_written);
}
