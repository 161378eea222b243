/* Any bytes as what a leader sends to a node of its training, behind a program that the node has
 * taken; the first byte says which. The node ends, with whatever runs on it, once the bytes do. */
#include "kernels/nodes.h"
#include "tests/fuzz/nodes/nodes.h"

static void program_send(int socket, const ep_program *program) {
  const void *part[EP_PROGRAM_PARTS];
  size_t count[EP_PROGRAM_PARTS];
  const int32_t nodes[2] = {2, 0};
  ep_node_head head = {.code = EP_NODE_CREATE, .number = 1, .bytes = sizeof nodes};
  ep_program_parts(program, part, count);
  for (int i = 0; i < EP_PROGRAM_PARTS; i++) head.bytes += count[i];
  fuzz_send(socket, &head, sizeof head);
  fuzz_send(socket, nodes, sizeof nodes);
  for (int i = 0; i < EP_PROGRAM_PARTS; i++) fuzz_send(socket, part[i], count[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  int ends[2];
  pthread_t drain;
  ep_error error = {0};
  if (count == 0) return 0;
  FUZZ_HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  FUZZ_HOLDS(pthread_create(&drain, NULL, fuzz_drain, &ends[0]) == 0);
  if (bytes[0] < 3) program_send(ends[0], &fuzz_case(bytes[0])->program);
  fuzz_send(ends[0], bytes + 1, count - 1);
  shutdown(ends[0], SHUT_WR);
  ep_status status = ep_node_serve(ends[1], &error);
  FUZZ_HOLDS(status == EP_OK || error.message[0]);
  close(ends[1]);
  pthread_join(drain, NULL);
  close(ends[0]);
  return 0;
}
