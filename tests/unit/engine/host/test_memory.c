/* The memory that there is: of the machine, and of control groups of both versions. */
#include "engine/host/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/suite.h"

#define GIB (INT64_C(1) << 30)

static char root[64];

static void setup(void) {
  snprintf(root, sizeof root, "/tmp/epochd-memory-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
}

static void teardown(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  ck_assert_int_eq(system(command), 0);
}

/* Writes a file below the root, with the folders above it. */
static void file_write(const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, name);
  for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
    *at = 0;
    mkdir(path, 0700);
    *at = '/';
  }
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  fclose(file);
}

/* 64 GiB, of which 40 are free. */
static void machine_write(void) {
  file_write("proc/meminfo", "MemTotal:       67108864 kB\nMemFree:         1 kB\n"
                             "MemAvailable:   41943040 kB\n");
}

static void memory_is(int64_t total_bytes, int64_t free_bytes) {
  ep_memory memory = ep_memory_read_below(root);
  ck_assert_int_eq(memory.total_bytes, total_bytes);
  ck_assert_int_eq(memory.free_bytes, free_bytes);
}

START_TEST(a_machine_without_groups) {
  machine_write();
  memory_is(64 * GIB, 40 * GIB);
}
END_TEST

START_TEST(the_variable_bounds_it) {
  const ep_memory memory = ep_memory_read();
  setenv(EP_MEMORY_VARIABLE, "1048576", 1);
  ck_assert_int_eq(ep_memory_read().total_bytes, 1048576);
  ck_assert_int_le(ep_memory_read().free_bytes, 1048576);
  setenv(EP_MEMORY_VARIABLE, "9223372036854775807", 1);
  ck_assert_int_eq(ep_memory_read().total_bytes, memory.total_bytes);
  unsetenv(EP_MEMORY_VARIABLE);
}
END_TEST

START_TEST(what_cannot_be_read_bounds_nothing) {
  memory_is(INT64_MAX, INT64_MAX);
}
END_TEST

#define MOUNT_2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

START_TEST(groups_of_version_2_bound_upward) {
  machine_write();
  file_write("proc/self/cgroup", "0::/a/b/c\n");
  file_write("proc/self/mountinfo", "23 0 0:21 / /proc rw - proc proc rw\n" MOUNT_2);
  file_write("sys/fs/cgroup/a/b/c/memory.max", "max\n");
  file_write("sys/fs/cgroup/a/b/c/memory.current", "1073741824\n");
  memory_is(64 * GIB, 40 * GIB);
  file_write("sys/fs/cgroup/a/memory.max",
             "3221225472\n"); /* 3 GiB, 2 of them used, 1 by a cache */
  file_write("sys/fs/cgroup/a/memory.current", "2147483648\n");
  memory_is(3 * GIB, 1 * GIB);
  file_write("sys/fs/cgroup/a/memory.stat", "anon 5\nfile 6\ninactive_file 1073741824\n");
  memory_is(3 * GIB, 2 * GIB);
  file_write("sys/fs/cgroup/a/b/c/memory.max", "1073741824\n"); /* full */
  memory_is(1 * GIB, 0);
}
END_TEST

START_TEST(groups_of_version_1_bound_upward) {
  machine_write();
  file_write("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/job/task\n0::/x\n");
  file_write("proc/self/mountinfo", "32 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup "
                                    "rw,cpu,memory\n");
  file_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
  file_write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
  file_write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
  file_write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 1024\n");
  file_write("sys/fs/cgroup/memory/job/task/memory.limit_in_bytes", "9223372036854771712\n");
  memory_is(2 * GIB, 1 * GIB + 1024);
}
END_TEST

/* A container sees its own group where the mount begins, under the name that it has outside. */
START_TEST(containers_see_a_part_of_the_tree) {
  machine_write();
  file_write("proc/self/cgroup", "4:memory:/docker/abc\n");
  file_write("proc/self/mountinfo",
             "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  file_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  file_write("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
  memory_is(GIB / 2, GIB / 2);
  file_write("proc/self/cgroup", "0::/../other\n");
  file_write("proc/self/mountinfo", MOUNT_2);
  file_write("sys/fs/cgroup/memory.max", "1073741824\n");
  memory_is(GIB, GIB);
}
END_TEST

START_TEST(this_machine_has_memory) {
  ep_memory memory = ep_memory_read();
  ck_assert_int_gt(memory.total_bytes, 1 << 24);
  ck_assert_int_lt(memory.total_bytes, INT64_MAX);
  ck_assert_int_gt(memory.free_bytes, 0);
  ck_assert_int_le(memory.free_bytes, memory.total_bytes);
}
END_TEST

EP_SUITE("engine/host/memory") {
  TCase *tests = ep_suite_case(suite, "memory");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_machine_without_groups);
  tcase_add_test(tests, the_variable_bounds_it);
  tcase_add_test(tests, what_cannot_be_read_bounds_nothing);
  tcase_add_test(tests, groups_of_version_2_bound_upward);
  tcase_add_test(tests, groups_of_version_1_bound_upward);
  tcase_add_test(tests, containers_see_a_part_of_the_tree);
  tcase_add_test(tests, this_machine_has_memory);
}
