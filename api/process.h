/* process.h: what glibc has functions for since 2.36, and Debian 11's has not. */
#ifndef EP_API_PROCESS_H
#define EP_API_PROCESS_H

#include <sys/types.h>

/* A file that can be read once the process has ended; the caller closes it. -1: errno says why. */
int ep_pidfd_open(pid_t pid);

/* The name of a signal without its SIG, such as "KILL"; "?" of one that has none. */
const char *ep_signal_name(int number);

#endif
