/* A stored dataset in which a bit has changed is noticed, whichever bit it is. */
#include "engine/data/datasets/verify.h"

#include <unistd.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/parts.h"
#include "engine/files/verified.h"
#include "tests/suite.h"
#include "tests/unit/engine/scratch.h"

static int signs;

static void alive(void *context) {
  ck_assert_ptr_eq(context, &signs);
  signs++;
}

/* Changes bit after bit of a file below scratch_folder; all must be noticed, with its name. A file
 * that was found undamaged is not read again for a while, so that comes last. */
static void bits_flip(const char *name) {
  char path[256];
  size_t size;
  ep_error error = {0};
  snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
  char *bytes = scratch_read(path, &size);
  for (size_t bit = 0; bit < 8 * size; bit += bit % 8 == 7 ? 1 : 3) {
    bytes[bit / 8] ^= (char)(1 << bit % 8);
    FILE *file = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    ep_status status = ep_dataset_verify(scratch_folder, NULL, NULL, NULL, &error);
    ck_assert_msg(status == EP_DAMAGED, "bit %zu of %s: %s", bit, name, ep_status_name(status));
    ck_assert_ptr_nonnull(strstr(error.message, name));
    ck_assert_ptr_nonnull(strstr(error.message, "upload the same data again"));
    bytes[bit / 8] ^= (char)(1 << bit % 8);
  }
  FILE *file = fopen(path, "wb");
  ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
  free(bytes);
}

START_TEST(every_bit_of_a_part_is_noticed) {
  static const char text[] = "{\"m\":2,\"n\":2,\"x\":[1,2,3,4],\"y\":[0,1]}";
  ep_dataset_meta meta;
  ep_error error;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  bits_flip("train.x.npy");
  bits_flip("train.y.npy");
  signs = 0;
  ck_assert_int_eq(ep_dataset_verify(scratch_folder, alive, &signs, NULL, &error), EP_OK);
  ck_assert_int_ge(signs, 2);
  int before = signs;
  ck_assert_int_eq(ep_dataset_verify(scratch_folder, alive, &signs, NULL, &error), EP_OK);
  ck_assert_int_eq(signs, before); /* not read again */
}
END_TEST

static atomic_bool cancel;

static void alive_until(void *context) {
  int *left = context;
  if (--*left == 0) atomic_store(&cancel, true);
}

/* Between two pieces of a part, whose bytes no disk has: nobody waits for the rest. */
START_TEST(who_is_called_back_reads_no_further) {
  static const char text[] = "{\"m\":2,\"n\":2,\"x\":[1,2,3,4],\"y\":[0,1]}";
  char path[256];
  int left = 2;
  ep_dataset_meta meta;
  ep_error error = {0};
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  snprintf(path, sizeof path, "%s/train.x.npy", scratch_folder);
  ck_assert_int_eq(truncate(path, 80 << 20), 0);
  atomic_store(&cancel, false);
  ck_assert_int_eq(ep_dataset_verify(scratch_folder, alive_until, &left, &cancel, &error),
                   EP_CANCELLED);
  ck_assert_int_eq(left, 0);
}
END_TEST

START_TEST(every_bit_of_kept_weights_is_noticed) {
  static const char header[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
  char bytes[8 + sizeof header - 1 + 8] = {0};
  ep_dataset_meta meta;
  ep_error error;
  bytes[0] = sizeof header - 1;
  memcpy(bytes + 8, header, sizeof header - 1);
  ck_assert_msg(scratch_ingest(bytes, sizeof bytes, NULL, &meta, &error) == EP_OK, "%s",
                error.message);
  ck_assert_int_eq(meta.tensors, 1);
  ep_dataset_meta_deinit(&meta);
  bits_flip("weights.safetensors");
  ck_assert_int_eq(ep_dataset_verify(scratch_folder, NULL, NULL, NULL, &error), EP_OK);
}
END_TEST

/* But for the name of the checksum: without it the text is taken as one from before there were
 * checksums, and says the same. */
START_TEST(every_bit_of_a_description_is_noticed) {
  static const char text[] = "age,price\n1,2\n3,4\n", name[] = "\"checksum\":";
  ep_dataset_meta before, after;
  ep_error error;
  char path[256];
  size_t size;
  ck_assert_int_eq(scratch_ingest(text, strlen(text), NULL, &before, &error), EP_OK);
  snprintf(path, sizeof path, "%s/meta.json", scratch_folder);
  char *bytes = scratch_read(path, &size);
  const char *last = bytes + size - strlen("\"checksum\":\"0123456789abcdef\"}");
  ck_assert_int_eq(strncmp(last, name, sizeof name - 1), 0);
  int noticed = 0, harmless = 0;
  for (size_t bit = 0; bit < 8 * size; bit++) {
    bytes[bit / 8] ^= (char)(1 << bit % 8);
    unlink(path);
    FILE *file = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    ep_status status = ep_dataset_meta_read(scratch_folder, &after, &error);
    if (status == EP_OK) {
      char *first = ep_dataset_meta_format(&before, "", "", 0, false);
      char *second = ep_dataset_meta_format(&after, "", "", 0, false);
      ck_assert_str_eq(first, second);
      ck_assert_str_eq(before.part[0][0].checksum, after.part[0][0].checksum);
      free(first);
      free(second);
      ep_dataset_meta_deinit(&after);
      harmless++;
    }
    noticed += status == EP_DAMAGED;
    bytes[bit / 8] ^= (char)(1 << bit % 8);
  }
  ck_assert_int_le(harmless, 8 * 12);
  ck_assert_int_eq(noticed + harmless, 8 * (int)size);
  free(bytes);
  ep_dataset_meta_deinit(&before);
}
END_TEST

START_TEST(a_part_that_is_gone_is_noticed) {
  ep_dataset_meta meta;
  ep_error error;
  char path[256];
  ck_assert_int_eq(scratch_ingest("1,2\n3,4\n", 8, NULL, &meta, &error), EP_OK);
  ep_dataset_meta_deinit(&meta);
  snprintf(path, sizeof path, "%s/train.table.npy", scratch_folder);
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(ep_dataset_verify(scratch_folder, NULL, NULL, NULL, &error), EP_DAMAGED);
  ck_assert_ptr_nonnull(strstr(error.message, "train.table.npy"));
}
END_TEST

START_TEST(a_result_is_held_against_its_hash) {
  static const char sha256[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  ep_error error = {0};
  const char *path = scratch_write("result", "abd", 3);
  ck_assert_int_eq(ep_verified_sha256_at(path, sha256, &error), EP_DAMAGED);
  ck_assert_ptr_nonnull(strstr(error.message, "/result is damaged"));
  ck_assert_ptr_nonnull(strstr(error.message, "submit the job's spec again"));
  scratch_write("result", "abc", 3);
  ck_assert_int_eq(ep_verified_sha256_at(path, sha256, &error), EP_OK);
  ck_assert_int_eq(ep_verified_sha256_at("/nonexistent", sha256, &error), EP_NOT_FOUND);
  ck_assert_str_eq(ep_stored_name("/data/jobs/job_1/weights.npz"), "jobs/job_1/weights.npz");
  ck_assert_str_eq(ep_stored_name("weights.npz"), "weights.npz");
}
END_TEST

START_TEST(what_is_remembered_has_a_ceiling) {
  struct stat file = {0};
  for (int i = 0; i <= EP_LIMIT_VERIFIED; i++) {
    file.st_ino = (ino_t)(i + 1);
    ck_assert(!ep_verified_find(&file, "hash"));
    ep_verified_add(&file, "hash");
    ck_assert(ep_verified_find(&file, "hash"));
    ck_assert(!ep_verified_find(&file, "other"));
  }
  file.st_ino = 1;
  ck_assert(!ep_verified_find(&file, "hash"));
  file.st_ino = 2;
  ck_assert(ep_verified_find(&file, "hash"));
  file.st_mtim.tv_nsec++;
  ck_assert(!ep_verified_find(&file, "hash"));
}
END_TEST

EP_SUITE("engine/verify") {
  TCase *tests = ep_suite_case(suite, "flipped bits");
  tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
  tcase_add_test(tests, every_bit_of_a_part_is_noticed);
  tcase_add_test(tests, who_is_called_back_reads_no_further);
  tcase_add_test(tests, every_bit_of_kept_weights_is_noticed);
  tcase_add_test(tests, every_bit_of_a_description_is_noticed);
  tcase_add_test(tests, a_part_that_is_gone_is_noticed);
  tcase_add_test(tests, a_result_is_held_against_its_hash);
  tcase_add_test(tests, what_is_remembered_has_a_ceiling);
}
