/* call_faults.c: for a program with this in its LD_PRELOAD calls fail, are cut short or wait. The
 * file named by EPOCHD_TEST_CALLS, which the test maps too (faulty.py), says in which program, of
 * which kinds, on which files, and which calls; it counts them, and has the stack of the first that
 * failed. So the same numbers fail the same calls, as far as threads take turns.
 *
 * Of the calls on files only those below the folder EPOCHD_TEST_CALLS_UNDER count. What a library
 * does behind its own back (fwrite) is not seen. */
#include <dirent.h>
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
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { STACK_FRAMES = 24, STACK_BYTES = 4096, WAIT_MS = 10 };

/* In the order of KINDS in faulty.py. CREATE: opens for writing. */
typedef enum {
  MEMORY,
  OPEN,
  CREATE,
  READ,
  WRITE,
  SYNC,
  RENAME,
  TRUNCATE,
  MKDIR,
  LINK,
  UNLINK,
  MMAP,
  STAT,
  LIST,
  STATVFS,
  ALLOCATE
} kind;

/* The file, in the order of _fields_ in faulty.py. */
typedef struct {
  atomic_uint kinds;  /* a bit for each; 0 = nothing fails and nothing is counted */
  atomic_uint serial; /* of these rules */
  char program[28];   /* by its name; "" = each */
  char part[84];      /* of the path; "" = each */
  uint32_t number;    /* errno; 0: the call is done all the same */
  uint32_t halves;    /* 1: a write takes half of its bytes instead */
  uint32_t delay_ms;  /* before that, unless the rules change meanwhile */
  uint32_t first;     /* call that fails, from 1 on; 0 = they are only counted */
  uint32_t count;     /* calls that fail */
  atomic_uint calls, failures;
  char stack[STACK_BYTES];
} call_rules;

static call_rules *rules; /* NULL: nothing is tested */
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

static void delay(void) {
  unsigned serial = atomic_load(&rules->serial);
  for (uint32_t ms = 0; ms < rules->delay_ms && serial == atomic_load(&rules->serial);
       ms += WAIT_MS)
    nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000}, NULL);
}

/* Whether anything of the kind fails at present: the paths are not looked at else. */
static bool kind_counts(kind of) {
  return rules && !inside && (atomic_load(&rules->kinds) & 1u << of) != 0 &&
         (!rules->program[0] || strcmp(program_invocation_short_name, rules->program) == 0);
}

/* Whether this call is one that the rules name; it has waited then. */
__attribute__((noinline)) static bool call_is_due(void) {
  unsigned call = atomic_fetch_add(&rules->calls, 1) + 1;
  if (rules->first == 0 || call < rules->first || call - rules->first >= rules->count) return false;
  inside = true;
  if (atomic_fetch_add(&rules->failures, 1) == 0) stack_note();
  inside = false;
  delay();
  return true;
}

/* Whether it is to fail; errno says how. */
static bool call_fails(kind of) {
  if (!kind_counts(of)) return false;
  int number = errno;
  bool fails = call_is_due() && rules->number != 0;
  errno = fails ? (int)rules->number : number;
  return fails;
}

static bool path_counts(const char *path) {
  return strncmp(path, under, strlen(under)) == 0 && strstr(path, rules->part);
}

static bool file_counts(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = 0;
  return path_counts(path);
}

static bool file_fails(kind of, int file) {
  int number = errno;
  bool fails = file >= 0 && kind_counts(of) && file_counts(file) && call_fails(of);
  if (!fails) errno = number;
  return fails;
}

static bool path_fails(kind of, int folder, const char *path) {
  if (!kind_counts(of)) return false;
  int number = errno;
  bool fails = (path[0] == '/' || folder == AT_FDCWD ? path_counts(path) : file_counts(folder)) &&
               call_fails(of);
  if (!fails) errno = number;
  return fails;
}

/* The bytes that a write takes; -1: it fails. */
static ssize_t write_bytes(int file, size_t count) {
  int number = errno;
  bool counts = kind_counts(WRITE) && file_counts(file);
  if (counts && call_is_due()) {
    if (rules->number != 0) {
      errno = (int)rules->number;
      return -1;
    }
    if (rules->halves && count > 1) count /= 2;
  }
  errno = number;
  return (ssize_t)count;
}

/* The function that this one stands in for. */
#define REAL(function)                                        \
  ({                                                          \
    static __typeof__(&(function)) real;                      \
    if (!real) real = (__typeof__(real))real_find(#function); \
    real;                                                     \
  })
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

static kind kind_of(int flags) {
  return (flags & O_ACCMODE) == O_RDONLY && (flags & O_CREAT) == 0 ? OPEN : CREATE;
}

/* open64: SQLite's. */
#define OPEN_AS(function)                                                                       \
  int function(const char *path, int flags, ...) {                                              \
    va_list rest;                                                                               \
    va_start(rest, flags);                                                                      \
    mode_t mode = mode_of(flags, rest);                                                         \
    va_end(rest);                                                                               \
    return path_fails(kind_of(flags), AT_FDCWD, path) ? -1 : REAL(function)(path, flags, mode); \
  }
OPEN_AS(open)
OPEN_AS(open64)

int openat(int folder, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return path_fails(kind_of(flags), folder, path) ? -1 : REAL(openat)(folder, path, flags, mode);
}

/* FAILS(result, function, parameters, whether it fails, arguments): a function that fails with
 * -1 or NULL. */
#define FAILS(result, function, parameters, fails, failed, ...) \
  result function parameters {                                  \
    return fails ? failed : REAL(function)(__VA_ARGS__);        \
  }
#define FAILS_FILE(of, function, parameters, ...) \
  FAILS(int, function, parameters, file_fails(of, file), -1, __VA_ARGS__)
#define FAILS_PATH(of, function, parameters, ...) \
  FAILS(int, function, parameters, path_fails(of, AT_FDCWD, path), -1, __VA_ARGS__)
#define FAILS_AT(of, function, parameters, ...) \
  FAILS(int, function, parameters, path_fails(of, folder, path), -1, __VA_ARGS__)
#define FAILS_READ(function, parameters, ...) \
  FAILS(ssize_t, function, parameters, file_fails(READ, file), -1, __VA_ARGS__)

/* What the compiler calls where it knows a buffer's size. */
int __openat_2(int folder, const char *path, int flags);
ssize_t __read_chk(int file, void *bytes, size_t count, size_t room);
ssize_t __pread_chk(int file, void *bytes, size_t count, off_t offset, size_t room);

FAILS_AT(kind_of(flags), __openat_2, (int folder, const char *path, int flags), folder, path, flags)
FAILS_PATH(CREATE, mkostemp, (char *path, int flags), path, flags)
FAILS_PATH(CREATE, mkstemp, (char *path), path)
FAILS(FILE *, fopen, (const char *path, const char *mode),
      path_fails(mode[0] == 'r' && !strchr(mode, '+') ? OPEN : CREATE, AT_FDCWD, path), NULL, path,
      mode)
FAILS_READ(read, (int file, void *bytes, size_t count), file, bytes, count)
FAILS_READ(pread, (int file, void *bytes, size_t count, off_t offset), file, bytes, count, offset)
FAILS_READ(pread64, (int file, void *bytes, size_t count, off64_t offset), file, bytes, count,
           offset)
FAILS_READ(__read_chk, (int file, void *bytes, size_t count, size_t room), file, bytes, count, room)
FAILS_READ(__pread_chk, (int file, void *bytes, size_t count, off_t offset, size_t room), file,
           bytes, count, offset, room)
FAILS_FILE(SYNC, fsync, (int file), file)
FAILS_FILE(SYNC, fdatasync, (int file), file)
FAILS_FILE(SYNC, sync_file_range, (int file, off64_t offset, off64_t count, unsigned flags), file,
           offset, count, flags)
FAILS_FILE(SYNC, syncfs, (int file), file)
FAILS_PATH(RENAME, rename, (const char *from, const char *path), from, path)
FAILS_AT(RENAME, renameat, (int from_folder, const char *from, int folder, const char *path),
         from_folder, from, folder, path)
FAILS_AT(RENAME, renameat2,
         (int from_folder, const char *from, int folder, const char *path, unsigned flags),
         from_folder, from, folder, path, flags)
FAILS_FILE(TRUNCATE, ftruncate, (int file, off_t bytes), file, bytes)
FAILS_FILE(TRUNCATE, ftruncate64, (int file, off64_t bytes), file, bytes)
FAILS_FILE(ALLOCATE, fallocate, (int file, int mode, off_t offset, off_t bytes), file, mode, offset,
           bytes)
FAILS_PATH(MKDIR, mkdir, (const char *path, mode_t mode), path, mode)
FAILS_AT(MKDIR, mkdirat, (int folder, const char *path, mode_t mode), folder, path, mode)
FAILS(char *, mkdtemp, (char *path), path_fails(MKDIR, AT_FDCWD, path), NULL, path)
FAILS_PATH(LINK, link, (const char *from, const char *path), from, path)
FAILS_PATH(UNLINK, unlink, (const char *path), path)
FAILS_PATH(UNLINK, rmdir, (const char *path), path)
FAILS_AT(UNLINK, unlinkat, (int folder, const char *path, int flags), folder, path, flags)
FAILS_PATH(STAT, access, (const char *path, int mode), path, mode)
FAILS_PATH(STAT, stat, (const char *path, struct stat *about), path, about)
FAILS_PATH(STAT, lstat, (const char *path, struct stat *about), path, about)
FAILS_FILE(STAT, fstat, (int file, struct stat *about), file, about)
FAILS_AT(STAT, fstatat, (int folder, const char *path, struct stat *about, int flags), folder, path,
         about, flags)
FAILS_PATH(STAT, stat64, (const char *path, struct stat64 *about), path, about)
FAILS_PATH(STAT, lstat64, (const char *path, struct stat64 *about), path, about)
FAILS_FILE(STAT, fstat64, (int file, struct stat64 *about), file, about)
FAILS_PATH(STATVFS, statvfs, (const char *path, struct statvfs *about), path, about)
FAILS_FILE(STATVFS, fstatvfs, (int file, struct statvfs *about), file, about)
FAILS(DIR *, opendir, (const char *path), path_fails(LIST, AT_FDCWD, path), NULL, path)
FAILS(DIR *, fdopendir, (int file), file_fails(LIST, file), NULL, file)
FAILS(struct dirent *, readdir, (DIR * folder), file_fails(LIST, dirfd(folder)), NULL, folder)
FAILS(int, scandir,
      (const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
       int (*compare)(const struct dirent **, const struct dirent **)),
      path_fails(LIST, AT_FDCWD, path), -1, path, list, filter, compare)
FAILS(void *, mmap, (void *at, size_t bytes, int access, int flags, int file, off_t offset),
      file_fails(MMAP, file), MAP_FAILED, at, bytes, access, flags, file, offset)
FAILS(void *, mmap64, (void *at, size_t bytes, int access, int flags, int file, off64_t offset),
      file_fails(MMAP, file), MAP_FAILED, at, bytes, access, flags, file, offset)

int posix_fallocate(int file, off_t offset, off_t bytes) { /* its result is the number */
  int number = errno;
  bool fails = file_fails(ALLOCATE, file);
  int result = fails ? errno : REAL(posix_fallocate)(file, offset, bytes);
  errno = number;
  return result;
}

ssize_t write(int file, const void *bytes, size_t count) {
  ssize_t taken = write_bytes(file, count);
  return taken < 0 ? -1 : REAL(write)(file, bytes, (size_t)taken);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  ssize_t taken = write_bytes(file, count);
  return taken < 0 ? -1 : REAL(pwrite)(file, bytes, (size_t)taken, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  ssize_t taken = write_bytes(file, count);
  return taken < 0 ? -1 : REAL(pwrite64)(file, bytes, (size_t)taken, offset);
}
