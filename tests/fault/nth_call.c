/* nth_call.c: for a program with this in its LD_PRELOAD the Nth call of a kind fails. The file
 * named by EPOCHD_TEST_CALLS, which the test maps too, says in which program, of which kind, and
 * which calls; it counts them, and has the stack of the first that failed. So the same numbers fail
 * the same calls, as far as threads take turns.
 *
 * Of the calls on files only those below the folder EPOCHD_TEST_CALLS_UNDER count. What a library
 * does behind its own back (fwrite, mkostemp) is not seen. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STACK_FRAMES = 24, STACK_BYTES = 4096 };

/* In the order of KINDS in sweep.py. */
enum { MEMORY = 1, OPEN, READ, WRITE, SYNC, RENAME, TRUNCATE, MKDIR, LINK, UNLINK };

/* The file, in the order of FIELDS in sweep.py. */
typedef struct {
  atomic_uint kind; /* 0 = nothing fails and nothing is counted */
  char program[28]; /* by its name */
  uint32_t number;  /* errno */
  uint32_t first;   /* call that fails, from 1 on; 0 = they are only counted */
  uint32_t count;   /* calls that fail */
  atomic_uint calls, failures;
  char stack[STACK_BYTES];
} call_rules;

static call_rules *rules; /* NULL: this program is not tested */
static char under[PATH_MAX];
static _Thread_local bool inside; /* a call of this file's own */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

__attribute__((constructor)) static void rules_map(void) {
  void *frames[STACK_FRAMES];
  const char *name = getenv("EPOCHD_TEST_CALLS"), *folder = getenv("EPOCHD_TEST_CALLS_UNDER");
  if (!name || !folder) return;
  backtrace(frames, STACK_FRAMES); /* the first one loads a library */
  int file = open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof *rules, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  snprintf(under, sizeof under, "%s", folder);
  if (mapped != MAP_FAILED) rules = mapped;
}

static void stack_note(void) {
  void *frames[STACK_FRAMES];
  size_t used = 0;
  int count = backtrace(frames, STACK_FRAMES);
  for (int i = 3; i < count && used < STACK_BYTES; i++) {
    Dl_info info = {0};
    int known = dladdr(frames[i], &info);
    const char *path = known && info.dli_fname ? info.dli_fname : "?";
    const char *slash = strrchr(path, '/');
    int length =
        snprintf(rules->stack + used, STACK_BYTES - used, "%s+%#lx %s\n", slash ? slash + 1 : path,
                 (long)((char *)frames[i] - (char *)info.dli_fbase),
                 known && info.dli_sname ? info.dli_sname : "");
    used += length > 0 ? (size_t)length : 0;
  }
}

/* Whether this call of the kind is to fail; errno says how. */
__attribute__((noinline)) static bool call_fails(unsigned kind) {
  if (!rules || inside || atomic_load(&rules->kind) != kind) return false;
  if (strcmp(program_invocation_short_name, rules->program) != 0) return false;
  unsigned call = atomic_fetch_add(&rules->calls, 1) + 1;
  if (rules->first == 0 || call < rules->first || call - rules->first >= rules->count) return false;
  inside = true;
  if (atomic_fetch_add(&rules->failures, 1) == 0) stack_note();
  inside = false;
  errno = (int)rules->number;
  return true;
}

/* Whether anything of the kind fails at present: the paths are not looked at else. */
static bool kind_counts(unsigned kind) {
  return rules && !inside && atomic_load(&rules->kind) == kind;
}

static bool path_counts(const char *path) {
  return strncmp(path, under, strlen(under)) == 0;
}

static bool file_counts(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = 0;
  return path_counts(path);
}

static bool file_fails(unsigned kind, int file) {
  int number = errno;
  bool fails = kind_counts(kind) && file_counts(file) && call_fails(kind);
  if (!fails) errno = number;
  return fails;
}

static bool path_fails(unsigned kind, int folder, const char *path) {
  if (!kind_counts(kind)) return false;
  int number = errno;
  bool fails = (path[0] == '/' || folder == AT_FDCWD ? path_counts(path) : file_counts(folder)) &&
               call_fails(kind);
  if (!fails) errno = number;
  return fails;
}

/* The function that this one stands in for. */
#define REAL(function) ((__typeof__(&(function)))real_find(#function))
static void *real_find(const char *function) {
  bool outer = inside;
  inside = true; /* it may allocate */
  void *found = dlsym(RTLD_NEXT, function);
  inside = outer;
  if (!found) abort();
  return found;
}

void *malloc(size_t bytes) {
  return call_fails(MEMORY) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  return call_fails(MEMORY) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  return call_fails(MEMORY) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return call_fails(MEMORY) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (call_fails(MEMORY)) return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return path_fails(OPEN, AT_FDCWD, path) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) { /* SQLite's */
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return path_fails(OPEN, AT_FDCWD, path) ? -1 : REAL(open64)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return path_fails(OPEN, folder, path) ? -1 : REAL(openat)(folder, path, flags, mode);
}

ssize_t read(int file, void *bytes, size_t count) {
  return file_fails(READ, file) ? -1 : REAL(read)(file, bytes, count);
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
  return file_fails(READ, file) ? -1 : REAL(pread)(file, bytes, count, offset);
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) {
  return file_fails(READ, file) ? -1 : REAL(pread64)(file, bytes, count, offset);
}

ssize_t write(int file, const void *bytes, size_t count) {
  return file_fails(WRITE, file) ? -1 : REAL(write)(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return file_fails(WRITE, file) ? -1 : REAL(pwrite)(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  return file_fails(WRITE, file) ? -1 : REAL(pwrite64)(file, bytes, count, offset);
}

int fsync(int file) {
  return file_fails(SYNC, file) ? -1 : REAL(fsync)(file);
}

int fdatasync(int file) {
  return file_fails(SYNC, file) ? -1 : REAL(fdatasync)(file);
}

int sync_file_range(int file, off64_t offset, off64_t count, unsigned flags) {
  return file_fails(SYNC, file) ? -1 : REAL(sync_file_range)(file, offset, count, flags);
}

int rename(const char *from, const char *to) {
  return path_fails(RENAME, AT_FDCWD, to) ? -1 : REAL(rename)(from, to);
}

int ftruncate(int file, off_t bytes) {
  return file_fails(TRUNCATE, file) ? -1 : REAL(ftruncate)(file, bytes);
}

int ftruncate64(int file, off64_t bytes) {
  return file_fails(TRUNCATE, file) ? -1 : REAL(ftruncate64)(file, bytes);
}

int mkdir(const char *path, mode_t mode) {
  return path_fails(MKDIR, AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode);
}

int link(const char *from, const char *to) {
  return path_fails(LINK, AT_FDCWD, to) ? -1 : REAL(link)(from, to);
}

int unlink(const char *path) {
  return path_fails(UNLINK, AT_FDCWD, path) ? -1 : REAL(unlink)(path);
}

int rmdir(const char *path) {
  return path_fails(UNLINK, AT_FDCWD, path) ? -1 : REAL(rmdir)(path);
}
