/* ready_notice.c: a socket of each kind plays the service manager. */
#include "server/process/ready_notice.h"
#include "tests/suite.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static ep_error error;

/* name: '@' first for an abstract one. The socket is the caller's to close. */
static int manager_open(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, name, strlen(name));
  if (name[0] == '@') address.sun_path[0] = 0;
  int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  ck_assert_int_ge(manager, 0);
  socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
  ck_assert_int_eq(bind(manager, (struct sockaddr *)&address, bytes), 0);
  return manager;
}

static void check_heard(const char *name) {
  int manager = manager_open(name);
  char heard[256] = {0};
  ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
  ck_assert_int_eq(ep_ready_notice("READY=1\nSTATUS=here", &error), EP_OK);
  ck_assert_int_eq(recv(manager, heard, sizeof heard - 1, 0), 19);
  ck_assert_str_eq(heard, "READY=1\nSTATUS=here");
  ck_assert_int_eq(recv(manager, heard, sizeof heard - 1, 0), -1); /* once */
  close(manager);
  ck_assert_int_eq(ep_ready_notice("STOPPING=1", &error), EP_IO); /* it has gone */
}

START_TEST(the_manager_hears) {
  char folder[] = "/tmp/epochd-notice.XXXXXX", path[64], abstract[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/socket", folder);
  check_heard(path);
  unlink(path);
  rmdir(folder);
  snprintf(abstract, sizeof abstract, "@epochd-notice-%d", (int)getpid());
  check_heard(abstract);
}
END_TEST

START_TEST(nobody_needs_to_listen) {
  ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
  ck_assert_int_eq(ep_ready_notice("READY=1", &error), EP_OK);
  ck_assert_int_eq(setenv("NOTIFY_SOCKET", "", 1), 0);
  ck_assert_int_eq(ep_ready_notice("READY=1", &error), EP_OK);
}
END_TEST

START_TEST(a_wrong_name_is_named) {
  char name[sizeof((struct sockaddr_un *)0)->sun_path + 1];
  ck_assert_int_eq(setenv("NOTIFY_SOCKET", "vsock:2:1234", 1), 0);
  ck_assert_int_eq(ep_ready_notice("READY=1", &error), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "vsock:2:1234"));
  memset(name, '/', sizeof name - 1);
  name[sizeof name - 1] = 0;
  ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
  ck_assert_int_eq(ep_ready_notice("READY=1", &error), EP_INVALID);
}
END_TEST

EP_SUITE("ready_notice") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, the_manager_hears);
  tcase_add_test(all, nobody_needs_to_listen);
  tcase_add_test(all, a_wrong_name_is_named);
}
