#include "api/json/memory.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/json/writer.h"

/* Before each block of jansson's: its neighbours, while it belongs to a read that is under way. */
typedef struct block {
  alignas(max_align_t) struct block *next;
  struct block *previous;
} block;

/* The read of a thread. One that runs out of memory leaves jansson at once, and its blocks are
 * freed: jansson itself would go on. */
typedef struct {
  bool active;
  block blocks; /* a ring */
  jmp_buf out;
} reading;

/* A cache line for each few threads: a tree is counted block by block. */
enum { COUNTERS = 16, LINE_BYTES = 64 };
typedef struct {
  alignas(LINE_BYTES) atomic_llong bytes;
} counter;

static bool watched;
static counter counters[COUNTERS];
static atomic_uint threads;
static _Thread_local reading reader;
static _Thread_local bool failed;
static _Thread_local counter *own; /* NULL: not chosen yet */
/* Of what this thread takes: counted elsewhere, and what may still be. */
static _Thread_local int64_t foreseen_bytes, unused_bytes;

static void counter_add(int64_t bytes) {
  if (!own) own = &counters[atomic_fetch_add(&threads, 1) % COUNTERS];
  atomic_fetch_add_explicit(&own->bytes, bytes, memory_order_relaxed);
}

static void bytes_count(void *memory, int sign) {
  const int64_t bytes = (int64_t)malloc_usable_size(memory);
  const int64_t foreseen = sign < 0 ? 0 : bytes < unused_bytes ? bytes : unused_bytes;
  foreseen_bytes += foreseen;
  unused_bytes -= foreseen;
  if (bytes > foreseen) counter_add(sign * (bytes - foreseen));
}

void ep_json_memory_foresee(int64_t bytes) {
  if (foreseen_bytes > 0) counter_add(foreseen_bytes);
  foreseen_bytes = 0;
  unused_bytes = bytes;
}

int64_t ep_json_memory_bytes(void) {
  int64_t bytes = 0;
  for (int i = 0; i < COUNTERS; i++)
    bytes += atomic_load_explicit(&counters[i].bytes, memory_order_relaxed);
  return bytes;
}

static void *block_allocate(size_t bytes) {
  block *made = bytes <= SIZE_MAX - sizeof *made ? malloc(sizeof *made + bytes) : NULL;
  if (!made) {
    failed = true;
    if (reader.active) longjmp(reader.out, 1);
    return NULL;
  }
  bytes_count(made, 1);
  if (reader.active) {
    *made = (block){.next = reader.blocks.next, .previous = &reader.blocks};
    made->next->previous = reader.blocks.next = made;
  }
  return made + 1;
}

static void block_free(void *memory) {
  if (!memory) return;
  block *gone = (block *)memory - 1;
  if (reader.active) {
    gone->next->previous = gone->previous;
    gone->previous->next = gone->next;
  }
  bytes_count(gone, -1);
  free(gone);
}

void ep_json_memory_watch(void) {
  watched = true;
  json_set_alloc_funcs(block_allocate, block_free);
}

static void blocks_free(void) {
  block *next;
  for (block *at = reader.blocks.next; at != &reader.blocks; at = next) {
    next = at->next;
    bytes_count(at, -1);
    free(at);
  }
}

json_t *ep_json_read(const char *text, size_t bytes, size_t flags, json_error_t *fault) {
  failed = false;
  if (!watched) return json_loadb(text, bytes, flags, fault);
  reader.blocks.next = reader.blocks.previous = &reader.blocks;
  if (setjmp(reader.out) == 0) {
    reader.active = true;
    json_t *value = json_loadb(text, bytes, flags, fault);
    reader.active = false;
    return value;
  }
  reader.active = false;
  blocks_free();
  fault->text[0] = 0;
  return NULL;
}

bool ep_json_memory_short(void) {
  return failed;
}

static int text_take(const char *text, size_t bytes, void *context) {
  ep_writer *writer = context;
  ep_writer_bytes(writer, text, bytes);
  return writer->failed ? -1 : 0;
}

/* A writer that failed takes nothing more: where jansson goes on, the text is NULL all the same. */
char *ep_json_write(const json_t *value, size_t flags) {
  ep_writer writer;
  ep_writer_init(&writer, SIZE_MAX / 2);
  if (value && json_dump_callback(value, text_take, &writer, flags) == 0)
    return ep_writer_take(&writer);
  ep_writer_deinit(&writer);
  return NULL;
}
