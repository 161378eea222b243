/* What is kept on disk: what comes back, what is damaged, how many are kept, where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/limits.h"
#include "kernels/cache/cache.h"
#include "tests/cache_folder.h"
#include "tests/suite.h"

static ep_cache_key key_of(const char *text) {
  ep_cache_key key = ep_cache_key_start();
  ep_cache_key_add(&key, text);
  return key;
}

/* 1 when exactly `code` is kept under `text`, 0 when nothing is. */
static int kept(const char *text, const char *code) {
  ep_cache_key key = key_of(text);
  size_t bytes = 0;
  char *got = ep_cache_read(&key, &bytes);
  if (!got) return 0;
  ck_assert_uint_eq(bytes, strlen(code));
  ck_assert_mem_eq(got, code, bytes);
  free(got);
  return 1;
}

static void keep(const char *text, const char *code) {
  ep_cache_key key = key_of(text);
  ep_cache_write(&key, code, strlen(code));
}

START_TEST(what_was_kept_comes_back) {
  ck_assert_int_eq(kept("a", "code of a"), 0);
  keep("a", "code of a");
  keep("b", "another");
  ck_assert_int_eq(kept("a", "code of a"), 1);
  ck_assert_int_eq(kept("b", "another"), 1);
  keep("a", "newer");
  ck_assert_int_eq(kept("a", "newer"), 1);
  ck_assert_int_eq(ep_cache_folder_run("test $(ls | wc -l) = 2"),
                   0); /* nothing temporary is left */
}
END_TEST

START_TEST(two_texts_are_not_one) {
  ep_cache_key one = ep_cache_key_start(), two = ep_cache_key_start();
  ep_cache_key_add(&one, "ab");
  ep_cache_key_add(&one, "c");
  ep_cache_key_add(&two, "a");
  ep_cache_key_add(&two, "bc");
  ck_assert_mem_ne(&one, &two, sizeof one);
}
END_TEST

static const char *const damages[] = {
    "for f in *; do printf X | dd of=$f bs=1 seek=26 conv=notrunc 2>/dev/null; done", /* code */
    "for f in *; do printf X | dd of=$f bs=1 seek=9 conv=notrunc 2>/dev/null; done",  /* size */
    "for f in *; do printf X | dd of=$f bs=1 seek=17 conv=notrunc 2>/dev/null; done", /* sum */
    "for f in *; do truncate -s 25 $f; done",
    "for f in *; do truncate -s 0 $f; done",
    "for f in *; do printf more >>$f; done",
    "for f in *; do mkdir .real && mv $f .real && ln -s .real/$f $f; done",
};

START_TEST(a_damaged_file_is_none) {
  keep("a", "code of a");
  ck_assert_int_eq(kept("a", "code of a"), 1);
  ck_assert_int_eq(ep_cache_folder_run(damages[_i]), 0);
  ck_assert_int_eq(kept("a", "code of a"), 0);
  keep("a", "code of a"); /* and is replaced */
  ck_assert_int_eq(kept("a", "code of a"), 1);
}
END_TEST

/* The text of a kernel: more than an answer may have. */
static const char *code_of(int number) {
  static char text[EP_LIMIT_CACHED_ANSWER_BYTES + 2];
  memset(text, ' ', sizeof text - 1);
  snprintf(text, 16, "%d", number);
  text[strlen(text)] = ' ';
  return text;
}

START_TEST(the_one_not_read_for_longest_goes) {
  char name[16];
  keep("answer", "the third");
  for (int i = 0; i <= EP_LIMIT_CACHED; i++) {
    if (i == EP_LIMIT_CACHED) ck_assert_int_eq(ep_cache_folder_run("touch -d '2 hours ago' *"), 0);
    for (int used = 0; i == EP_LIMIT_CACHED && used < i; used++) {
      snprintf(name, sizeof name, "%d", used);
      if (used != 7) ck_assert_int_eq(kept(name, code_of(used)), 1);
    }
    snprintf(name, sizeof name, "%d", i);
    keep(name, code_of(i)); /* the last is one too many */
  }
  ck_assert_int_eq(kept("7", code_of(7)), 0);
  ck_assert_int_eq(kept("0", code_of(0)), 1);
  ck_assert_int_eq(kept(name, code_of(EP_LIMIT_CACHED)), 1);
  ck_assert_int_eq(kept("answer", "the third"), 1);
}
END_TEST

START_TEST(a_folder_that_cannot_be_is_no_error) {
  setenv("EPOCHD_CACHE_DIR", "/proc/none/at/all", 1);
  keep("a", "code");
  ck_assert_int_eq(kept("a", "code"), 0);
  setenv("EPOCHD_CACHE_DIR", "relative", 1); /* not one: the next in line is taken */
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  keep("a", "code");
  ck_assert_int_eq(kept("a", "code"), 0);
}
END_TEST

START_TEST(the_folder_is_made_where_caches_are) {
  char path[128];
  struct stat about;
  unsetenv("EPOCHD_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", ep_cache_folder, 1);
  keep("a", "code");
  ck_assert_int_eq(kept("a", "code"), 1);
  snprintf(path, sizeof path, "%s/.cache/epochd", ep_cache_folder);
  ck_assert_int_eq(stat(path, &about), 0);
  ck_assert_uint_eq(about.st_mode & 0777, 0700);
  snprintf(path, sizeof path, "%s/other", ep_cache_folder);
  setenv("XDG_CACHE_HOME", path, 1);
  ck_assert_int_eq(kept("a", "code"), 0);
  keep("a", "code");
  ck_assert_int_eq(kept("a", "code"), 1);
}
END_TEST

EP_SUITE("cache") {
  TCase *test = ep_suite_case(suite, "all");
  tcase_add_checked_fixture(test, ep_cache_folder_make, ep_cache_folder_remove);
  tcase_add_test(test, what_was_kept_comes_back);
  tcase_add_test(test, two_texts_are_not_one);
  tcase_add_loop_test(test, a_damaged_file_is_none, 0, (int)(sizeof damages / sizeof *damages));
  tcase_add_test(test, the_one_not_read_for_longest_goes);
  tcase_add_test(test, a_folder_that_cannot_be_is_no_error);
  tcase_add_test(test, the_folder_is_made_where_caches_are);
}
