#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/process/config.h"
#include "tests/suite.h"

static ep_config config;
static ep_error error;

static ep_status read_flags(const char *one, const char *two, const char *three) {
  char *argv[] = {"epochd", (char *)(uintptr_t)one, (char *)(uintptr_t)two,
                  (char *)(uintptr_t)three};
  int argc = 1 + (one != NULL) + (two != NULL) + (three != NULL);
  error = (ep_error){0};
  return ep_config_read(argc, argv, &config, &error);
}

static ep_status read_text(const char *text, const char *flag) {
  char path[] = "/tmp/epochd-config-XXXXXX";
  int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
  close(file);
  ep_status status = read_flags("--config", path, flag);
  unlink(path);
  return status;
}

/* The data folder is `path` of the working directory. */
static void assert_below_here(const char *path) {
  char here[PATH_MAX], wanted[2 * PATH_MAX];
  ck_assert_ptr_nonnull(getcwd(here, sizeof here));
  snprintf(wanted, sizeof wanted, "%s/%s", here, path);
  ck_assert_str_eq(config.data_dir, wanted);
}

START_TEST(defaults_are_a_local_daemon) {
  setenv("XDG_STATE_HOME", "/state", 1);
  ck_assert_int_eq(read_flags(NULL, NULL, NULL), EP_OK);
  ck_assert_str_eq(config.host, "127.0.0.1");
  ck_assert_int_eq(config.port, 8080);
  ck_assert(config.loopback);
  ck_assert_str_eq(config.data_dir, "/state/epochd");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", "/home-of-one", 1);
  ck_assert_int_eq(read_flags(NULL, NULL, NULL), EP_OK);
  ck_assert_str_eq(config.data_dir, "/home-of-one/.local/state/epochd");
  unsetenv("HOME");
  ck_assert_int_eq(read_flags(NULL, NULL, NULL), EP_OK);
  assert_below_here("epochd-data");
}
END_TEST

START_TEST(the_data_folder_is_absolute_and_resolved) {
  char longest[PATH_MAX], scratch[] = "/tmp/epochd-config-XXXXXX", path[3][64];
  ck_assert_int_eq(read_flags("--data-dir", "/x/../y", NULL), EP_OK);
  ck_assert_str_eq(config.data_dir, "/x/../y");
  ck_assert_int_eq(read_flags("--data-dir", "a/b", NULL), EP_OK);
  assert_below_here("a/b");
  ck_assert_int_eq(read_text("{\"data_dir\":\"../c\"}", NULL), EP_OK);
  ck_assert_ptr_null(strstr(config.data_dir, ".."));
  ck_assert_str_eq(strrchr(config.data_dir, '/'), "/c");
  ck_assert_ptr_nonnull(mkdtemp(scratch));
  snprintf(path[0], sizeof path[0], "%s/disk", scratch);
  snprintf(path[1], sizeof path[1], "%s/link", scratch);
  snprintf(path[2], sizeof path[2], "%s/link/a/b", scratch);
  ck_assert_int_eq(mkdir(path[0], 0700), 0);
  ck_assert_int_eq(symlink("disk", path[1]), 0);
  ck_assert_int_eq(read_flags("--data-dir", path[1], NULL), EP_OK);
  ck_assert_str_eq(config.data_dir, path[0]);
  ck_assert_int_eq(read_flags("--data-dir", path[2], NULL), EP_OK);
  snprintf(path[2], sizeof path[2], "%s/disk/a/b", scratch);
  ck_assert_str_eq(config.data_dir, path[2]);
  unlink(path[1]);
  rmdir(path[0]);
  rmdir(scratch);
  memset(longest, 'd', sizeof longest);
  longest[sizeof longest - 1] = 0;
  ck_assert_int_eq(read_flags("--data-dir", longest, NULL), EP_INVALID);
}
END_TEST

START_TEST(a_certificate_has_its_key) {
  ck_assert_int_eq(read_flags("--tls-certificate=/c", "--tls-key=/k", NULL), EP_OK);
  ck_assert_str_eq(config.tls_certificate, "/c");
  ck_assert_str_eq(config.tls_key, "/k");
  ck_assert_int_eq(read_flags("--tls-certificate=/c", NULL, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--tls-key=/k", NULL, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--tls-client-ca=/a", NULL, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--tls-client-ca=/a", "--tls-certificate=/c", "--tls-key=/k"), EP_OK);
}
END_TEST

START_TEST(partitions_have_a_shared_folder_and_an_address) {
  const char *devices = "--devices=auto,slurm:gpu", *folder = "--shared-dir=/shared";
  ck_assert_int_eq(read_flags(devices, folder, "--slurm-listen=10.0.0.1:8081"), EP_OK);
  ck_assert_str_eq(config.shared_dir, "/shared");
  ck_assert_str_eq(config.slurm_listen, "10.0.0.1:8081");
  ck_assert_int_eq(config.slurm_idle_seconds, 60);
  ck_assert_int_eq(config.slurm_workers_max, 16);
  ck_assert_int_eq(config.slurm_reconnect_seconds, 30);
  ck_assert_int_eq(read_flags(devices, folder, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags(devices, "--slurm-listen=10.0.0.1:8081", NULL), EP_INVALID);
  ck_assert_int_eq(read_flags(devices, "--shared-dir=here", "--slurm-listen=a:1"), EP_INVALID);
  ck_assert_int_eq(read_flags(devices, folder, "--slurm-listen=8081"), EP_INVALID);
  ck_assert_int_eq(read_flags(devices, folder, "--slurm-listen=:8081"), EP_INVALID);
  ck_assert_int_eq(read_flags(devices, folder, "--slurm-listen=a:65535"), EP_OK);
  ck_assert_int_eq(read_flags(devices, folder, "--slurm-listen=a:65536"), EP_INVALID);
  ck_assert_int_eq(read_flags(folder, NULL, NULL), EP_INVALID); /* for nobody */
}
END_TEST

START_TEST(namespaces_have_a_template_and_an_address) {
  const char *devices = "--devices=auto,kubernetes:research";
  const char *template = "--kubernetes-template=/t", *listen = "--slurm-listen=0.0.0.0:8081";
  ck_assert_int_eq(read_flags(devices, template, listen), EP_OK);
  ck_assert_str_eq(config.kubernetes_template, "/t");
  ck_assert_int_eq(read_flags(devices, template, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags(devices, listen, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags(template, NULL, NULL), EP_INVALID); /* for nobody */
  ck_assert_int_eq(read_flags(listen, NULL, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--kubernetes-address=a:1", NULL, NULL), EP_INVALID);
}
END_TEST

START_TEST(allowed_folders_add_up) {
  ck_assert_int_eq(read_flags("--allow-path", "/a", "--allow-path=/b:/c"), EP_OK);
  ck_assert_str_eq(config.allow_path, "/a:/b:/c");
  ck_assert_int_eq(read_text("{\"allow_path\": \"/file\"}", "--allow-path=/flag"), EP_OK);
  ck_assert_str_eq(config.allow_path, "/file:/flag");
  ck_assert_int_eq(read_flags("--allow-path", NULL, NULL), EP_INVALID);
  static char text[EP_CONFIG_FOLDERS_BYTES + 1];
  memset(text, 'x', EP_CONFIG_FOLDERS_BYTES);
  ck_assert_int_eq(read_flags("--allow-path", text, NULL), EP_INVALID);
  text[EP_CONFIG_FOLDERS_BYTES - 1] = 0;
  ck_assert_int_eq(read_flags("--allow-path", text, NULL), EP_OK);
}
END_TEST

START_TEST(a_base_path_is_one) {
  static const char *const WRONG[] = {"epochd", "/",    "/epochd/", "//a",  "/a//b",    "/..",
                                      "/a/./b", "/a b", "/a?b",     "/%61", "https://a"};
  ck_assert_int_eq(read_flags("--base-path", "/tools/epochd-2.0_~", NULL), EP_OK);
  ck_assert_str_eq(config.base_path, "/tools/epochd-2.0_~");
  ck_assert_int_eq(read_flags("--base-path", "/...", NULL), EP_OK);
  ck_assert_int_eq(read_text("{\"base_path\":\"/epochd\"}", NULL), EP_OK);
  ck_assert_str_eq(config.base_path, "/epochd");
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
    ck_assert_msg(read_flags("--base-path", WRONG[i], NULL) == EP_INVALID, "%s", WRONG[i]);
    ck_assert_ptr_nonnull(strstr(error.message, "such as /epochd"));
  }
}
END_TEST

START_TEST(listen_is_split) {
  static const struct {
    const char *flag, *host;
    int port;
    bool loopback;
  } rows[] = {{"--listen=127.0.0.1:0", "127.0.0.1", 0, true},
              {"--listen=127.9.9.9:1", "127.9.9.9", 1, true},
              {"--listen=localhost:80", "localhost", 80, true},
              {"--listen=[::1]:65535", "::1", 65535, true},
              {"--listen=[::]:8080", "::", 8080, false},
              {"--listen=0.0.0.0:8080", "0.0.0.0", 8080, false},
              {"--listen=gpu-box:8080", "gpu-box", 8080, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ck_assert_int_eq(read_flags(rows[i].flag, NULL, NULL), EP_OK);
    ck_assert_str_eq(config.host, rows[i].host);
    ck_assert_int_eq(config.port, rows[i].port);
    ck_assert_int_eq(config.loopback, rows[i].loopback);
  }
  static const char *const wrong[] = {
      "--listen=8080",    "--listen=:8080", "--listen=a:",     "--listen=a:x",
      "--listen=a:65536", "--listen=a:-1",  "--listen=::1:80", "--listen="};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(read_flags(wrong[i], NULL, NULL) == EP_INVALID, "%s was taken", wrong[i]);
}
END_TEST

START_TEST(unknown_flags_are_named) {
  ck_assert_int_eq(read_flags("--lissen", "x", NULL), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "--lissen"));
  ck_assert_int_eq(read_flags("serve", NULL, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--data-dir", NULL, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--help=1", NULL, NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--max-queued", "0", NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--max-queued", "1x", NULL), EP_INVALID);
  ck_assert_int_eq(read_flags("--max-queued", "1", NULL), EP_OK);
  ck_assert_int_eq(config.max_queued, 1);
  ck_assert_int_eq(read_flags("--log-level", "loud", NULL), EP_INVALID);
}
END_TEST

START_TEST(the_file_gives_and_flags_win) {
  ck_assert_int_eq(read_text(" {\"max_queued\": 7, \"data_dir\":\"/x/y\",\n\"devices\":\"cpu\"} \n",
                             "--devices=cuda:0"),
                   EP_OK);
  ck_assert_int_eq(config.max_queued, 7);
  ck_assert_str_eq(config.data_dir, "/x/y");
  ck_assert_str_eq(config.devices, "cuda:0");
  ck_assert_int_eq(read_text("{}", NULL), EP_OK);
}
END_TEST

START_TEST(the_file_is_checked) {
  ck_assert_int_eq(read_text("{\"max_queue\": 7}", NULL), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "max_queue"));
  static const char *const wrong[] = {"",
                                      "[]",
                                      "{",
                                      "{\"max_queued\": 7",
                                      "{\"max_queued\": 7,}",
                                      "{\"max_queued\": 7} x",
                                      "{\"max_queued\": \"7\"}",
                                      "{\"max_queued\": 7.5}",
                                      "{\"max_queued\": 1e300}",
                                      "{\"devices\": 7}",
                                      "{\"devices\": \"a\\nb\"}",
                                      "{\"config\": \"again\"}",
                                      "{\"help\": true}"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(read_text(wrong[i], NULL) != EP_OK, "%s was taken", wrong[i]);
  ck_assert_int_eq(read_flags("--config", "/nowhere/at/all", NULL), EP_INVALID);
}
END_TEST

START_TEST(log_lines_hide_nothing_and_break_nothing) {
  char line[EP_LOG_LINE_BYTES], long_text[2000];
  size_t bytes = ep_log_line(line, EP_LOG_JSON, EP_LOG_WARNING, 0, "a \"b\"\n\x1b[31m");
  ck_assert_int_eq(memchr(line, '\n', bytes) == line + bytes - 1, 1);
  line[bytes] = 0;
  ck_assert_ptr_nonnull(strstr(line, "a \\\"b\\\"\\n\\u001b[31m"));
  ck_assert_ptr_nonnull(strstr(line, "\"level\":\"warning\""));
  bytes = ep_log_line(line, EP_LOG_TEXT, EP_LOG_INFO, 0, "a\nb\x1b[31m");
  line[bytes] = 0;
  ck_assert_str_eq(line, "a?b?[31m\n");
  memset(long_text, 1, sizeof long_text - 1); /* each byte becomes an escape */
  long_text[sizeof long_text - 1] = 0;
  ck_assert_int_gt((int)ep_log_line(line, EP_LOG_JSON, EP_LOG_INFO, 0, long_text), 600);
}
END_TEST

EP_SUITE("config") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, defaults_are_a_local_daemon);
  tcase_add_test(all, the_data_folder_is_absolute_and_resolved);
  tcase_add_test(all, partitions_have_a_shared_folder_and_an_address);
  tcase_add_test(all, namespaces_have_a_template_and_an_address);
  tcase_add_test(all, allowed_folders_add_up);
  tcase_add_test(all, a_certificate_has_its_key);
  tcase_add_test(all, listen_is_split);
  tcase_add_test(all, a_base_path_is_one);
  tcase_add_test(all, unknown_flags_are_named);
  tcase_add_test(all, the_file_gives_and_flags_win);
  tcase_add_test(all, the_file_is_checked);
  tcase_add_test(all, log_lines_hide_nothing_and_break_nothing);
}
