#include "server/process/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/host/memory.h"

extern char **environ;

enum { NUMBERS = 64 };

/* The beginnings of the names: what the loader, the C library, the arithmetic and NVIDIA's
 * libraries read, where caches lie, and what epochd's own programs read. */
static const char *const VARIABLES[] = {"LD_",         "GLIBC_TUNABLES=",
                                        "MALLOC_",     "TMPDIR=",
                                        "PATH=",       "SLURM_CONF=",
                                        "KUBECONFIG=", "KUBERNETES_SERVICE_",
                                        "HOME=",       "XDG_CACHE_HOME=",
                                        "CUDA_",       "CUDNN_",
                                        "CUBLAS",      "NVIDIA_",
                                        "OPENBLAS_",   "OMP_",
                                        "GOMP_",       "ASAN_",
                                        "LSAN_",       "TSAN_",
                                        "UBSAN_",      "EPOCHD_CACHE_DIR=",
                                        "EPOCHD_TEST_"};

static bool variable_needed(const char *variable) {
  for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++)
    if (strncmp(variable, VARIABLES[i], strlen(VARIABLES[i])) == 0) return true;
  return strncmp(variable, EP_MEMORY_VARIABLE "=", sizeof EP_MEMORY_VARIABLE) == 0;
}

/* The caller's (free); the strings are lent. NULL: memory is short. */
static char **environment_make(void) {
  size_t count = 0, used = 0;
  while (environ[count]) count++;
  char **made = calloc(count + 1, sizeof *made);
  for (size_t i = 0; made && i < count; i++)
    if (variable_needed(environ[i])) made[used++] = environ[i];
  return made;
}

/* Copies of the descriptors, beyond all numbers that a program gets: else one could be another's
 * number, and be closed before it is copied. */
static int files_copy(const ep_spawn_file *files, int count, ep_spawn_file *copies) {
  for (int i = 0; i < count; i++) {
    copies[i] = (ep_spawn_file){fcntl(files[i].file, F_DUPFD_CLOEXEC, NUMBERS), files[i].number};
    if (copies[i].file >= 0) continue;
    const int failed = errno;
    while (i-- > 0) close(copies[i].file);
    return failed;
  }
  return 0;
}

static int actions_fill(posix_spawn_file_actions_t *actions, const ep_spawn_file *files, int count,
                        int folder) {
  int failed = 0;
  for (int i = 0; failed == 0 && i < count; i++)
    failed = posix_spawn_file_actions_adddup2(actions, files[i].file, files[i].number);
  if (failed == 0 && folder >= 0) failed = posix_spawn_file_actions_addfchdir_np(actions, folder);
  return failed;
}

static int attributes_spawn(const char *path, char *const *arguments,
                            const posix_spawn_file_actions_t *actions, char *const *environment,
                            pid_t *pid) {
  posix_spawnattr_t attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int failed = posix_spawnattr_init(&attributes);
  if (failed != 0) return failed;
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  failed = posix_spawn(pid, path, actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

int ep_spawn(const char *path, char *const *arguments, const ep_spawn_file *files, int files_count,
             int folder, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  ep_spawn_file copies[EP_SPAWN_FILES];
  assert(files_count <= EP_SPAWN_FILES);
  char **environment = environment_make();
  if (!environment) return ENOMEM;
  int failed = files_copy(files, files_count, copies);
  if (failed != 0) {
    free(environment);
    return failed;
  }
  failed = posix_spawn_file_actions_init(&actions);
  if (failed == 0) {
    failed = actions_fill(&actions, copies, files_count, folder);
    if (failed == 0) failed = attributes_spawn(path, arguments, &actions, environment, pid);
    posix_spawn_file_actions_destroy(&actions);
  }
  for (int i = 0; i < files_count; i++) close(copies[i].file);
  free(environment);
  return failed;
}

bool ep_spawn_find(const char *const *places, int count, char path[EP_PATH_BYTES]) {
  char self[EP_PATH_BYTES];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return false;
  self[length] = 0;
  char *slash = strrchr(self, '/');
  if (slash) *slash = 0;
  for (int i = 0; i < count; i++)
    if (ep_path_join(path, NULL, self, places[i], NULL) == EP_OK && access(path, X_OK) == 0)
      return true;
  return false;
}
