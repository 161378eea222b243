/* fuzz.h: the one function that a fuzzer is; libFuzzer and replay.c call it. */
#ifndef EP_TESTS_FUZZ_FUZZ_H
#define EP_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Takes any bytes; must return, without a leak. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Ends the program where the condition is false. */
#define FUZZ_HOLDS(condition)                                             \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                            \
    }                                                                     \
  } while (0)

#endif
