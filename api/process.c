#include "api/process.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int ep_pidfd_open(pid_t pid) {
  return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Those that end processes. */
static const struct {
  int number;
  const char *name;
} SIGNALS[] = {{SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
               {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
               {SIGKILL, "KILL"}, {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
               {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGXCPU, "XCPU"},
               {SIGXFSZ, "XFSZ"}, {SIGSYS, "SYS"}};

const char *ep_signal_name(int number) {
  for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++)
    if (SIGNALS[i].number == number) return SIGNALS[i].name;
  return "?";
}
