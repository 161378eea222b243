/* Predictions that wait are made together, and each gets its own answer. */
#include "engine/worker/replies.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/unit/engine/training/training_fixture.h"

/* FIRST_ROWS: an answer that no socket takes at once, so that the others wait behind it. */
enum { COLUMNS = 2, ROWS_MOST = 3, FIRST_ROWS = 100000, NETWORKS = 2, REQUESTS = 400 };

/* Two networks in a folder as a worker has it, what epochd has of the socket, and the answers. */
typedef struct {
  fixture network[NETWORKS];
  char data_dir[64];
  int socket;
  ep_link link;
  ep_replies answers;
} room;

static const char *const jobs[NETWORKS] = {"job_0000000000000000000000000a",
                                           "job_0000000000000000000000000b"};

static void room_open(room *r) {
  char path[PATH_MAX];
  int pair[2];
  ep_backend *backend;
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
  snprintf(r->data_dir, sizeof r->data_dir, "/tmp/epochd-replies-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(r->data_dir));
  snprintf(path, sizeof path, "%s/jobs", r->data_dir);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  for (int i = 0; i < NETWORKS; i++) {
    char spec[512];
    snprintf(spec, sizeof spec,
             "{\"data\":{\"inline\":{\"x\":[[0,0],[1,0],[0,1],[1,1]],\"y\":[1,3,-2,0]}},\"loss\":"
             "\"mse\",\"epochs\":5,\"seed\":%d,\"model\":{\"layers\":[{\"type\":\"linear\","
             "\"out_features\":40},{\"type\":\"relu\"},{\"type\":\"linear\",\"out_features\":1}]}}",
             i + 1);
    fixture_open(&r->network[i], spec, ep_backend_cpu(), backend);
    ep_job_result result = fixture_train(&r->network[i]);
    ck_assert_int_eq(result.status, EP_OK);
    ep_job_result_deinit(&result);
    snprintf(path, sizeof path, "%s/jobs/%s", r->data_dir, jobs[i]);
    ck_assert_int_eq(symlink(r->network[i].folder, path), 0);
  }
  ep_backend_cpu()->close(backend);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  r->socket = pair[0];
  ep_link_init(&r->link, pair[1]);
  ck_assert_int_eq(ep_replies_start(&r->answers, &r->link, r->data_dir, NULL), EP_OK);
}

/* epochd closes the socket when it ends: that is no failure of the worker. */
START_TEST(an_end_of_epochd_is_no_failure) {
  int pair[2];
  ep_link link;
  const ep_reply reply = {.kind = EP_REPLY_READY};
  signal(SIGPIPE, SIG_IGN);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  ep_link_init(&link, pair[1]);
  ck_assert_int_eq(ep_link_send_reply(&link, &reply, NULL), EP_OK);
  close(pair[0]);
  ck_assert_int_eq(ep_link_send_reply(&link, &reply, NULL), EP_CANCELLED);
  close(pair[1]);
}
END_TEST

/* The thread of the answers lives as long as the process: its sockets and its folder stay. */
static void room_close(room *r) {
  char path[PATH_MAX];
  for (int i = 0; i < NETWORKS; i++) {
    snprintf(path, sizeof path, "%s/jobs/%s", r->data_dir, jobs[i]);
    unlink(path);
    fixture_close(&r->network[i]);
  }
  snprintf(path, sizeof path, "%s/jobs", r->data_dir);
  rmdir(path);
  rmdir(r->data_dir);
}

static int network_of(int request) {
  return request % 7 == 0;
}

/* One in eleven has a row too wide. */
static int64_t columns_of(int request) {
  return request % 11 == 10 ? COLUMNS + 1 : COLUMNS;
}

static ep_command request_make(int request) {
  ep_command command = {.kind = EP_COMMAND_PREDICT,
                        .request = (uint64_t)request + 1,
                        .rows = request == 0 ? FIRST_ROWS : 1 + request % ROWS_MOST,
                        .columns = columns_of(request),
                        .windows = 1};
  snprintf(command.job, sizeof command.job, "%s", jobs[network_of(request)]);
  command.x = malloc((size_t)(command.rows * command.columns) * sizeof *command.x);
  ck_assert_ptr_nonnull(command.x);
  for (int64_t i = 0; i < command.rows * command.columns; i++)
    command.x[i] = (double)(request * 31 + i * 17) / 97;
  return command;
}

static void bytes_read(int socket, void *to, size_t bytes) {
  for (size_t got = 0; got < bytes;) {
    ssize_t count = read(socket, (char *)to + got, bytes - got);
    ck_assert_int_gt(count, 0);
    got += (size_t)count;
  }
}

static ep_reply reply_read(int socket) {
  uint8_t header[EP_FRAME_HEADER_BYTES];
  ep_frame_kind kind;
  size_t bytes;
  ep_reply reply = {0};
  bytes_read(socket, header, sizeof header);
  ck_assert_int_eq(ep_frame_header(header, &kind, &bytes, NULL), EP_OK);
  uint8_t *payload = malloc(bytes + 1);
  ck_assert_ptr_nonnull(payload);
  bytes_read(socket, payload, bytes);
  ck_assert_int_eq(ep_reply_decode(payload, bytes, &reply, NULL), EP_OK);
  free(payload);
  ck_assert_int_eq(reply.kind, EP_REPLY_PREDICTED);
  return reply;
}

/* The same rows, asked for alone, of a predictor of its own. */
static void reply_check(const room *r, ep_predictor *predictor, const ep_reply *reply) {
  int request = (int)reply->request - 1;
  ep_command command = request_make(request);
  char weights[PATH_MAX];
  double *output;
  int64_t columns;
  snprintf(weights, sizeof weights, "%s/weights.safetensors",
           r->network[network_of(request)].folder);
  ep_status status = ep_predictor_answer(predictor, weights, false, "", command.x, command.rows,
                                         command.columns, 1, &output, &columns, NULL);
  ck_assert_int_eq(reply->error.status, status);
  ck_assert_int_eq(status, columns_of(request) == COLUMNS ? EP_OK : EP_INVALID);
  if (status == EP_OK) {
    ck_assert_int_eq(reply->rows, command.rows);
    ck_assert_int_eq(reply->columns, columns);
    ck_assert_mem_eq(reply->output, output, (size_t)(command.rows * columns) * sizeof *output);
  }
  free(output);
  ep_command_deinit(&command);
}

START_TEST(each_gets_its_own_answer) {
  static room r;
  static bool answered[REQUESTS];
  ep_predictor *predictor;
  room_open(&r);
  ck_assert_int_eq(ep_predictor_create(&predictor, NULL), EP_OK);
  for (int i = 0; i < REQUESTS; i++) {
    ep_command command = request_make(i);
    ck_assert_int_eq(ep_replies_take(&r.answers, &command, NULL), EP_OK);
  }
  for (int i = 0; i < REQUESTS; i++) {
    ep_reply reply = reply_read(r.socket);
    ck_assert(reply.request >= 1 && reply.request <= REQUESTS && !answered[reply.request - 1]);
    answered[reply.request - 1] = true;
    reply_check(&r, predictor, &reply);
    ep_reply_deinit(&reply);
  }
  ck_assert_int_gt(r.answers.joined_calls, 0);
  ep_predictor_destroy(predictor);
  room_close(&r);
}
END_TEST

/* Without the thread, nothing leaves the queue. rows: of each request; fit: how many may wait. */
static void queue_check(int64_t rows, int fit) {
  int pair[2];
  ep_link link;
  ep_replies answers = {.link = &link, .queue = calloc(EP_REPLIES_WAITING, sizeof(ep_command))};
  ck_assert_ptr_nonnull(answers.queue);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  ep_link_init(&link, pair[1]);
  pthread_mutex_init(&answers.mutex, NULL);
  pthread_cond_init(&answers.filled, NULL);
  for (int i = 0; i <= fit; i++) {
    ep_command command = {
        .kind = EP_COMMAND_PREDICT, .request = 1, .rows = rows, .columns = 1, .windows = 1};
    snprintf(command.job, sizeof command.job, "%s", jobs[0]);
    command.x = malloc((size_t)rows * sizeof *command.x);
    ck_assert_ptr_nonnull(command.x);
    ck_assert_int_eq(ep_replies_take(&answers, &command, NULL), EP_OK);
  }
  ck_assert_int_eq(answers.count, fit);
  ep_reply reply = reply_read(pair[0]);
  ck_assert_int_eq(reply.error.status, EP_BUSY);
  ep_reply_deinit(&reply);
  for (int i = 0; i < fit; i++) ep_command_deinit(&answers.queue[i]);
  free(answers.queue);
  close(pair[0]);
  close(pair[1]);
}

START_TEST(more_than_may_wait_are_refused) {
  enum { LARGE_ROWS = EP_LIMIT_PREDICT_BYTES / sizeof(double) };
  queue_check(1, EP_REPLIES_WAITING);
  queue_check(LARGE_ROWS, EP_LIMIT_FRAMES_BYTES / EP_LIMIT_PREDICT_BYTES);
}
END_TEST

EP_SUITE("replies") {
  TCase *tests = ep_suite_case(suite, "replies");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, each_gets_its_own_answer);
  tcase_add_test(tests, an_end_of_epochd_is_no_failure);
  tcase_add_test(tests, more_than_may_wait_are_refused);
}
