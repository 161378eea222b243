/* A node of a training, or its leader, that was taken over: what it says is held against what it
 * may say by then. The other one ends with an error that names the cause, in the time that it has,
 * and nothing else happens. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/executors/ranks/frames.h"
#include "kernels/cpu/executors/ranks/program_wire.h"
#include "kernels/cpu/executors/ranks/rank.h"
#include "kernels/nodes.h"
#include "tests/suite.h"
#include "tests/unit/kernels/programs.h"

enum {
  EXIT_MALFORMED = 9,
  PATIENCE_MS = 200,
  LONG_MS = 15000,
  LINES = 24,
  STEPS = 2,
  ROWS = 300,
  CODES = 32
};

/* What a rogue sends, or waits for. */
typedef struct {
  bool awaits; /* a frame of this code */
  uint32_t code, rank, number, zero;
  uint64_t bytes;      /* as the header has it */
  const void *payload; /* [bytes]; NULL = zeros */
  uint64_t cut;        /* bytes that are not sent after all */
} line;

static const char zeros[1 << 16];

static void bytes_send(int socket, const void *bytes, size_t count) {
  for (size_t sent = 0; sent < count;) {
    ssize_t more = send(socket, (const char *)bytes + sent, count - sent, MSG_NOSIGNAL);
    if (more < 0) return; /* the other side has refused already */
    sent += (size_t)more;
  }
}

/* False: the connection has ended. */
static bool bytes_read(int socket, void *to, size_t count) {
  for (size_t got = 0; got < count;) {
    ssize_t more = recv(socket, (char *)to + got, count - got, 0);
    if (more <= 0) return false;
    got += (size_t)more;
  }
  return true;
}

static void line_send(int socket, const line *next) {
  const ep_node_head head = {next->code, next->rank, next->number, next->zero, next->bytes};
  const size_t count = next->bytes - next->cut;
  bytes_send(socket, &head, sizeof head);
  if (count <= sizeof zeros) bytes_send(socket, next->payload ? next->payload : zeros, count);
}

static bool frame_read(int socket, ep_node_head *head) {
  char byte;
  if (!bytes_read(socket, head, sizeof *head)) return false;
  for (uint64_t i = 0; i < head->bytes; i++)
    if (!bytes_read(socket, &byte, 1)) return false;
  return true;
}

static bool code_await(int socket, uint32_t code) {
  ep_node_head head;
  while (frame_read(socket, &head))
    if (head.code == code) return true;
  return false;
}

/* Three layers: on two replicas, without and with a norm that syncs, on two stages, and on three
 * replicas. */
typedef enum { REPLICAS, NORM, STAGES, THREE } training;

static ep_case *case_make(training of) {
  ep_case *test = ep_case_create("rogue", 5, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_linear(test, 4, true);
  if (of == NORM) ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
  ep_case_add_linear(test, 4, true);
  ep_case_add_linear(test, 3, true);
  ep_case_finish(test,
                 &(ep_case_training){.rows = ROWS, .batch_size = 32, .steps = STEPS, .lr = 0.1f});
  const int replicas = of == STAGES ? 1 : of == THREE ? 3 : 2;
  ep_case_set_ranks(test, replicas, of == STAGES ? 2 : 1, 3);
  return test;
}

/* --- a rogue node ---------------------------------------------------------------------------- */

typedef struct {
  training of;
  const char *error; /* part of what the leader says */
  line lines[LINES]; /* code 0 ends them */
} leader_script;

typedef struct {
  int socket;
  const line *lines;
} rogue;

/* A frame of this code, unless it has come before another one that was waited for. */
static bool line_await(int socket, int seen[CODES], uint32_t code) {
  ep_node_head head;
  while (seen[code] == 0) {
    if (!frame_read(socket, &head) || head.code >= CODES) return false;
    seen[head.code]++;
  }
  seen[code]--;
  return true;
}

static void *rogue_run(void *context) {
  const rogue *self = context;
  int seen[CODES] = {0};
  const line created = {.code = EP_NODE_CREATED, .bytes = sizeof(ep_node_created)};
  ep_node_head head;
  if (!code_await(self->socket, EP_NODE_CREATE)) return NULL;
  line_send(self->socket, &created);
  if (!code_await(self->socket, EP_NODE_TRAIN)) return NULL;
  for (const line *next = self->lines; next->code != 0; next++)
    if (!next->awaits)
      line_send(self->socket, next);
    else if (!line_await(self->socket, seen, next->code))
      return NULL;
  while (frame_read(self->socket, &head)) continue; /* and says nothing more */
  return NULL;
}

/* Parameters of the case, and of its last stage of two. */
enum {
  GRADIENT_BYTES = sizeof(ep_rank_course) + (5 * 4 + 4 + 4 * 4 + 4 + 4 * 3 + 3) * sizeof(double),
  COURSE_BYTES = sizeof(ep_rank_course),
  STATE_BYTES = (4 * 4 + 4 + 4 * 3 + 3) * sizeof(float),
  DONE_BYTES = sizeof(ep_rank_info),
  PIECE = 4 * sizeof(float)
};
static const struct {
  ep_rank_course course;
  double grad[5 * 4 + 4 + 4 * 4 + 4 + 4 * 3 + 3];
} no_number = {.course = {.errors = -1}};
static const ep_rank_info no_time = {.compute_seconds = NAN}, no_bytes = {.bytes = -1};

/* Of the second stage, all that a step has, and how a segment ends. */
#define FORWARD \
  { .awaits = true, .code = EP_NODE_FORWARD }
#define RETURN(n, rows) \
  { .code = EP_NODE_RETURN, .number = (n), .bytes = (uint64_t)(rows)*PIECE }
#define WHOLE_STEP                                                        \
  FORWARD, RETURN(0, 10), FORWARD, RETURN(1, 11), FORWARD, RETURN(2, 11), \
      {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = COURSE_BYTES}, {     \
    .awaits = true, .code = EP_NODE_TOTALS                                \
  }
#define STATE \
  { .code = EP_NODE_STATE, .rank = 1, .bytes = STATE_BYTES }
#define DONE \
  { .code = EP_NODE_DONE, .rank = 1, .bytes = DONE_BYTES }

/* rank 1 is the node's: the second replica, or the second stage, which gets 10, 11 and 11 rows. */
static const leader_script leader_scripts[] = {
    {REPLICAS, "sent nothing about rank 1", {{.code = 0}}},
    {REPLICAS,
     "sent nothing about rank 1",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES, .cut = 4}}},
    {REPLICAS,
     "a frame only the leader may send",
     {{.code = EP_NODE_TOTALS, .rank = 1, .bytes = 8}}},
    {REPLICAS, "a frame only the leader may send", {{.code = EP_NODE_RELEASED, .rank = 1}}},
    {REPLICAS, "a frame only the leader may send", {{.code = 77, .rank = 1}}},
    {REPLICAS, "a frame of no rank", {{.code = EP_NODE_RELEASED, .rank = 64}}},
    {REPLICAS,
     "a frame of no rank",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .zero = 1, .bytes = GRADIENT_BYTES}}},
    {REPLICAS, "another node's rank", {{.code = EP_NODE_GRADIENT, .bytes = GRADIENT_BYTES}}},
    {REPLICAS,
     "gradients of another length",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = COURSE_BYTES}}},
    {REPLICAS,
     "an invalid number of errors",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES, .payload = &no_number}}},
    {REPLICAS, "unrequested sums", {{.code = EP_NODE_OFFER, .rank = 1, .bytes = 8}}},
    {REPLICAS, "a state of another form", {{.code = EP_NODE_STATE, .rank = 1, .bytes = 4}}},
    {REPLICAS,
     "an end before the last step",
     {{.code = EP_NODE_DONE, .rank = 1, .bytes = DONE_BYTES}}},
    {REPLICAS,
     "an end before the last step",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.awaits = true, .code = EP_NODE_TOTALS},
      {.code = EP_NODE_DONE, .rank = 1, .bytes = DONE_BYTES}}},
    {REPLICAS,
     "gradients of an invalid step",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.awaits = true, .code = EP_NODE_TOTALS},
      {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.awaits = true, .code = EP_NODE_TOTALS},
      {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES}}},
    {REPLICAS,
     "invalid times",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.awaits = true, .code = EP_NODE_TOTALS},
      {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.awaits = true, .code = EP_NODE_TOTALS},
      {.code = EP_NODE_DONE, .rank = 1, .bytes = DONE_BYTES, .payload = &no_time}}},
    {REPLICAS,
     "invalid times",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.awaits = true, .code = EP_NODE_TOTALS},
      {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.awaits = true, .code = EP_NODE_TOTALS},
      {.code = EP_NODE_DONE, .rank = 1, .bytes = DONE_BYTES, .payload = &no_bytes}}},
    /* A norm that syncs: all replicas offer sums of one length, as often as each other. */
    {NORM, "other sums than stage 0 has", {{.code = EP_NODE_OFFER, .rank = 1, .bytes = 512}}},
    {NORM, "unrequested sums", {{.code = EP_NODE_OFFER, .rank = 1, .bytes = 520}}},
    {NORM, "unrequested sums", {{.code = EP_NODE_OFFER, .rank = 1}}},
    {NORM, "a frame of another length", {{.code = EP_NODE_OFFER, .rank = 1, .bytes = 41}}},
    {NORM,
     "other sums than stage 0 has",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES + 8 * sizeof(double)}}},
    {NORM,
     "other sums than stage 0 has",
     {{.code = EP_NODE_OFFER, .rank = 1, .bytes = 5 * sizeof(double)},
      {.awaits = true, .code = EP_NODE_SUMS},
      {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES + 8 * sizeof(double)}}},
    /* While a further rank of the node, which is silent, keeps the step from its end. */
    {THREE,
     "more than it was asked for",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES},
      {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES}}},
    /* A stage. */
    {STAGES,
     "gradients before the pieces",
     {{.code = EP_NODE_GRADIENT, .rank = 1, .bytes = COURSE_BYTES}}},
    {STAGES, "rows for a first stage", {{.code = EP_NODE_FORWARD, .bytes = 11 * PIECE}}},
    {STAGES, "not for others", {{.code = EP_NODE_FORWARD, .rank = 1, .bytes = 11 * PIECE}}},
    {STAGES,
     "a piece before its turn",
     {{.awaits = true, .code = EP_NODE_FORWARD},
      {.code = EP_NODE_RETURN, .number = 1, .bytes = 11 * PIECE}}},
    {STAGES,
     "a piece before its turn",
     {{.awaits = true, .code = EP_NODE_FORWARD},
      {.code = EP_NODE_RETURN, .bytes = 10 * PIECE},
      {.code = EP_NODE_RETURN, .bytes = 10 * PIECE}}},
    {STAGES,
     "a piece of other rows",
     {{.awaits = true, .code = EP_NODE_FORWARD}, {.code = EP_NODE_RETURN, .bytes = 12 * PIECE}}},
    {STAGES, "an end before the last step", {WHOLE_STEP, WHOLE_STEP, DONE}},
    {STAGES, "a state before the last step", {WHOLE_STEP, STATE}},
    {STAGES, "a state before the last step", {WHOLE_STEP, WHOLE_STEP, STATE, STATE}},
    {STAGES,
     "a state before the last step",
     {{.code = EP_NODE_STATE, .rank = 1, .bytes = STATE_BYTES}}},
    {STAGES,
     "an end before the last step",
     {{.code = EP_NODE_DONE, .rank = 1, .bytes = DONE_BYTES}}}};
enum { LEADER_SCRIPTS = sizeof leader_scripts / sizeof *leader_scripts };

typedef struct {
  int ends[2];
  ep_backend *backend;
  ep_nodes *nodes;
  ep_case *test;
  pthread_t thread;
} leading;

static void leading_open(leading *l, ep_case *test, int64_t patience_ms) {
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, l->ends), 0);
  ck_assert_int_eq(ep_backend_cpu()->open(0, &l->backend, NULL), EP_OK);
  ck_assert_int_eq(ep_nodes_create(l->ends, 1, &l->nodes, NULL), EP_OK);
  ep_nodes_set_patience(l->nodes, patience_ms);
  ep_backend_cpu_use_nodes(l->backend, l->nodes);
  l->test = test;
}

static void leading_close(leading *l) {
  ep_backend_cpu()->close(l->backend);
  ep_nodes_destroy(l->nodes);
  close(l->ends[0]);
  close(l->ends[1]);
  ep_case_destroy(l->test);
}

static ep_status load(const leading *l, ep_instance *instance, ep_error *error) {
  const ep_backend_ops *ops = ep_backend_cpu();
  ep_status status = ops->load_data(instance, EP_SPLIT_TRAIN, l->test->x[0], l->test->y[0],
                                    l->test->rows[0], error);
  return status == EP_OK ? ops->import_state(instance, l->test->parameters, NULL, error) : status;
}

START_TEST(a_leader_refuses_what_no_node_says) {
  const leader_script *script = &leader_scripts[_i];
  const ep_backend_ops *ops = ep_backend_cpu();
  leading l;
  ep_instance *instance;
  ep_error error = {0};
  float loss[STEPS];
  int32_t errors[STEPS];
  const bool silent = strstr(script->error, "sent nothing") != NULL;
  leading_open(&l, case_make(script->of), silent ? PATIENCE_MS : LONG_MS);
  rogue node = {l.ends[1], script->lines};
  ck_assert_int_eq(pthread_create(&l.thread, NULL, rogue_run, &node), 0);
  ck_assert_int_eq(ops->compile(l.backend, &l.test->program, "cpu/ranks", &instance, NULL), EP_OK);
  ck_assert_int_eq(load(&l, instance, NULL), EP_OK);
  ep_segment segment = {
      .steps = STEPS, .lr = l.test->lr, .lr_count = 1, .loss = loss, .errors = errors};
  ck_assert_int_eq(ops->train_segment(instance, &segment, &error), EP_DEVICE);
  ck_assert_msg(strstr(error.message, script->error), "%s", error.message);
  ops->release(instance);
  pthread_join(l.thread, NULL);
  leading_close(&l);
}
END_TEST

/* Before a segment nothing may come. */
START_TEST(a_leader_refuses_what_comes_unasked) {
  const ep_backend_ops *ops = ep_backend_cpu();
  const line created = {.code = EP_NODE_CREATED, .bytes = sizeof(ep_node_created)};
  const line gradient = {.code = EP_NODE_GRADIENT, .rank = 1, .bytes = GRADIENT_BYTES};
  const line released = {.code = EP_NODE_RELEASED};
  leading l;
  ep_instance *instance;
  ep_error error = {0};
  leading_open(&l, case_make(REPLICAS), LONG_MS);
  line_send(l.ends[1], &created);
  line_send(l.ends[1], _i == 0 ? &gradient : &released);
  ck_assert_int_eq(ops->compile(l.backend, &l.test->program, "cpu/ranks", &instance, NULL), EP_OK);
  ep_status status = EP_OK;
  while (status == EP_OK) status = load(&l, instance, &error);
  ck_assert_int_eq(status, EP_DEVICE);
  ops->release(instance);
  leading_close(&l);
}
END_TEST

/* It makes no ranks, does not read the rows, does not release the program. */
START_TEST(a_leader_waits_for_no_silent_node) {
  const ep_backend_ops *ops = ep_backend_cpu();
  const line created = {
      .code = EP_NODE_CREATED, .bytes = sizeof(ep_node_created), .cut = _i == 1 ? 1 : 0};
  const int little = 1;
  leading l;
  ep_instance *instance = NULL;
  ep_error error = {0};
  leading_open(&l, case_make(REPLICAS), PATIENCE_MS);
  if (_i == 2) setsockopt(l.ends[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
  if (_i > 0) line_send(l.ends[1], &created);
  ep_status status = ops->compile(l.backend, &l.test->program, "cpu/ranks", &instance, &error);
  ck_assert_int_eq(status, _i < 2 ? EP_DEVICE : EP_OK);
  if (_i < 2) ck_assert_msg(strstr(error.message, "sent nothing in time"), "%s", error.message);
  for (int i = 0; _i == 2 && status == EP_OK && i < 100; i++) status = load(&l, instance, &error);
  if (_i == 2) {
    ck_assert_int_eq(status, EP_DEVICE);
    ck_assert_msg(strstr(error.message, "did not read"), "%s", error.message);
  }
  if (instance) ops->release(instance);
  leading_close(&l);
}
END_TEST

START_TEST(who_has_gone_on_meets_nobody) {
  ep_barrier barrier;
  ep_barrier_init(&barrier, 2);
  ck_assert(ep_barrier_leave(&barrier));
  ck_assert(!ep_barrier_meet(&barrier)); /* the other one has gone on */
  ck_assert(ep_barrier_leave(&barrier)); /* both have: it begins anew */
  ep_barrier_break(&barrier);
  ck_assert(ep_barrier_meet(&barrier));
  ck_assert(!ep_barrier_leave(&barrier)); /* somebody waits there still */
  ep_barrier_deinit(&barrier);
}
END_TEST

/* A word of a node stands in a log. */
START_TEST(a_refusal_is_one_line) {
  ep_node_created no = {.status = EP_NO_MEMORY, .message = "a\nb\x1b[31m"};
  const line created = {.code = EP_NODE_CREATED, .bytes = sizeof no, .payload = &no};
  leading l;
  ep_instance *instance;
  ep_error error = {0};
  leading_open(&l, case_make(REPLICAS), PATIENCE_MS);
  line_send(l.ends[1], &created);
  ck_assert_int_eq(
      ep_backend_cpu()->compile(l.backend, &l.test->program, "cpu/ranks", &instance, &error),
      EP_NO_MEMORY);
  ck_assert_str_eq(error.message, "node 1: a?b?[31m");
  leading_close(&l);
}
END_TEST

/* --- a rogue leader -------------------------------------------------------------------------- */

typedef struct {
  ep_node_train order;
  float lr[4];
} order;

static const order train = {{0, STEPS, 1}, {0}}, no_steps = {{0, 0, 1}, {0}},
                   early = {{-1, STEPS, 1}, {0}}, late = {{INT64_MAX, STEPS, 1}, {0}},
                   three_rates = {{0, STEPS, 3}, {0}}, no_rates = {{0, STEPS, 0}, {0}};
enum {
  ORDER_BYTES = sizeof(ep_node_train) + sizeof(float),
  X_BYTES = ROWS * 5 * sizeof(float),
  Y_BYTES = ROWS * sizeof(int32_t),
  ALL_STATE_BYTES = (5 * 4 + 4 + 4 * 4 + 4 + 4 * 3 + 3) * sizeof(float)
};

/* What goes before. */
typedef enum { NOTHING, PROGRAM, LOADED } before;

typedef struct {
  training of;
  before has;
  line lines[LINES];
} node_script;

#define TRAIN \
  { .code = EP_NODE_TRAIN, .bytes = ORDER_BYTES, .payload = &train }

static const node_script node_scripts[] = {
    {REPLICAS, NOTHING, {{.code = 0xffff}}},
    {REPLICAS, NOTHING, {{.code = EP_NODE_CREATE, .number = 1, .bytes = 8}}},
    {REPLICAS, NOTHING, {{.code = EP_NODE_CREATE, .number = 1, .bytes = UINT64_MAX}}},
    {REPLICAS, NOTHING, {{.code = EP_NODE_CREATE, .number = 1, .bytes = 60000}}},
    {REPLICAS, NOTHING, {{.code = EP_NODE_RELEASE, .bytes = 1}}},
    {REPLICAS, NOTHING, {TRAIN}},
    {REPLICAS, NOTHING, {{.code = EP_NODE_LOAD, .bytes = X_BYTES + Y_BYTES}}},
    {REPLICAS, PROGRAM, {{.code = EP_NODE_CREATE, .number = 1, .bytes = 60000}}},
    {REPLICAS, PROGRAM, {TRAIN}}, /* of rows that it does not have */
    {REPLICAS, PROGRAM, {{.code = EP_NODE_LOAD, .bytes = X_BYTES + Y_BYTES - 4}}},
    {REPLICAS, PROGRAM, {{.code = EP_NODE_LOAD, .zero = 1, .bytes = X_BYTES + Y_BYTES}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_ADOPT, .bytes = ALL_STATE_BYTES + 4}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_TRAIN, .bytes = 8}}},
    {REPLICAS,
     LOADED,
     {{.code = EP_NODE_TRAIN, .bytes = sizeof(ep_node_train), .payload = &no_rates}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_TRAIN, .bytes = ORDER_BYTES, .payload = &no_steps}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_TRAIN, .bytes = ORDER_BYTES, .payload = &early}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_TRAIN, .bytes = ORDER_BYTES, .payload = &late}}},
    {REPLICAS,
     LOADED,
     {{.code = EP_NODE_TRAIN, .bytes = ORDER_BYTES + 8, .payload = &three_rates}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_TRAIN, .bytes = ORDER_BYTES + 4, .payload = &train}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_DONE, .rank = 1, .bytes = DONE_BYTES}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_SUMS, .rank = 1, .bytes = 8}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_SUMS, .rank = 1}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_TOTALS, .rank = 1, .bytes = 8}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_TOTALS, .bytes = 8}}},
    {REPLICAS, LOADED, {{.code = EP_NODE_FORWARD, .rank = 70000, .bytes = 4}}},
    /* Within a segment. */
    {REPLICAS, LOADED, {TRAIN, {.awaits = true, .code = EP_NODE_GRADIENT}, TRAIN}},
    {REPLICAS,
     LOADED,
     {TRAIN, {.awaits = true, .code = EP_NODE_GRADIENT}, {.code = EP_NODE_RELEASE}}},
    {REPLICAS,
     LOADED,
     {TRAIN,
      {.awaits = true, .code = EP_NODE_GRADIENT},
      {.code = EP_NODE_LOAD, .bytes = X_BYTES + Y_BYTES}}},
    {REPLICAS,
     LOADED,
     {TRAIN,
      {.awaits = true, .code = EP_NODE_GRADIENT},
      {.code = EP_NODE_ADOPT, .bytes = ALL_STATE_BYTES}}},
    {REPLICAS,
     LOADED,
     {TRAIN,
      {.awaits = true, .code = EP_NODE_GRADIENT},
      {.code = EP_NODE_TOTALS, .rank = 1, .bytes = 8}}},
    {REPLICAS,
     LOADED,
     {TRAIN,
      {.awaits = true, .code = EP_NODE_GRADIENT},
      {.code = EP_NODE_SUMS, .rank = 1, .bytes = 8}}},
    {STAGES, LOADED, {{.code = EP_NODE_FORWARD, .rank = 1, .bytes = 11 * PIECE}}},
    {STAGES, LOADED, {TRAIN, {.code = EP_NODE_FORWARD, .rank = 1, .bytes = 12 * PIECE}}},
    {STAGES,
     LOADED,
     {TRAIN, {.code = EP_NODE_FORWARD, .rank = 1, .number = 1, .bytes = 11 * PIECE}}},
    {STAGES, LOADED, {TRAIN, {.code = EP_NODE_RETURN, .rank = 1, .bytes = 11 * PIECE}}},
    {STAGES,
     LOADED,
     {TRAIN,
      {.code = EP_NODE_FORWARD, .rank = 1, .bytes = 10 * PIECE},
      {.awaits = true, .code = EP_NODE_RETURN},
      {.code = EP_NODE_FORWARD, .rank = 1, .bytes = 10 * PIECE}}}};
enum { NODE_SCRIPTS = sizeof node_scripts / sizeof *node_scripts };

static void program_send(int socket, const ep_program *program) {
  const void *part[EP_PROGRAM_PARTS];
  size_t count[EP_PROGRAM_PARTS];
  const int32_t nodes[2] = {2, 0};
  ep_node_head head = {.code = EP_NODE_CREATE, .number = 1, .bytes = sizeof nodes};
  ep_program_parts(program, part, count);
  for (int i = 0; i < EP_PROGRAM_PARTS; i++) head.bytes += count[i];
  bytes_send(socket, &head, sizeof head);
  bytes_send(socket, nodes, sizeof nodes);
  for (int i = 0; i < EP_PROGRAM_PARTS; i++) bytes_send(socket, part[i], count[i]);
  ck_assert(code_await(socket, EP_NODE_CREATED));
}

static void rows_send(int socket, const ep_case *test) {
  const ep_node_head head = {.code = EP_NODE_LOAD, .bytes = X_BYTES + Y_BYTES};
  bytes_send(socket, &head, sizeof head);
  bytes_send(socket, test->x[0], X_BYTES);
  bytes_send(socket, test->y[0], Y_BYTES);
}

START_TEST(a_node_refuses_what_no_leader_says) {
  const node_script *script = &node_scripts[_i];
  ep_case *test = case_make(script->of);
  int ends[2], status;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    _exit(ep_node_serve(ends[1], NULL) == EP_MALFORMED ? EXIT_MALFORMED : 1);
  }
  close(ends[1]);
  if (script->has >= PROGRAM) program_send(ends[0], &test->program);
  if (script->has == LOADED) rows_send(ends[0], test);
  for (const line *next = script->lines; next->code != 0; next++)
    if (next->awaits)
      ck_assert(code_await(ends[0], next->code));
    else
      line_send(ends[0], next);
  ck_assert_int_eq(waitpid(process, &status, 0), process);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_MALFORMED, "%x", status);
  close(ends[0]);
  ep_case_destroy(test);
}
END_TEST

/* What all of those begin with is none of the refused. */
START_TEST(a_node_takes_what_a_leader_says) {
  static const line totals = {
      .code = EP_NODE_TOTALS, .rank = 1, .bytes = GRADIENT_BYTES - COURSE_BYTES + sizeof(double)};
  static const line adopt = {.code = EP_NODE_ADOPT, .bytes = ALL_STATE_BYTES};
  static const line begin = TRAIN, release = {.code = EP_NODE_RELEASE};
  ep_case *test = case_make(REPLICAS);
  int ends[2], status;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    _exit(ep_node_serve(ends[1], NULL) == EP_OK ? 0 : 1);
  }
  close(ends[1]);
  program_send(ends[0], &test->program);
  rows_send(ends[0], test);
  for (int segment = 0; segment < 2; segment++) {
    line_send(ends[0], &adopt);
    line_send(ends[0], &begin);
    for (int step = 0; step < STEPS; step++) {
      ck_assert(code_await(ends[0], EP_NODE_GRADIENT));
      line_send(ends[0], &totals);
    }
    ck_assert(code_await(ends[0], EP_NODE_DONE));
  }
  line_send(ends[0], &release);
  ck_assert(code_await(ends[0], EP_NODE_RELEASED));
  close(ends[0]);
  ck_assert_int_eq(waitpid(process, &status, 0), process);
  ck_assert_int_eq(status, 0);
  ep_case_destroy(test);
}
END_TEST

EP_SUITE("rogue_nodes") {
  TCase *tests = ep_suite_case(suite, "nodes");
  tcase_set_timeout(tests, 20);
  tcase_add_loop_test(tests, a_leader_refuses_what_no_node_says, 0, LEADER_SCRIPTS);
  tcase_add_loop_test(tests, a_leader_refuses_what_comes_unasked, 0, 2);
  tcase_add_loop_test(tests, a_leader_waits_for_no_silent_node, 0, 4);
  tcase_add_test(tests, who_has_gone_on_meets_nobody);
  tcase_add_test(tests, a_refusal_is_one_line);
  tcase_add_loop_test(tests, a_node_refuses_what_no_leader_says, 0, NODE_SCRIPTS);
  tcase_add_test(tests, a_node_takes_what_a_leader_says);
}
