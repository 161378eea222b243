/* Tests of server/store/models.c and server/jobs/results/models.c: names of models on disk, what
 * may be published, and what it keeps. */
#include "server/jobs/models.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "engine/weights/weights.h"
#include "server/store/models.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"

static ep_store *store_open(void) {
  ep_store *store = NULL;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  return store;
}

static ep_model model_make(const char *name, const char *job) {
  ep_model model = {.row = {3, 28, 27},
                    .row_dimensions = 3,
                    .outputs = 10,
                    .decision = EP_DECISION_GREATEST,
                    .threshold = NAN,
                    .published_us = INT64_C(1763650000000000)};
  snprintf(model.name, sizeof model.name, "%s", name);
  snprintf(model.job, sizeof model.job, "%s", job);
  return model;
}

static ep_status model_put(ep_jobs *jobs, const char *name, const char *job, bool *created,
                           ep_error *error) {
  ep_model_request request = {0};
  snprintf(request.job, sizeof request.job, "%s", job);
  return ep_models_put(jobs, name, &request, NAN, "", &(ep_viewer){0}, created, error);
}

static void assert_same(const ep_model *a, const ep_model *b) {
  ck_assert_str_eq(a->name, b->name);
  ck_assert_str_eq(a->job, b->job);
  ck_assert_int_eq(a->row_dimensions, b->row_dimensions);
  ck_assert_int_eq(ep_model_columns(a), ep_model_columns(b));
  ck_assert_int_eq(a->row[0], b->row[0]);
  ck_assert_int_eq(a->outputs, b->outputs);
  ck_assert_int_eq(a->decision, b->decision);
  ck_assert(isnan(a->threshold) ? isnan(b->threshold) : a->threshold == b->threshold);
  ck_assert_str_eq(a->positive, b->positive);
  ck_assert_int_eq(a->published_us, b->published_us);
}

START_TEST(the_store_gives_back_what_it_took) {
  ep_store *store = store_open();
  ep_model second = model_make("b", "job_1"), first = model_make("a", "job_1"), back, *all = NULL;
  bool created = false;
  int64_t count = 0;
  first.row_dimensions = 1;
  first.threshold = 0.1 + 0.2; /* all of its digits */
  strcpy(first.positive, "very likely");
  assert_ok(ep_store_model_put(store, &second, false, &created, error));
  ck_assert(created);
  assert_ok(ep_store_model_put(store, &first, false, &created, error));
  ck_assert(created);
  second.outputs = 7;
  strcpy(second.job, "job_2");
  assert_ok(ep_store_model_put(store, &second, false, &created, error));
  ck_assert(!created);
  ep_store_close(store);
  store = store_open();
  assert_ok(ep_store_model_get(store, "b", &back, error));
  assert_same(&back, &second);
  assert_ok(ep_store_model_by_job(store, "job_1", "", &back, error));
  assert_same(&back, &first);
  assert_ok(ep_store_model_list(store, NULL, &all, &count, error));
  ck_assert_int_eq(count, 2);
  assert_same(&all[0], &first);
  assert_same(&all[1], &second);
  free(all);
  assert_ok(ep_store_model_delete(store, "a", "", false, error));
  ck_assert_int_eq(ep_store_model_delete(store, "a", "", false, NULL), EP_NOT_FOUND);
  ck_assert_int_eq(ep_store_model_get(store, "a", &back, NULL), EP_NOT_FOUND);
  ck_assert_int_eq(ep_store_model_by_job(store, "job_1", "", &back, NULL), EP_NOT_FOUND);
  ep_store_close(store);
}
END_TEST

START_TEST(there_are_only_so_many) {
  ep_store *store = store_open();
  char name[32];
  bool created;
  for (int i = 0; i < EP_LIMIT_MODELS; i++) {
    snprintf(name, sizeof name, "model-%d", i);
    ep_model model = model_make(name, "job_1");
    assert_ok(ep_store_model_put(store, &model, false, &created, error));
  }
  ep_model more = model_make("more", "job_1"), last = model_make(name, "job_2");
  ck_assert_int_eq(ep_store_model_put(store, &more, false, &created, NULL), EP_CONFLICT);
  assert_ok(ep_store_model_put(store, &last, false, &created, error));
  ck_assert(!created);
  ep_store_close(store);
}
END_TEST

/* SQL of another connection. */
static void run(const char *sql) {
  sqlite3 *database = NULL;
  ck_assert_int_eq(sqlite3_open(scratch_path("epochd.sqlite"), &database), SQLITE_OK);
  int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
  ck_assert_msg(code == SQLITE_OK, "%s", sqlite3_errmsg(database));
  sqlite3_close(database);
}

START_TEST(a_row_that_is_not_ours_is_said) {
  static const char *const WRONG[] = {"shape = ''",         "shape = '3,'",  "shape = '1,2,3,4'",
                                      "shape = '-1'",       "shape = '3;4'", "shape = '0'",
                                      "shape = '99999999'", "outputs = 0",   "decision = 'some'",
                                      "shape = '4096,4097'"};
  for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
    ep_store *store = store_open();
    ep_model model = model_make("a", "job_1"), back;
    bool created;
    char sql[128];
    assert_ok(ep_store_model_put(store, &model, false, &created, error));
    snprintf(sql, sizeof sql, "UPDATE models SET %s", WRONG[i]);
    run(sql);
    ck_assert_msg(ep_store_model_get(store, "a", &back, NULL) == EP_DAMAGED, "%s", WRONG[i]);
    snprintf(sql, sizeof sql, "UPDATE models SET row_sum = NULL, %s", WRONG[i]);
    run(sql);
    ck_assert_msg(ep_store_model_get(store, "a", &back, NULL) == EP_IO, "%s", WRONG[i]);
    assert_ok(ep_store_model_delete(store, "a", "", false, error));
    ep_store_close(store);
  }
}
END_TEST

/* A data folder of before there were models: the first schema, with a job in it. */
START_TEST(an_old_store_opens) {
  run("CREATE TABLE jobs ("
      "  id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL,"
      "  spec TEXT NOT NULL, dataset TEXT NOT NULL, wanted TEXT NOT NULL, device TEXT NOT NULL,"
      "  executor TEXT NOT NULL, seconds_cpu REAL, seconds_cuda REAL, attempt INTEGER NOT NULL,"
      "  epochs INTEGER NOT NULL, parameters INTEGER NOT NULL, bytes INTEGER NOT NULL,"
      "  result TEXT, created_us INTEGER NOT NULL, started_us INTEGER NOT NULL,"
      "  finished_us INTEGER NOT NULL, version INTEGER NOT NULL, key_hash BLOB, body_hash BLOB"
      ") WITHOUT ROWID;"
      "CREATE UNIQUE INDEX jobs_by_key ON jobs (key_hash) WHERE key_hash IS NOT NULL;"
      "CREATE INDEX jobs_by_state ON jobs (state, id);"
      "CREATE INDEX jobs_by_finish ON jobs (finished_us) WHERE finished_us > 0;"
      "CREATE TABLE datasets (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL,"
      "  created_us INTEGER NOT NULL) WITHOUT ROWID;"
      "CREATE INDEX datasets_by_content ON datasets (sha256);"
      "INSERT INTO jobs VALUES ('job_old','n','succeeded',0,'{}','','auto','cpu','x',0,0,1,1,1,1,"
      "  '{}',1,1,1,1,NULL,NULL);"
      "PRAGMA user_version = 1;");
  ep_store *store = store_open();
  ep_model model = model_make("a", "job_old"), back;
  bool created = false;
  ck_assert(ep_store_job_exists(store, "job_old"));
  assert_ok(ep_store_model_put(store, &model, false, &created, error));
  ck_assert(created);
  ep_store_close(store);
  store = store_open();
  assert_ok(ep_store_model_get(store, "a", &back, error));
  assert_same(&back, &model);
  ep_store_close(store);
}
END_TEST

/* Puts weights where the job's own would be, and their hash: of the fixture's network, or with
 * `loss`. */
static void weights_write(const char *id, const char *loss) {
  char text[512], sha256[EP_SHA256_HEX_BYTES], path[256];
  int64_t bytes;
  float state[3] = {1, 2, 3};
  ep_job_spec *spec = NULL;
  ep_plan *plan = NULL;
  ep_problem problem = {0};
  ep_data_shape shape = {
      .train_rows = 4, .features = 2, .row = {2, 1, 1}, .target_columns = 1, .target_max = 1};
  ep_scaling none = {.x_columns = 2, .y_columns = 1};
  snprintf(text, sizeof text,
           "{\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":\"linear\","
           "\"out_features\":1}%s]},\"loss\":\"%s\",\"epochs\":1}",
           strcmp(loss, "bce") == 0 ? ",{\"type\":\"sigmoid\"}" : "", loss);
  ck_assert_int_eq(ep_job_spec_parse(text, strlen(text), &spec, &problem), EP_OK);
  ck_assert_msg(ep_plan_create(spec, &shape, &plan, &problem) == EP_OK, "%s", problem.detail);
  snprintf(path, sizeof path, "%s/jobs/%s/weights.safetensors", scratch_dir, id);
  assert_ok(ep_weights_write(path, plan, state, &none, text, sha256, &bytes, error));
  snprintf(text, sizeof text,
           "UPDATE jobs SET row_sum = NULL, result = json_set(result, '$.weights_sha256', '%s') "
           "WHERE id = '%s'",
           sha256, id);
  run(text);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}

START_TEST(a_job_is_published_and_kept) {
  ep_jobs *jobs = jobs_open("cpu");
  ep_error fault = {0};
  ep_model model;
  bool created = false;
  char id[EP_ID_BYTES];
  job_submit(jobs, "weights", 1, id);
  job_wait(jobs, id, "succeeded");
  weights_write(id, "bce_with_logits");
  assert_ok(model_put(jobs, "fine", id, &created, error));
  ck_assert(created);
  assert_ok(model_put(jobs, "fine", id, &created, error));
  ck_assert(!created);
  char path[256];
  snprintf(path, sizeof path, "%s/jobs/%s/weights.safetensors", scratch_dir, id);
  FILE *file = fopen(path, "r+"); /* a byte changes */
  ck_assert(file && fseek(file, -1, SEEK_END) == 0 && fputc('!', file) == '!');
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_int_eq(model_put(jobs, "other", id, &created, &fault), EP_DAMAGED);
  ck_assert_msg(strstr(fault.message, id) && strstr(fault.message, "spec again"), "%s",
                fault.message);
  weights_write(id, "bce_with_logits");
  assert_ok(ep_models_get(jobs, "fine", &model, error));
  ck_assert_str_eq(model.job, id);
  ck_assert(model.row_dimensions == 1 && model.row[0] == 2 && model.outputs == 1);
  ck_assert_int_eq(model.decision, EP_DECISION_POSITIVE);
  ck_assert_int_eq(ep_jobs_delete(jobs, id, NULL, &fault), EP_CONFLICT);
  ck_assert_msg(strstr(fault.message, "\"fine\""), "%s", fault.message);
  ep_jobs_close(jobs);
  jobs = jobs_open("cpu"); /* and after a restart */
  ck_assert_int_eq(ep_jobs_delete(jobs, id, NULL, &fault), EP_CONFLICT);
  /* it may be another owner's by the time that a request to delete it has come in whole */
  ck_assert_int_eq(ep_models_delete(jobs, "fine", "ann", false, &fault), EP_FORBIDDEN);
  assert_ok(ep_models_delete(jobs, "fine", "ann", true, error));
  assert_ok(ep_jobs_delete(jobs, id, NULL, error));
  ck_assert_int_eq(model_put(jobs, "fine", id, &created, &fault), EP_NOT_FOUND);
  ck_assert_str_eq(fault.pointer, "/job");
  ep_jobs_close(jobs);
}
END_TEST

static ep_status publish_as(ep_jobs *jobs, const char *owner, const char *name, const char *job) {
  const ep_viewer by = {.owner = owner, .limited = true};
  ep_model_request request = {.private = false};
  bool created;
  snprintf(request.job, sizeof request.job, "%s", job);
  return ep_models_put(jobs, name, &request, NAN, "", &by, &created, NULL);
}

/* A public job of ann's, of which bob and eve have published models. */
START_TEST(a_job_that_others_publish_goes_to_them) {
  const ep_viewer ann = {.owner = "ann", .limited = true}, bob = {.owner = "bob", .limited = true};
  ep_jobs *jobs = jobs_open("cpu");
  ep_error fault = {0};
  ep_ownership of;
  char id[EP_ID_BYTES], text[256];
  job_submit(jobs, "weights", 1, id);
  job_wait(jobs, id, "succeeded");
  weights_write(id, "bce_with_logits");
  snprintf(text, sizeof text,
           "UPDATE jobs SET owner = 'ann', pinned = 1, key_hash = x'01', body_hash = x'02', "
           "row_sum = NULL WHERE id = '%s'",
           id);
  run(text);
  assert_ok(publish_as(jobs, "bob", "of-bob", id));
  assert_ok(publish_as(jobs, "eve", "of-eve", id));
  assert_ok(publish_as(jobs, "ann", "of-ann", id));
  ck_assert_int_eq(ep_jobs_delete(jobs, id, NULL, &fault), EP_CONFLICT);
  ck_assert_int_eq(ep_jobs_delete(jobs, id, &ann, &fault), EP_CONFLICT);
  ck_assert_msg(strstr(fault.message, "\"of-ann\""), "%s", fault.message);
  assert_ok(ep_models_delete(jobs, "of-ann", "ann", false, error));
  assert_ok(ep_jobs_delete(jobs, id, &ann, error));
  assert_ok(ep_jobs_owner(jobs, EP_OWNED_JOB, id, &of, error));
  ck_assert(strcmp(of.owner, "bob") == 0 && of.private);
  ep_jobs_close(jobs);
  jobs = jobs_open("cpu"); /* and after a restart; the row is whole */
  assert_ok(ep_models_delete(jobs, "of-bob", "bob", false, error));
  assert_ok(ep_jobs_delete(jobs, id, &bob, error));
  assert_ok(ep_jobs_owner(jobs, EP_OWNED_JOB, id, &of, error));
  ck_assert_str_eq(of.owner, "eve");
  assert_ok(ep_models_delete(jobs, "of-eve", "", true, error));
  assert_ok(ep_jobs_delete(jobs, id, NULL, error));
  ck_assert_int_eq(ep_jobs_owner(jobs, EP_OWNED_JOB, id, &of, &fault), EP_NOT_FOUND);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(what_a_loss_decides) {
  static const struct {
    const char *loss;
    ep_decision decision;
  } CASES[] = {{"mse", EP_DECISION_NONE},
               {"bce", EP_DECISION_HALF},
               {"bce_with_logits", EP_DECISION_POSITIVE}};
  ep_jobs *jobs = jobs_open("cpu");
  ep_model model;
  bool created;
  char id[EP_ID_BYTES];
  job_submit(jobs, "weights", 1, id);
  job_wait(jobs, id, "succeeded");
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    weights_write(id, CASES[i].loss);
    assert_ok(model_put(jobs, "m", id, &created, error));
    assert_ok(ep_models_get(jobs, "m", &model, error));
    ck_assert_int_eq(model.decision, CASES[i].decision);
  }
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(what_cannot_be_published_is_refused) {
  /* instant: no weights; weights: a file that is none; diverge: failed */
  static const char *const NAMES[] = {"instant", "weights", "diverge"};
  ep_jobs *jobs = jobs_open("cpu");
  ep_error fault = {0};
  ep_model model;
  bool created;
  char id[EP_ID_BYTES];
  for (int i = 0; i < 3; i++) {
    job_submit(jobs, NAMES[i], 1, id);
    job_wait(jobs, id, i == 2 ? "failed" : "succeeded");
    ck_assert_msg(model_put(jobs, "m", id, &created, &fault) == EP_CONFLICT, "%s", NAMES[i]);
    ck_assert_str_eq(fault.pointer, "/job");
    assert_ok(ep_jobs_delete(jobs, id, NULL, error)); /* nothing is left that keeps it */
  }
  job_submit(jobs, "slow", 100000, id);
  job_wait(jobs, id, "running");
  ck_assert_int_eq(model_put(jobs, "m", id, &created, &fault), EP_CONFLICT);
  assert_ok(ep_jobs_cancel(jobs, id, error));
  ck_assert_int_eq(model_put(jobs, "m", "job_none", &created, &fault), EP_NOT_FOUND);
  ck_assert_int_eq(model_put(jobs, "m", "../x", &created, &fault), EP_NOT_FOUND);
  ck_assert_int_eq(ep_models_get(jobs, "m", &model, NULL), EP_NOT_FOUND);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("models") {
  TCase *tests = ep_suite_case(suite, "models");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, the_store_gives_back_what_it_took);
  tcase_add_test(tests, there_are_only_so_many);
  tcase_add_test(tests, a_row_that_is_not_ours_is_said);
  tcase_add_test(tests, an_old_store_opens);
  tcase_add_test(tests, a_job_is_published_and_kept);
  tcase_add_test(tests, a_job_that_others_publish_goes_to_them);
  tcase_add_test(tests, what_a_loss_decides);
  tcase_add_test(tests, what_cannot_be_published_is_refused);
}
