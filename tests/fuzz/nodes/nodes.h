/* nodes.h: a small training on several nodes, for the fuzzers of what these send each other. */
#ifndef EP_TESTS_FUZZ_NODES_NODES_H
#define EP_TESTS_FUZZ_NODES_NODES_H

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/cpu/executors/ranks/leader.h"
#include "kernels/cpu/executors/ranks/program_wire.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/kernels/programs.h"

enum { FUZZ_STEPS = 3, FUZZ_PROGRAM_BYTES = 1 << 14 };

/* Two replicas, and a norm that syncs; two stages; both. */
static inline ep_case *fuzz_case_make(unsigned kind) {
  ep_case *test = ep_case_create("fuzz", 3, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_linear(test, 4, true);
  if (kind % 3 == 0) ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
  ep_case_add_linear(test, 2, true);
  ep_case_finish(test, &(ep_case_training){.rows = 10, .batch_size = 8, .steps = 3, .lr = 0.1f});
  ep_case_set_ranks(test, kind % 3 == 1 ? 1 : 2, kind % 3 == 0 ? 1 : 2, 2);
  return test;
}

/* Each is made once. */
static inline const ep_case *fuzz_case(unsigned kind) {
  static ep_case *cases[3];
  if (!cases[kind % 3]) cases[kind % 3] = fuzz_case_make(kind % 3);
  return cases[kind % 3];
}

static inline void fuzz_send(int socket, const void *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes = (const char *)bytes + sent;
    count -= (size_t)sent;
  }
}

/* The thread of the other end: whatever comes. */
static inline void *fuzz_drain(void *context) {
  char bytes[4096];
  while (recv(*(const int *)context, bytes, sizeof bytes, 0) > 0) continue;
  return NULL;
}

#endif
