/* datasets.c: stored data beside jobs of fake workers. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/data/datasets/dataset.h"
#include "engine/data/formats/ingest.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

static const ep_uploader nobody = {.owner = ""};

/* Datasets come as ingested folders. */
static void dataset_put(ep_jobs *jobs, const char *name, const char *csv, bool created) {
  char source[300], folder[300];
  ep_ingest_options options = {0};
  ep_dataset_meta meta = {0};
  bool made = !created;
  ep_dataset_told told;
  snprintf(source, sizeof source, "%s/tmp/source.csv", scratch_dir);
  snprintf(folder, sizeof folder, "%s/tmp/ingested", scratch_dir);
  assert_ok(ep_data_dir_write_file(source, csv, strlen(csv), error));
  ck_assert_int_eq(mkdir(folder, 0700), 0);
  assert_ok(ep_dataset_ingest(open(source, O_RDONLY | O_CLOEXEC), folder, &options, 1 << 20, &meta,
                              error));
  ep_dataset_meta_deinit(&meta);
  assert_ok(ep_datasets_put(ep_jobs_datasets(jobs), name, &nobody, folder, &told, &made, error));
  ck_assert_int_eq(made, created);
  ck_assert(!ep_data_dir_exists(folder));
}

START_TEST(datasets_stay_while_they_are_needed) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], sha256[EP_DATASET_ETAG_BYTES], path[300], *text;
  bool repeated;
  ep_dataset_told told;
  ep_problem problem = {0};
  dataset_put(jobs, "t", "a,b,y\n1,2,3\n4,5,6\n7,8,9\n", true);
  dataset_put(jobs, "same", "a,b,y\n1,2,3\n4,5,6\n7,8,9\n", true);
  assert_ok(ep_datasets_get(ep_jobs_datasets(jobs), "t", NULL, NULL, &text, sha256, error));
  ck_assert_ptr_nonnull(strstr(text, "\"name\":\"t\""));
  free(text);
  snprintf(path, sizeof path, "%s/datasets/%s", scratch_dir, sha256);
  /* it may be another owner's by the time that a request to delete it has come in whole */
  const ep_uploader ann = {.owner = "ann"};
  ck_assert_int_eq(ep_datasets_delete(ep_jobs_datasets(jobs), "same", &ann, &told, NULL),
                   EP_FORBIDDEN);
  assert_ok(ep_datasets_delete(ep_jobs_datasets(jobs), "same", &nobody, &told, error));
  ck_assert(ep_data_dir_exists(path)); /* the other name needs it */
  const char *spec = "{\"name\":\"slow\",\"data\":{\"dataset\":\"t\",\"target\":\"y\"},"
                     "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]},"
                     "\"loss\":\"mse\",\"epochs\":100000,\"report_every\":1}";
  ep_status status = ep_jobs_submit(jobs, &(ep_submission){.json = spec, .bytes = strlen(spec)}, id,
                                    &repeated, &problem);
  ck_assert_msg(status == EP_OK, "%s", problem.detail);
  text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, sha256));
  free(text);
  ck_assert_int_eq(ep_datasets_delete(ep_jobs_datasets(jobs), "t", &nobody, &told, NULL),
                   EP_CONFLICT);
  dataset_put(jobs, "t", "a,b,y\n1,2,3\n4,5,7\n", false); /* the job keeps the old content */
  ck_assert(ep_data_dir_exists(path));
  assert_ok(ep_datasets_list(ep_jobs_datasets(jobs), &(ep_viewer){0}, NULL, 10, &text, error));
  ck_assert_ptr_null(strstr(text, sha256));
  ck_assert_ptr_nonnull(strstr(text, "\"columns_count\":3"));
  ck_assert_ptr_null(strstr(text, "\"columns\":["));
  free(text);
  assert_ok(ep_jobs_cancel(jobs, id, error));
  job_wait(jobs, id, "cancelled");
  wait_until(!ep_data_dir_exists(path)); /* nobody needs it any more */
  assert_ok(ep_datasets_delete(ep_jobs_datasets(jobs), "t", &nobody, &told, error));
  ck_assert_int_eq(ep_datasets_get(ep_jobs_datasets(jobs), "t", NULL, NULL, &text, sha256, NULL),
                   EP_NOT_FOUND);
  ep_jobs_close(jobs);
}
END_TEST

/* Puts spaces before the columns of meta.json, whose checksum may be missing. */
static void description_widen(const char *sha256, int64_t bytes) {
  char path[300], text[8192];
  snprintf(path, sizeof path, "%s/datasets/%s/meta.json", scratch_dir, sha256);
  FILE *file = fopen(path, "r+");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  char *columns = strstr(text, "\"column\":[") + strlen("\"column\":[");
  char *checksum = strrchr(text, ',');
  ck_assert_int_eq(fseek(file, 0, SEEK_SET), 0);
  fprintf(file, "%.*s%*s%.*s}", (int)(columns - text), text, (int)bytes, "",
          (int)(checksum - columns), columns);
  ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_page_of_datasets_reads_so_much) {
  static const struct {
    const char *after;
    int items, more;
  } pages[] = {{NULL, 2, 1}, {"b", 1, 0}, {NULL, 3, 0}}; /* those that were listed are held */
  char name[2] = "a", csv[32], sha256[EP_DATASET_ETAG_BYTES], *text;
  ep_jobs *jobs = jobs_open("cpu");
  for (; name[0] <= 'c'; name[0]++) {
    snprintf(csv, sizeof csv, "a,b\n1,%d\n4,5\n", name[0]);
    dataset_put(jobs, name, csv, true);
    assert_ok(ep_datasets_get(ep_jobs_datasets(jobs), name, NULL, NULL, &text, sha256, error));
    free(text);
    description_widen(sha256, EP_LIMIT_LIST_READ_BYTES / 2);
  }
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
    assert_ok(ep_datasets_list(ep_jobs_datasets(jobs), &(ep_viewer){0}, pages[i].after, 10, &text,
                               error));
    ck_assert_int_eq(count_of(text, "\"object\":\"dataset\""), pages[i].items);
    ck_assert_int_eq(count_of(text, "\"has_more\":true"), pages[i].more);
    ck_assert_int_eq(count_of(text, "\"next\":\"b\""), pages[i].more);
    free(text);
  }
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("datasets") {
  TCase *tests = ep_suite_case(suite, "datasets");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, datasets_stay_while_they_are_needed);
  tcase_add_test(tests, a_page_of_datasets_reads_so_much);
}
