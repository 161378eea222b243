/* spawn.h: starts a program of epochd's own. */
#ifndef EP_SERVER_PROCESS_SPAWN_H
#define EP_SERVER_PROCESS_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/files/path.h"

enum { EP_SPAWN_FILES = 16 }; /* at most */

/* A descriptor of this process, and the number that it has in the program. */
typedef struct {
  int file, number;
} ep_spawn_file;

/* The program inherits these descriptors and the standard streams, signals as at login, and of the
 * environment the variables that it needs: no token, key or password that stands there. folder: its
 * working folder, a descriptor; -1 = this process's. Returns 0, or errno. */
int ep_spawn(const char *path, char *const *arguments, const ep_spawn_file *files, int files_count,
             int folder, pid_t *pid);

/* The first of these places, beside this program, with a program that can be run: NAME, or a path
 * from its folder. False: there is none. */
bool ep_spawn_find(const char *const *places, int count, char path[EP_PATH_BYTES]);

#endif
