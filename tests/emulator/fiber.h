/* fiber.h: a stack that runs until it gives the processor to another. x86-64 and aarch64 by hand;
 * elsewhere, or with EMULATOR_UCONTEXT, by ucontext, which is slow. */
#ifndef EP_TEST_EMULATOR_FIBER_H
#define EP_TEST_EMULATOR_FIBER_H

#include <cstddef>

/* Prepares a fiber that begins in `entry`, which must not return, on the stack that ends at `top`.
 * Returns what fiber_switch takes. Signal masks and the floating-point environment are shared. */
void *fiber_prepare(char *top, void (*entry)());

/* Goes on with `to`; *from: where a later switch goes on with the caller. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(EMULATOR_UCONTEXT)
extern "C" void emulator_fiber_switch(void **from, void *to);
#define fiber_switch emulator_fiber_switch
#else
void fiber_switch(void **from, void *to);
#endif

/* Address space for `count` stacks, which stays for the next call; nullptr: no memory. An overflow
 * faults, unless there are so many that the kernel's limit of mappings forbids guard pages. */
char *fiber_stacks(size_t count);
/* The end of one of them. Neighbours end at different cache lines. */
char *fiber_stack_top(char *stacks, size_t index);
/* Returns the memory of a large launch. */
void fiber_stacks_trim();
/* Whether an address lies in a guard page of a stack. */
bool fiber_stack_overflows(const void *address);

#endif
