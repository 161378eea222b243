/* dynamic_memory.cuh, for the emulator: the shared memory that a block asks for at its launch. */
#ifndef EP_TEST_EMULATOR_DYNAMIC_MEMORY_H
#define EP_TEST_EMULATOR_DYNAMIC_MEMORY_H

/* A pointer, not an array: it points to the memory of the block whose turn it is. */
extern float *memory __asm__("emulator_shared_memory");

#endif
