/* Names of signals agree with the C library's, and the end of a process can be waited for. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/process.h"
#include "tests/suite.h"

START_TEST(names_of_signals) {
  static const int SIGNALS[] = {SIGHUP,  SIGILL,  SIGABRT, SIGBUS,  SIGFPE,
                                SIGKILL, SIGSEGV, SIGTERM, SIGXCPU, SIGSYS};
  for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++)
    ck_assert_str_eq(ep_signal_name(SIGNALS[i]), sigabbrev_np(SIGNALS[i]));
  ck_assert_str_eq(ep_signal_name(0), "?");
  ck_assert_str_eq(ep_signal_name(64), "?");
}
END_TEST

START_TEST(end_of_a_process) {
  pid_t pid = fork();
  if (pid == 0)
    for (;;) pause();
  int pidfd = ep_pidfd_open(pid);
  ck_assert_int_ge(pidfd, 0);
  struct pollfd polled = {.fd = pidfd, .events = POLLIN};
  ck_assert_int_eq(poll(&polled, 1, 0), 0);
  kill(pid, SIGKILL);
  ck_assert_int_eq(poll(&polled, 1, -1), 1);
  ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
  close(pidfd);
  ck_assert_int_eq(ep_pidfd_open(-1), -1);
}
END_TEST

EP_SUITE("api/process") {
  TCase *tests = ep_suite_case(suite, "processes");
  tcase_add_test(tests, names_of_signals);
  tcase_add_test(tests, end_of_a_process);
}
