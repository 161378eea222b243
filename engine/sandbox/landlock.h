/* landlock.h: Landlock (Linux 5.13 and later), by system calls: Debian 12 has no library for it. */
#ifndef EP_ENGINE_SANDBOX_LANDLOCK_H
#define EP_ENGINE_SANDBOX_LANDLOCK_H

#include <stdbool.h>

/* The version of the kernel's interface; 0: there is none, or it is not permitted. */
int ep_landlock_version(void);

/* From here on this thread, and those that it starts, open files of the folder alone, bind and
 * connect no TCP socket (from version 4 on) and signal no process outside (from 6 on). false: no
 * such wall. The process has no new privileges already. */
bool ep_landlock_enter(const char *folder);

/* From here on they read what resolving names and TLS take, the system's settings and libraries,
 * and open no other file. */
bool ep_landlock_enter_read_only(void);

#endif
