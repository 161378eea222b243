/* A program that a leader sends, with bytes of it replaced: each four of the input are a place and
 * what is added there; the first byte says of which program. What a node takes it also trains, for
 * a step, on rows that are zeros. */
#include "kernels/cpu/check.h"
#include "kernels/nodes.h"
#include "tests/fuzz/nodes/nodes.h"

enum { MOST_FLOATS = 4096, MOST_ROWS = 64, MOST_BYTES = 1 << 16 };

static size_t program_copy(const ep_program *program, uint8_t *to) {
  const void *part[EP_PROGRAM_PARTS];
  size_t count[EP_PROGRAM_PARTS], at = 0;
  ep_program_parts(program, part, count);
  for (int i = 0; i < EP_PROGRAM_PARTS; at += count[i++]) {
    FUZZ_HOLDS(at + count[i] <= FUZZ_PROGRAM_BYTES);
    if (count[i] > 0) memcpy(to + at, part[i], count[i]);
  }
  return at;
}

/* Whether its step is short. */
static bool is_small(const ep_program *program) {
  bool small = program->parameters <= MOST_FLOATS && program->buffers <= MOST_FLOATS &&
               program->batch_size <= MOST_ROWS && program->train_rows <= MOST_ROWS;
  for (int i = 0; small && i < program->ops_count; i++)
    small =
        program->ops[i].in_features <= MOST_FLOATS && program->ops[i].out_features <= MOST_FLOATS;
  return small && ep_shape_count(program->stored) <= MOST_FLOATS;
}

static void frame_send(int socket, ep_node_code code, const void *first, size_t first_bytes,
                       const void *then, size_t then_bytes) {
  const ep_node_head head = {.code = code, .number = 1, .bytes = first_bytes + then_bytes};
  fuzz_send(socket, &head, sizeof head);
  fuzz_send(socket, first, first_bytes);
  fuzz_send(socket, then, then_bytes);
}

static void *leader_run(void *context) {
  fuzz_drain(context);
  return NULL;
}

static void step_train(const ep_program *program, const uint8_t *bytes, size_t count) {
  static const uint8_t zeros[MOST_BYTES];
  const int32_t nodes[2] = {2, 0};
  const ep_node_train order = {0, 1, 1};
  const float lr = 0.1f;
  const int64_t floats = ep_program_state_floats(program) + program->optimizer_floats;
  const size_t rows = ep_ranks_x_bytes(program, program->train_rows) +
                      ep_ranks_y_bytes(program, program->train_rows);
  const size_t state = (size_t)floats * sizeof(float);
  int ends[2];
  pthread_t drain;
  if (rows > MOST_BYTES || state > MOST_BYTES) return;
  FUZZ_HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  FUZZ_HOLDS(pthread_create(&drain, NULL, leader_run, &ends[0]) == 0);
  frame_send(ends[0], EP_NODE_CREATE, nodes, sizeof nodes, bytes, count);
  frame_send(ends[0], EP_NODE_LOAD, zeros, rows, NULL, 0);
  frame_send(ends[0], EP_NODE_ADOPT, zeros, state, NULL, 0);
  frame_send(ends[0], EP_NODE_TRAIN, &order, sizeof order, &lr, sizeof lr);
  shutdown(ends[0], SHUT_WR);
  ep_node_serve(ends[1], NULL);
  close(ends[1]);
  pthread_join(drain, NULL);
  close(ends[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static uint8_t whole[FUZZ_PROGRAM_BYTES];
  ep_program *program = NULL;
  if (count == 0) return 0;
  const size_t size = program_copy(&fuzz_case(bytes[0])->program, whole);
  for (size_t at = 1; at + 4 <= count; at += 4) {
    const size_t where = (bytes[at] | (size_t)bytes[at + 1] << 8) % size;
    whole[where] = (uint8_t)(whole[where] + (bytes[at + 2] ^ bytes[at + 3]));
  }
  uint8_t *copy = malloc(size);
  FUZZ_HOLDS(copy);
  memcpy(copy, whole, size);
  if (ep_program_unpack(copy, size, &program, NULL) == EP_OK &&
      ep_check_program(program, NULL) == EP_OK && is_small(program))
    step_train(program, whole, size);
  free(copy);
  return 0;
}
