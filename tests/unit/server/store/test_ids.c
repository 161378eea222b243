/* Tests of server/store/ids.c. */
#include <string.h>

#include "server/store/store.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static const char *job_id(int number, char id[EP_ID_BYTES]) {
  snprintf(id, EP_ID_BYTES, "job_%026d", number);
  return id;
}

/* numbers: [count], of rows (row_make). */
static void ids_are(ep_store *store, ep_id_match match, const ep_viewer *viewer, const char *word,
                    const int *numbers, int count) {
  char ids[4][EP_ID_BYTES];
  char id[EP_ID_BYTES];
  int found;
  assert_ok(ep_store_ids_find(store, match, viewer, EP_JOB_PREFIX, word, ids, 4, &found, error));
  ck_assert_msg(found == count, "%s: %d", word, found);
  for (int i = 0; i < count; i++) ck_assert_str_eq(ids[i], job_id(numbers[i], id));
}

/* Each by its index, newest first, of what the viewer sees. */
START_TEST(finds_ids_by_words) {
  ep_store *store = NULL;
  const ep_viewer ann = {"ann", true}, bob = {"bob", true};
  char nearest[EP_LIMIT_NAME_BYTES + 1];
  char id[EP_ID_BYTES];
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  for (int i = 0; i < 4; i++) {
    ep_job_row row = {.name = i < 3 ? "houses" : "",
                      .spec = "{}",
                      .requested_device = "auto",
                      .owner = "ann",
                      .private = i == 2};
    job_id(i, row.id);
    assert_ok(ep_store_job_insert(store, &row, NULL, NULL, error));
  }
  job_id(2, id);
  const char *end = id + strlen(id) - EP_ID_END_BYTES;
  ids_are(store, EP_ID_BY_NAME, &ann, "houses", (int[]){2, 1, 0}, 3);
  ids_are(store, EP_ID_BY_NAME, &bob, "houses", (int[]){1, 0}, 2);
  ids_are(store, EP_ID_BY_NAME, NULL, "", NULL, 0);
  ids_are(store, EP_ID_BY_START, &bob, EP_JOB_PREFIX, (int[]){3, 1, 0}, 3);
  ids_are(store, EP_ID_BY_START, NULL, id, (int[]){2}, 1);
  ids_are(store, EP_ID_BY_END, &ann, end, (int[]){2}, 1);
  ids_are(store, EP_ID_BY_END, &ann, end - 4, (int[]){2}, 1);
  ids_are(store, EP_ID_BY_END, &bob, end, NULL, 0);
  assert_ok(ep_store_name_nearest(store, &bob, EP_JOB_PREFIX, "huoses", nearest, error));
  ck_assert_str_eq(nearest, "houses");
  assert_ok(ep_store_name_nearest(store, &bob, EP_SWEEP_PREFIX, "huoses", nearest, error));
  ck_assert_str_eq(nearest, "");
  ep_store_close(store);
}
END_TEST

EP_SUITE("ids") {
  TCase *tests = ep_suite_case(suite, "ids");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, finds_ids_by_words);
}
