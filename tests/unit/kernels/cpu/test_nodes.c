/* Ranks on several nodes, here processes of this machine over loopback: the bits of ranks that are
 * threads of one process, whatever the cut; a node that is lost is no hang (one that lies:
 * test_rogue_nodes.c). */
#include <arpa/inet.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/executors/ranks/frames.h"
#include "kernels/cpu/executors/ranks/program_wire.h"
#include "kernels/nodes.h"
#include "tests/suite.h"
#include "tests/unit/kernels/compare.h"

enum { NODES_MOST = 8, EXIT_MALFORMED = 9 };

static const ep_backend_ops *ops;
static ep_backend *backend; /* all ranks are here */

/* A backend whose ranks are spread, and the processes of the other nodes. */
typedef struct {
  ep_backend *backend;
  ep_nodes *nodes;
  int sockets[NODES_MOST];
  pid_t process[NODES_MOST];
  int others;
} spread;

static void setup(void) {
  ops = ep_backend_cpu();
  ck_assert_int_eq(ops->open(0, &backend, NULL), EP_OK);
}

static void teardown(void) {
  ops->close(backend);
}

/* Two ends of a connection over loopback. */
static void connect_pair(int ends[2]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  ck_assert_int_eq(listen(listener, 1), 0);
  ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
  ends[0] = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_eq(connect(ends[0], (struct sockaddr *)&address, sizeof address), 0);
  ends[1] = accept(listener, NULL, NULL);
  ck_assert_int_ge(ends[1], 0);
  close(listener);
}

/* The first of a test, before it has threads. */
static void spread_open(spread *s, int others) {
  *s = (spread){.others = others};
  for (int i = 0; i < others; i++) {
    int ends[2];
    connect_pair(ends);
    s->process[i] = fork();
    ck_assert_int_ge(s->process[i], 0);
    if (s->process[i] == 0) {
      close(ends[0]);
      for (int k = 0; k < i; k++) close(s->sockets[k]);
      ep_status status = ep_node_serve(ends[1], NULL);
      _exit(status == EP_OK ? 0 : status == EP_MALFORMED ? EXIT_MALFORMED : 1);
    }
    close(ends[1]);
    s->sockets[i] = ends[0];
  }
  ck_assert_int_eq(ops->open(0, &s->backend, NULL), EP_OK);
  ck_assert_int_eq(ep_nodes_create(s->sockets, others, &s->nodes, NULL), EP_OK);
  ep_backend_cpu_use_nodes(s->backend, s->nodes);
}

/* Each other node ends with its connection. */
static void spread_close(spread *s, bool lost) {
  ops->close(s->backend);
  ep_nodes_destroy(s->nodes);
  for (int i = 0; i < s->others; i++) {
    int status;
    close(s->sockets[i]);
    ck_assert_int_eq(waitpid(s->process[i], &status, 0), s->process[i]);
    if (!lost)
      ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "node %d: %x", i, status);
  }
}

static ep_status compile(ep_backend *on, const ep_case *test, ep_instance **out) {
  ep_error error = {0};
  ep_status status = ops->compile(on, &test->program, "cpu/ranks", out, &error);
  if (status == EP_OK)
    status = ops->load_data(*out, EP_SPLIT_TRAIN, test->x[0], test->y[0], test->rows[0], &error);
  if (status == EP_OK) status = ops->import_state(*out, test->parameters, NULL, &error);
  return status;
}

static void check_bits(const spread *s, const ep_case *test) {
  const ep_subject here = {ops, backend, "cpu/ranks"}, there = {ops, s->backend, "cpu/ranks"};
  ep_run expected, whole, cut;
  ck_assert_int_eq(ep_run_case(&here, test, EP_RUN_WHOLE, &expected, stderr), EP_OK);
  ck_assert_int_eq(ep_run_case(&there, test, EP_RUN_WHOLE, &whole, stderr), EP_OK);
  ck_assert_int_eq(ep_run_case(&there, test, EP_RUN_CUT, &cut, stderr), EP_OK);
  ck_assert_msg(ep_runs_same(test, &whole, &expected, stderr), "%s, %d x %d on %d nodes",
                test->name, test->program.parallel.data, test->program.parallel.model,
                s->others + 1);
  ck_assert_msg(ep_runs_same(test, &cut, &expected, stderr), "%s: cut", test->name);
  ep_run_deinit(&cut);
  ep_run_deinit(&whole);
  ep_run_deinit(&expected);
}

static ep_case *deep_case(void) {
  ep_case *test = ep_case_create("deep", 7, EP_LOSS_CROSS_ENTROPY);
  for (int i = 0; i < 4; i++) {
    ep_case_add_linear(test, 9 + i, true);
    ep_case_add(test, EP_LAYER_TANH);
  }
  ep_case_add_dropout(test, EP_LAYER_DROPOUT, 0.2f);
  ep_case_add_linear(test, 5, true);
  ep_case_finish(test, &(ep_case_training){.rows = 301,
                                           .batch_size = 64,
                                           .shuffle = true,
                                           .seed = 3,
                                           .steps = 12,
                                           .lr = 0.05f,
                                           .optimizer = {.type = EP_OPTIMIZER_ADAM,
                                                         .beta1 = 0.9f,
                                                         .beta2 = 0.999f,
                                                         .eps = 1e-8f,
                                                         .clip_norm = 0.3f}});
  return test;
}

typedef struct {
  int data, model, micro_batches, others;
} grid;

/* Cuts within a replica, between two, both, a node each, and more nodes than ranks. */
static const grid grids[] = {{2, 1, 1, 1}, {1, 2, 1, 1}, {2, 2, 2, 1}, {1, 4, 5, 1}, {4, 1, 1, 2},
                             {3, 2, 3, 2}, {1, 8, 4, 3}, {4, 4, 3, 4}, {2, 1, 1, 5}};
enum { GRIDS = sizeof grids / sizeof grids[0] };

START_TEST(a_training_has_the_same_bits_on_several_nodes) {
  const grid *of = &grids[_i];
  spread s;
  spread_open(&s, of->others);
  ep_case *test = deep_case();
  ep_case_set_ranks(test, of->data, of->model, of->micro_batches);
  check_bits(&s, test);
  ep_case_destroy(test);
  spread_close(&s, false);
}
END_TEST

/* Every kind of layer, loss and optimizer, each with one of the grids; also programs of one rank,
 * which stay here. */
START_TEST(every_case_has_the_same_bits_on_several_nodes) {
  const grid *of = &grids[_i];
  spread s;
  spread_open(&s, of->others);
  for (int i = _i; i < ep_case_count(); i += GRIDS) {
    ep_case *test = ep_case_create_number(i);
    ep_case_set_ranks(test, of->data, of->model, of->micro_batches);
    if (ep_program_ranks(&test->program) > 1) check_bits(&s, test);
    ep_case_destroy(test);
  }
  spread_close(&s, false);
}
END_TEST

/* A batch_norm that syncs sums within a pass, its running numbers are those of the first replica,
 * and some pieces have no rows. */
START_TEST(norms_have_the_same_bits_on_several_nodes) {
  const grid *of = &grids[_i];
  spread s;
  spread_open(&s, of->others);
  for (int sync = 0; sync < 4; sync++) {
    ep_case *test = ep_case_create_image("norms", (ep_shape){1, 4, 4}, EP_LOSS_CROSS_ENTROPY);
    const ep_case_window three = {.kernel = {3, 3}, .padding = {1, 1}};
    ep_case_add_conv2d(test, 3, &three, true);
    ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
    ep_case_add(test, EP_LAYER_RELU);
    ep_case_add_conv2d(test, 2, &three, true);
    ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
    ep_case_add(test, EP_LAYER_FLATTEN);
    ep_case_add_linear(test, 3, true);
    ep_case_finish(test,
                   &(ep_case_training){.rows = 67, .batch_size = 32, .steps = 6, .lr = 0.01f});
    ep_case_set_ranks(test, of->data, of->model, of->micro_batches);
    for (int i = 0, norm = 0; i < test->program.ops_count; i++)
      if (test->ops[i].type == EP_LAYER_BATCH_NORM) test->ops[i].sync = sync >> norm++ & 1;
    if (ep_program_ranks(&test->program) > 1) check_bits(&s, test);
    ep_case_destroy(test);
  }
  spread_close(&s, false);
}
END_TEST

START_TEST(ranks_say_which_node_they_were_on) {
  spread s;
  spread_open(&s, 1);
  ep_case *test = deep_case();
  ep_instance *instance, *second;
  ep_instance_info info;
  float loss[8];
  int32_t errors[8];
  ep_case_set_ranks(test, 2, 2, 3);
  ck_assert_int_eq(compile(s.backend, test, &instance), EP_OK);
  ep_segment segment = {.steps = 8, .lr = test->lr, .lr_count = 1, .loss = loss, .errors = errors};
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_OK);
  ops->instance_info(instance, &info);
  ck_assert_int_eq(info.ranks, 4);
  for (int i = 0; i < info.ranks; i++) {
    ck_assert_int_eq(info.rank[i].node, i / 2);
    ck_assert_int_gt(info.rank[i].bytes, 0);
    ck_assert_double_gt(info.rank[i].compute_seconds, 0);
    ck_assert_double_gt(info.rank[i].communication_seconds, 0);
  }
  /* A second program while the first has the nodes has its ranks here. */
  ck_assert_int_eq(compile(s.backend, test, &second), EP_OK);
  ck_assert_int_eq(ops->train_segment(second, &segment, NULL), EP_OK);
  ops->instance_info(second, &info);
  for (int i = 0; i < info.ranks; i++) ck_assert_int_eq(info.rank[i].node, 0);
  ops->release(second);
  ops->release(instance);
  ep_case_destroy(test);
  spread_close(&s, false);
}
END_TEST

/* Killed while it trains, between two segments, or before it begins. */
START_TEST(a_node_that_is_killed_fails_the_training) {
  spread s;
  spread_open(&s, 2);
  ep_case *test = deep_case();
  ep_instance *instance;
  ep_error error = {0};
  enum { STEPS = 20000 };
  float *loss = malloc(STEPS * sizeof *loss);
  int32_t *errors = malloc(STEPS * sizeof *errors);
  ck_assert(loss && errors);
  ep_case_set_ranks(test, _i == 1 ? 2 : 4, _i == 1 ? 4 : 1, 2);
  ck_assert_int_eq(compile(s.backend, test, &instance), EP_OK);
  if (_i == 2) kill(s.process[1], SIGKILL);
  pid_t killer = _i == 2 ? 0 : fork();
  if (killer == 0 && _i != 2) {
    usleep(100000);
    kill(s.process[1], SIGKILL);
    _exit(0);
  }
  ep_segment segment = {
      .steps = STEPS, .lr = test->lr, .lr_count = 1, .loss = loss, .errors = errors};
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < 1000; i++)
    status = ops->train_segment(instance, &segment, &error);
  ck_assert_int_eq(status, EP_DEVICE);
  ck_assert_ptr_nonnull(strstr(error.message, "a node of the training is lost"));
  ck_assert_int_eq(ops->import_state(instance, test->parameters, NULL, NULL), EP_DEVICE);
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_DEVICE);
  ops->release(instance);
  if (killer > 0) waitpid(killer, NULL, 0);
  free(errors);
  free(loss);
  ep_case_destroy(test);
  spread_close(&s, true);
}
END_TEST

START_TEST(a_program_is_the_same_on_the_other_side) {
  for (int i = 0; i < ep_case_count(); i++) {
    ep_case *test = ep_case_create_number(i);
    const void *part[EP_PROGRAM_PARTS];
    size_t count[EP_PROGRAM_PARTS], sum = 0, at = 0;
    ep_program_parts(&test->program, part, count);
    for (int p = 0; p < EP_PROGRAM_PARTS; p++) sum += count[p];
    char *bytes = malloc(sum + 8);
    ck_assert_ptr_nonnull(bytes);
    for (int p = 0; p < EP_PROGRAM_PARTS; at += count[p++])
      if (count[p] > 0) memcpy(bytes + at, part[p], count[p]);
    ep_program *program = NULL;
    ck_assert_int_eq(ep_program_unpack(bytes, sum + 8, &program, NULL), EP_MALFORMED);
    ck_assert_int_eq(ep_program_unpack(bytes, sum - 1, &program, NULL), EP_MALFORMED);
    ck_assert_int_eq(ep_program_unpack(bytes, 8, &program, NULL), EP_MALFORMED);
    bytes[offsetof(ep_program, shuffle)] ^= 2;
    ck_assert_int_eq(ep_program_unpack(bytes, sum, &program, NULL), EP_MALFORMED);
    bytes[offsetof(ep_program, shuffle)] ^= 2;
    ck_assert_int_eq(ep_program_unpack(bytes, sum, &program, NULL), EP_OK);
    ck_assert_int_eq(program->ops_count, test->program.ops_count);
    ck_assert(memcmp(program->ops, test->program.ops, count[1]) == 0);
    ck_assert(!program->class_weights == !test->program.class_weights);
    free(bytes);
    ep_case_destroy(test);
  }
}
END_TEST

EP_SUITE("cpu_nodes") {
  TCase *tests = ep_suite_case(suite, "nodes");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, a_training_has_the_same_bits_on_several_nodes, 0, GRIDS);
  tcase_add_loop_test(tests, every_case_has_the_same_bits_on_several_nodes, 0, GRIDS);
  tcase_add_loop_test(tests, norms_have_the_same_bits_on_several_nodes, 0, GRIDS);
  tcase_add_test(tests, ranks_say_which_node_they_were_on);
  tcase_add_loop_test(tests, a_node_that_is_killed_fails_the_training, 0, 3);
  tcase_add_test(tests, a_program_is_the_same_on_the_other_side);
}
