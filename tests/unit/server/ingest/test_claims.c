/* What the process that read an upload says of it, where it lies. */
#include "server/ingest/claims.h"
#include "server/ingest/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/formats/ingest.h"
#include "engine/files/verified.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static const char TABLE[] = "a,b\n1,2\n3,4\n5,6\n";
static const char OTHER[] = "0000000000000000000000000000000000000000000000000000000000000000";
static const ep_ingest_options OPTIONS = {
    .dialect = {.set = 1u << EP_DIALECT_HEADER, .header = true}};
enum { SCRATCH_BYTES = 256 };
static char upload[SCRATCH_BYTES], folder[SCRATCH_BYTES];
static ep_path_source source;
static ep_ingest_task task = {.source = &source, .options = &OPTIONS, .max_output_bytes = 1 << 20};
static ep_dataset_meta meta;
static char sha256[EP_SHA256_HEX_BYTES]; /* of the upload */

/* An upload that was read as it should be. */
static void upload_read(ep_split split, ep_role role) {
  ep_error error = {0};
  snprintf(upload, SCRATCH_BYTES, "%s", scratch_path("upload"));
  snprintf(folder, SCRATCH_BYTES, "%s", scratch_path("folder"));
  ck_assert_int_eq(mkdir(folder, 0700), 0);
  FILE *file = fopen(upload, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(TABLE, 1, sizeof TABLE - 1, file), sizeof TABLE - 1);
  ck_assert_int_eq(fclose(file), 0);
  ep_path_source_init(&source);
  source.whole = role == EP_ROLE_TABLE;
  source.file[split][role] = open(upload, O_RDONLY | O_CLOEXEC);
  ck_assert_int_eq(ep_file_sha256(source.file[split][role], upload, sha256, &error), EP_OK);
  ck_assert_int_eq(source.whole
                       ? ep_dataset_ingest(source.file[split][role], folder, &OPTIONS,
                                           task.max_output_bytes, &meta, &error)
                       : ep_dataset_ingest_part(source.file[split][role], folder, split, role,
                                                &OPTIONS, task.max_output_bytes, &meta, &error),
                   EP_OK);
  ck_assert_msg(ep_ingest_claims_check(&task, sha256, folder, &error) == EP_OK, "%s",
                error.message);
}

static void read_end(void) {
  ep_path_source_close(&source);
  ep_dataset_meta_deinit(&meta);
}

/* What it says of `what` is not so. */
static void lie_refused(const char *what) {
  ep_error error = {0};
  ck_assert_int_eq(ep_dataset_meta_write(folder, &meta, &error), EP_OK);
  ck_assert_int_eq(ep_ingest_claims_check(&task, sha256, folder, &error), EP_INTERNAL);
  ck_assert_msg(strstr(error.message, what) != NULL, "%s", error.message);
}

START_TEST(hashes_are_the_uploads) {
  upload_read(EP_SPLIT_TRAIN, EP_ROLE_TABLE);
  memcpy(meta.sha256, OTHER, sizeof OTHER);
  lie_refused("its hash");
  read_end();
}
END_TEST

START_TEST(hashes_of_parts_too) {
  upload_read(EP_SPLIT_TRAIN, EP_ROLE_X);
  memcpy(meta.part[EP_SPLIT_TRAIN][EP_ROLE_X].sha256, OTHER, sizeof OTHER);
  lie_refused("its hash");
  read_end();
}
END_TEST

/* A whole file has no part with a hash of its own, by which it would be another's. */
START_TEST(no_part_is_anothers) {
  upload_read(EP_SPLIT_TRAIN, EP_ROLE_TABLE);
  memcpy(meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].sha256, OTHER, sizeof OTHER);
  lie_refused("its hash");
  read_end();
}
END_TEST

START_TEST(a_part_comes_alone) {
  upload_read(EP_SPLIT_TRAIN, EP_ROLE_X);
  meta.part[EP_SPLIT_TEST][EP_ROLE_Y] = meta.part[EP_SPLIT_TRAIN][EP_ROLE_X];
  lie_refused("its parts");
  meta.part[EP_SPLIT_TEST][EP_ROLE_Y] = (ep_part){0}; /* its columns are the other's */
  read_end();
}
END_TEST

START_TEST(files_have_as_many_rows) {
  upload_read(EP_SPLIT_TRAIN, EP_ROLE_TABLE);
  meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows++;
  lie_refused("its rows and columns");
  read_end();
}
END_TEST

/* The process is not the one that was started: it replies, and has put another's hash there. */
START_TEST(a_reader_that_was_taken_over_is_refused) {
  char script[SCRATCH_BYTES], empty[SCRATCH_BYTES];
  ep_error error = {0};
  upload_read(EP_SPLIT_TRAIN, EP_ROLE_TABLE);
  snprintf(script, SCRATCH_BYTES, "%s", scratch_path("reader"));
  snprintf(empty, SCRATCH_BYTES, "%s", scratch_path("empty"));
  ck_assert_int_eq(mkdir(empty, 0700), 0);
  FILE *file = fopen(script, "w");
  ck_assert_ptr_nonnull(file);
  fprintf(file, "#!/bin/sh\ncp %s/* .\nhead -c %zu /dev/zero >&0\n", folder,
          sizeof(ep_ingest_reply));
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_int_eq(chmod(script, 0700), 0);
  ep_ingest_settings settings = {.program = script};
  ck_assert_msg(ep_ingest_run(&settings, &task, empty, NULL, NULL, &error) == EP_OK, "%s",
                error.message);
  memcpy(meta.sha256, OTHER, sizeof OTHER);
  ck_assert_int_eq(ep_dataset_meta_write(folder, &meta, &error), EP_OK);
  ck_assert_int_eq(ep_ingest_run(&settings, &task, empty, NULL, NULL, &error), EP_INTERNAL);
  ck_assert_ptr_nonnull(strstr(error.message, "its hash"));
  read_end();
}
END_TEST

EP_SUITE("server/ingest/claims") {
  TCase *tests = ep_suite_case(suite, "claims");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, hashes_are_the_uploads);
  tcase_add_test(tests, hashes_of_parts_too);
  tcase_add_test(tests, no_part_is_anothers);
  tcase_add_test(tests, a_part_comes_alone);
  tcase_add_test(tests, files_have_as_many_rows);
  tcase_add_test(tests, a_reader_that_was_taken_over_is_refused);
}
