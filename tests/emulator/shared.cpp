/* Shared memory: that of each block with words around it that must not change, and pages behind
 * them that fault; shared addresses; copies to it. */
#include <cstring>
#include <sys/mman.h>

#include "launch.h"

constexpr size_t PAGE = 4096, FRONT = 1024, BEHIND = 1024;        /* FRONT: also the alignment */
constexpr unsigned UNWRITTEN = 0xffffffffu, AROUND = 0xffa5a5a5u; /* both NaN */
constexpr unsigned OFFSET_BITS = 24;

static struct {
  char *region;
  size_t bytes, stride, used; /* used: of a stride, what does not fault */
  int blocks;
} shared;

static void fill(char *from, const char *end, unsigned word) {
  for (; from < end; from += sizeof word) memcpy(from, &word, sizeof word);
}

bool shared_create(int blocks, size_t bytes) {
  size_t used = (FRONT + bytes + BEHIND + PAGE - 1) / PAGE * PAGE, stride = used + PAGE;
  void *mapped = mmap(nullptr, blocks * stride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  shared = {(char *)mapped, bytes, stride, used, blocks};
  for (int i = 0; i < blocks; i++) {
    char *memory = shared_of_block(i);
    fill(memory - FRONT, memory, AROUND);
    fill(memory, memory + bytes, UNWRITTEN);
    fill(memory + bytes, memory - FRONT + used, AROUND);
    mprotect(memory - FRONT + used, PAGE, PROT_NONE);
  }
  return true;
}

char *shared_of_block(unsigned block) {
  return shared.region + block * shared.stride + FRONT;
}

int shared_block_of(const void *address) {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)shared.region;
  return shared.region && offset < shared.blocks * shared.stride ? (int)(offset / shared.stride)
                                                                 : -1;
}

/* The first word that differs, or `end`. */
static const char *changed(const char *from, const char *end) {
  for (; from < end; from += sizeof AROUND)
    if (memcmp(from, &AROUND, sizeof AROUND)) return from;
  return end;
}

bool shared_intact(unsigned block, std::string *failure) {
  const char *memory = shared_of_block(block), *behind = memory + shared.bytes;
  const char *before = changed(memory - FRONT, memory), *after = changed(behind, behind + BEHIND);
  if (before == memory && after == behind + BEHIND) return true;
  if (before < memory)
    *failure = report_text("write outside of shared memory of block %u, %td bytes before it", block,
                           memory - before);
  else
    *failure = report_text("write outside of shared memory of block %u, %td bytes behind its end",
                           block, after - behind);
  return false;
}

void shared_destroy() {
  if (shared.region) munmap(shared.region, shared.blocks * shared.stride);
  shared = {};
}

/* --- addresses ------------------------------------------------------------------------------- */

void emulator_check_global(const void *address, size_t bytes, const char *what,
                           emulator_site site) {
  if ((uintptr_t)address % bytes)
    emulator_fail(site, "%s of %zu bytes at %p, which is not aligned", what, bytes, address);
  if (shared_block_of(address) >= 0)
    emulator_fail(site, "%s of shared memory, which is for device memory", what);
}

/* Its offset in the memory of the current block. */
static size_t shared_offset(const void *address, size_t bytes, const char *what,
                            emulator_site site) {
  size_t offset = (uintptr_t)address - (uintptr_t)launch.current->warp->block->memory;
  if (offset > shared.bytes || shared.bytes - offset < bytes)
    emulator_fail(site, "%s outside of the block's shared memory, at byte %td of %zu", what,
                  (ptrdiff_t)offset, shared.bytes);
  if (offset % bytes)
    emulator_fail(site, "%s of %zu bytes at byte %zu of shared memory, which is not aligned", what,
                  bytes, offset);
  return offset;
}

/* Also what lies behind the last byte: its user may read nothing there. */
unsigned emulator_shared_address(const void *address, emulator_site site) {
  size_t offset = (uintptr_t)address - (uintptr_t)launch.current->warp->block->memory;
  if (offset > shared.bytes)
    emulator_fail(site, "shared_address of what lies outside of the block's shared memory");
  return (unsigned)offset;
}

unsigned emulator_cluster_rank() {
  const launch_block *block = launch.current->warp->block;
  return (unsigned)(block - block->cluster->blocks);
}

unsigned emulator_cluster_address(unsigned address, unsigned rank, emulator_site site) {
  if (rank >= launch.cluster_threads / (unsigned)launch.size.threads)
    emulator_fail(site, "cluster_address of rank %u, which the cluster does not have", rank);
  return (address & ((1u << OFFSET_BITS) - 1)) | (rank + 1) << OFFSET_BITS;
}

void *emulator_shared_pointer(unsigned address, size_t bytes, const char *what,
                              emulator_site site) {
  const launch_block *own = launch.current->warp->block, *block = own;
  unsigned rank = address >> OFFSET_BITS;
  size_t offset = address & ((1u << OFFSET_BITS) - 1);
  if (rank) block = own->cluster->blocks + (rank - 1);
  if (block != own && block->exited == (unsigned)launch.size.threads)
    emulator_fail(site, "%s in block %u, which has exited", what, block->number);
  shared_offset(own->memory + offset, bytes, what, site);
  return block->memory + offset;
}

/* --- cp.async -------------------------------------------------------------------------------- */

void emulator_copy_start(void *to, const void *from, unsigned bytes, bool in_bounds,
                         emulator_site site) {
  launch_thread *self = launch.current;
  self->site = site;
  shared_offset(to, bytes, "cp_async", site);
  if (in_bounds) emulator_check_global(from, bytes, "cp_async", site);
  self->copies.push_back({to, from, bytes, in_bounds, self->groups});
}

void emulator_copy_commit() {
  launch.current->groups++;
}

/* Carries out the first copies. */
static void copies_finish(size_t count) {
  std::vector<launch_copy> &copies = launch.current->copies;
  for (size_t i = 0; i < count; i++) {
    if (copies[i].in_bounds)
      memcpy(copies[i].to, copies[i].from, copies[i].bytes);
    else
      memset(copies[i].to, 0, copies[i].bytes);
  }
  copies.erase(copies.begin(), copies.begin() + (ptrdiff_t)count);
}

void emulator_copy_wait_group(unsigned left) {
  const launch_thread *self = launch.current;
  size_t count = 0;
  while (count < self->copies.size() && self->copies[count].group + left < self->groups) count++;
  copies_finish(count);
}

void emulator_copy_wait_all() {
  copies_finish(launch.current->copies.size());
}
