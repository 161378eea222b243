#include "fiber.h"

#include <cstdint>
#include <sys/mman.h>

constexpr size_t STACK_BYTES = 128 << 10, PAGE_BYTES = 4096;
constexpr size_t GUARDED_STACKS = 16384; /* each guard page is two of 65,530 mappings */
constexpr size_t KEPT_STACKS = 16384;    /* for the next run */

#if defined(EMULATOR_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__))

#include <new>
#include <ucontext.h>

/* A suspended fiber's context lies on its own stack. */
void fiber_switch(void **from, void *to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, (ucontext_t *)to);
}

void *fiber_prepare(char *top, void (*entry)()) {
  uintptr_t at = ((uintptr_t)top - sizeof(ucontext_t)) & ~(uintptr_t)63;
  ucontext_t *context = new ((void *)at) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = (char *)at - STACK_BYTES / 2;
  context->uc_stack.ss_size = STACK_BYTES / 2;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

#elif defined(__x86_64__)

/* The registers that a callee saves. A jump instead of a return, whose prediction would fail. */
__asm__(R"(
  .text
  .globl emulator_fiber_switch
  .type emulator_fiber_switch, @function
emulator_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
  .size emulator_fiber_switch, .-emulator_fiber_switch
)");

void *fiber_prepare(char *top, void (*entry)()) {
  void **at = (void **)((uintptr_t)top & ~(uintptr_t)15);
  *--at = nullptr; /* the caller of `entry` */
  *--at = (void *)entry;
  for (int i = 0; i < 6; i++) *--at = nullptr;
  return at;
}

#else

__asm__(R"(
  .text
  .globl emulator_fiber_switch
  .type emulator_fiber_switch, %function
emulator_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size emulator_fiber_switch, .-emulator_fiber_switch
)");

void *fiber_prepare(char *top, void (*entry)()) {
  void **at = (void **)((uintptr_t)top & ~(uintptr_t)15) - 20;
  for (int i = 0; i < 20; i++) at[i] = nullptr;
  at[11] = (void *)entry; /* x30 */
  return at;
}

#endif

static char *region;
static size_t region_stacks;

static void region_release() {
  if (region) munmap(region, region_stacks * STACK_BYTES);
  region = nullptr;
  region_stacks = 0;
}

char *fiber_stacks(size_t count) {
  if (count <= region_stacks) return region;
  region_release();
  void *mapped = mmap(nullptr, count * STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  region = (char *)mapped;
  region_stacks = count;
  madvise(region, count * STACK_BYTES, MADV_NOHUGEPAGE); /* a few pages of each are in use */
  for (size_t i = 0; count <= GUARDED_STACKS && i < count; i++)
    mprotect(region + i * STACK_BYTES, PAGE_BYTES, PROT_NONE);
  return region;
}

char *fiber_stack_top(char *stacks, size_t index) {
  return stacks + (index + 1) * STACK_BYTES - index % 32 * 512;
}

void fiber_stacks_trim() {
  if (region_stacks > KEPT_STACKS) region_release();
}

bool fiber_stack_overflows(const void *address) {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)region;
  return region_stacks <= GUARDED_STACKS && offset < region_stacks * STACK_BYTES &&
         offset % STACK_BYTES < PAGE_BYTES;
}
