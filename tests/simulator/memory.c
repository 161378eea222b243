#include "tests/simulator/memory.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/simulator/simulator.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);

enum { SMALL_BYTES = 1024, STEP_BYTES = 16, CLASSES = SMALL_BYTES / STEP_BYTES + 32 };
#define REGION_BYTES (SIZE_MAX >> 33) /* 2 GiB of addresses */
#define TOUCHED_BYTES ((size_t)64 << 20)

/* Before each block; 16 bytes, which keep it aligned. */
typedef struct block {
  size_t capacity;
  struct block *next; /* while it is free */
} block;

typedef struct {
  char *begin;
  size_t used, most;
  block *freed[CLASSES];
  char *variables; /* the program's, as they were before the first start */
} region;

static region *REGION;

/* The program's variables, by the linker. */
extern char __data_start[], _end[];

void *outside_malloc(size_t bytes) {
  return __real_malloc(bytes);
}

void *outside_calloc(size_t count, size_t bytes) {
  return __real_calloc(count, bytes);
}

void *outside_realloc(void *old, size_t bytes) {
  return __real_realloc(old, bytes);
}

void outside_free(void *old) {
  __real_free(old);
}

/* The class of a size, whose capacity is written. */
static int class_of(size_t bytes, size_t *capacity) {
  if (bytes <= SMALL_BYTES) {
    size_t steps = bytes == 0 ? 1 : (bytes + STEP_BYTES - 1) / STEP_BYTES;
    *capacity = steps * STEP_BYTES;
    return (int)steps - 1;
  }
  int power = 0;
  for (*capacity = 2 * SMALL_BYTES; *capacity < bytes; *capacity *= 2) power++;
  return SMALL_BYTES / STEP_BYTES + power;
}

static bool is_within(const void *old) {
  return REGION && (const char *)old >= REGION->begin &&
         (const char *)old < REGION->begin + REGION_BYTES;
}

static void *region_take(size_t bytes) {
  size_t capacity;
  int class = class_of(bytes, &capacity);
  block *found = REGION->freed[class];
  if (found) {
    REGION->freed[class] = found->next;
    return found + 1;
  }
  must_hold(REGION->used + sizeof *found + capacity <= REGION_BYTES, "the daemon takes 2 GiB");
  found = (block *)(REGION->begin + REGION->used);
  found->capacity = capacity;
  REGION->used += sizeof *found + capacity;
  if (REGION->used > REGION->most) REGION->most = REGION->used;
  return found + 1;
}

void *__wrap_malloc(size_t bytes) {
  return SIM && SIM->inside ? region_take(bytes) : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  if (!SIM || !SIM->inside) return __real_calloc(count, bytes);
  void *new = region_take(count * bytes);
  memset(new, 0, count * bytes);
  return new;
}

void __wrap_free(void *old) {
  if (!is_within(old)) {
    __real_free(old);
    return;
  }
  size_t capacity;
  block *freed = (block *)old - 1;
  int class = class_of(freed->capacity, &capacity);
  freed->next = REGION->freed[class];
  REGION->freed[class] = freed;
}

void *__wrap_realloc(void *old, size_t bytes) {
  if (!SIM || !SIM->inside || (old && !is_within(old))) return __real_realloc(old, bytes);
  if (!old) return region_take(bytes);
  size_t capacity = ((block *)old - 1)->capacity;
  if (capacity >= bytes) return old;
  void *new = region_take(bytes);
  memcpy(new, old, capacity);
  __wrap_free(old);
  return new;
}

char *__wrap_strndup(const char *text, size_t bytes) {
  size_t length = strnlen(text, bytes);
  char *copy = __wrap_malloc(length + 1);
  if (!copy) return NULL;
  memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

char *__wrap_strdup(const char *text) {
  return __wrap_strndup(text, SIZE_MAX);
}

static void *sqlite_malloc(int bytes) {
  size_t *head = __wrap_malloc((size_t)bytes + 16);
  if (!head) return NULL;
  *head = (size_t)bytes;
  return head + 2;
}

static void sqlite_free(void *old) {
  if (old) __wrap_free((size_t *)old - 2);
}

static int sqlite_size(void *old) {
  return old ? (int)*((size_t *)old - 2) : 0;
}

static void *sqlite_realloc(void *old, int bytes) {
  size_t *head = __wrap_realloc((size_t *)old - 2, (size_t)bytes + 16);
  if (!head) return NULL;
  *head = (size_t)bytes;
  return head + 2;
}

static int sqlite_round(int bytes) {
  return (bytes + 7) / 8 * 8;
}

static int sqlite_begin(void *context) {
  (void)context;
  return SQLITE_OK;
}

static void sqlite_end(void *context) {
  (void)context;
}

void memory_lend(void) {
  static const sqlite3_mem_methods methods = {sqlite_malloc, sqlite_free,  sqlite_realloc,
                                              sqlite_size,   sqlite_round, sqlite_begin,
                                              sqlite_end,    NULL};
  json_set_alloc_funcs(__wrap_malloc, __wrap_free);
  json_object_seed(1);
  must_hold(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK &&
                sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK &&
                sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK &&
                sqlite3_initialize() == SQLITE_OK,
            "SQLite cannot be prepared");
}

void memory_begin(void) {
  REGION = __real_calloc(1, sizeof *REGION);
  REGION->begin = mmap((void *)(uintptr_t)0x200000000000, REGION_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  must_hold(REGION->begin != MAP_FAILED, "no memory for the daemon");
  size_t bytes = (size_t)(_end - __data_start);
  REGION->variables = __real_malloc(bytes);
  memcpy(REGION->variables, __data_start, bytes);
}

void memory_forget(void) {
  if (REGION->used > TOUCHED_BYTES) madvise(REGION->begin, REGION->used, MADV_DONTNEED);
  REGION->used = 0;
  memset(REGION->freed, 0, sizeof REGION->freed);
  memcpy(__data_start, REGION->variables, (size_t)(_end - __data_start));
}

size_t memory_most(void) {
  return REGION->most;
}
