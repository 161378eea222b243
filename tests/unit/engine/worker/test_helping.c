/* A worker that helps with another one's sweep, as epochd sees it at the other end of its socket:
 * it can be called back at any time, and what it cannot say is no silence. */
#include "engine/worker/helping.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/worker/device.h"
#include "tests/suite.h"

#define SWEEP                                                                                 \
  "{\"job\":{\"data\":{\"generator\":\"disc\",\"rows\":60,\"validation\":0.25},\"model\":{"   \
  "\"layers\":[{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"bce_with_logits\","      \
  "\"batch_size\":16,\"epochs\":2},\"space\":{\"/optimizer/lr\":{\"log_uniform\":[0.01,1]}}," \
  "\"max_trials\":8}"

enum { FRAME_BYTES = 1 << 16, PATIENCE_MS = 20000 };

static ep_backend *backend;
static ep_link link_;
static ep_helping helping;
static int epochd;           /* the other end */
static bool short_of_memory; /* for frames with points or results */

uint8_t *__real_ep_points_encode(const ep_points *points, ep_frame_kind kind, size_t *bytes);
uint8_t *__wrap_ep_points_encode(const ep_points *points, ep_frame_kind kind, size_t *bytes);
uint8_t *__wrap_ep_points_encode(const ep_points *points, ep_frame_kind kind, size_t *bytes) {
  return short_of_memory && points->count > 0 ? NULL : __real_ep_points_encode(points, kind, bytes);
}

void ep_device_give_up(const char *when, const char *message) {
  fprintf(stderr, "%s: %s\n", when, message);
  abort();
}

static void setup(void) {
  int ends[2];
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ep_link_init(&link_, ends[0]);
  epochd = ends[1];
  short_of_memory = false;
  helping = (ep_helping){
      .link = &link_,
      .data_dir = "/nowhere",
      .shared = {.backend_ops = ep_backend_cpu(), .backend = backend, .device = "cpu"}};
}

static void teardown(void) {
  ep_helping_end(&helping, 0);
  ep_help_await(ep_helping_take(&helping), NULL, NULL);
  close(epochd);
  close(link_.socket);
  ep_backend_cpu()->close(backend);
}

static void help_begin(uint64_t lease) {
  ep_command command = {
      .kind = EP_COMMAND_HELP, .attempt = 1, .lease = lease, .spec = strdup(SWEEP), .job = "swp_a"};
  ck_assert_int_eq(ep_helping_begin(&helping, &command, NULL), EP_OK);
}

static void bytes_read(void *to, size_t count) {
  for (size_t got = 0; got < count;) {
    struct pollfd polled = {.fd = epochd, .events = POLLIN};
    ck_assert_int_eq(poll(&polled, 1, PATIENCE_MS), 1);
    ssize_t more = read(epochd, (char *)to + got, count - got);
    ck_assert_int_gt(more, 0);
    got += (size_t)more;
  }
}

static size_t frame_read(ep_frame_kind *kind, uint8_t *payload) {
  uint8_t header[EP_FRAME_HEADER_BYTES];
  size_t bytes;
  bytes_read(header, sizeof header);
  ck_assert_int_eq(ep_frame_header(header, kind, &bytes, NULL), EP_OK);
  ck_assert_uint_le(bytes, FRAME_BYTES);
  bytes_read(payload, bytes);
  return bytes;
}

static _Alignas(8) uint8_t payload[FRAME_BYTES];

/* What the help with the lease says first of all. */
static void ready_await(uint64_t lease) {
  ep_frame_kind kind;
  ep_points said;
  do {
    size_t bytes = frame_read(&kind, payload);
    ck_assert_int_eq(kind, EP_FRAME_RESULTS);
    ck_assert_int_eq(ep_points_decode(kind, payload, bytes, &said, NULL), EP_OK);
  } while (said.lease != lease);
  ck_assert_int_gt(said.slots, 0);
}

/* Behind signs of life, and no results. */
static ep_reply reply_await(void) {
  ep_frame_kind kind;
  ep_reply reply;
  ep_points sign;
  size_t bytes;
  while ((bytes = frame_read(&kind, payload), kind == EP_FRAME_RESULTS)) {
    ck_assert_int_eq(ep_points_decode(kind, payload, bytes, &sign, NULL), EP_OK);
    ck_assert_uint_eq(sign.count, 0);
  }
  ck_assert_int_eq(kind, EP_FRAME_REPLY);
  ck_assert_int_eq(ep_reply_decode(payload, bytes, &reply, NULL), EP_OK);
  return reply;
}

/* So that whoever sends waits. Returns what it took. */
static size_t socket_fill(void) {
  static const char zeros[4096];
  size_t filled = 0;
  ssize_t sent;
  while ((sent = send(link_.socket, zeros, sizeof zeros, MSG_DONTWAIT)) > 0) filled += (size_t)sent;
  return filled;
}

static void socket_drain(size_t filled) {
  char bytes[4096];
  for (size_t part; filled > 0; filled -= part) {
    part = filled < sizeof bytes ? filled : sizeof bytes;
    bytes_read(bytes, part);
  }
}

START_TEST(one_that_is_at_work_is_called_back_at_once) {
  size_t filled = socket_fill();
  help_begin(1); /* waits for the socket, as it may for a disk */
  ck_assert(ep_helping_is_active(&helping));
  ep_helping_end(&helping, 7); /* another's */
  ck_assert_ptr_nonnull(helping.now);
  ep_helping_end(&helping, 1);
  ck_assert_ptr_null(helping.now);
  ck_assert(ep_helping_is_active(&helping)); /* its device is at work still */
  help_begin(2);
  help_begin(3); /* which waits for both */
  socket_drain(filled);
  ready_await(3);
}
END_TEST

static int signs;

static void sign(void *context) {
  ck_assert_ptr_eq(context, &signs);
  signs++;
}

START_TEST(a_training_waits_for_it) {
  help_begin(1);
  ready_await(1);
  ep_helping_end(&helping, 0);
  ep_help_await(ep_helping_take(&helping), sign, &signs);
  ck_assert(!ep_helping_is_active(&helping));
  help_begin(2); /* and it can help again */
  ready_await(2);
}
END_TEST

START_TEST(results_that_cannot_be_told_end_the_help) {
  const ep_trial_point point = {.number = 1, .point = {0.1}};
  const ep_points points = {.lease = 5, .count = 1, .points = &point};
  help_begin(5);
  ready_await(5);
  short_of_memory = true;
  ep_helping_add(&helping, &points);
  ep_reply reply = reply_await();
  ck_assert_int_eq(reply.kind, EP_REPLY_HELPED);
  ck_assert_uint_eq(reply.lease, 5);
  ck_assert_str_eq(reply.job, "swp_a");
  ck_assert_int_eq(reply.error.status, EP_NO_MEMORY);
  ep_reply_deinit(&reply);
}
END_TEST

/* Of a leader that was taken over: of no part, or of no number; before the help is ready, or then.
 */
START_TEST(points_that_no_sweep_has_end_the_help) {
  const ep_trial_point bad = {.number = 1, .part = _i / 2, .point = {_i / 2 ? 0.1 : NAN}};
  const ep_points points = {.lease = 5, .count = 1, .points = &bad};
  help_begin(5);
  if (_i % 2) ready_await(5);
  ep_helping_add(&helping, &points);
  ep_reply reply = reply_await();
  ck_assert_int_eq(reply.kind, EP_REPLY_HELPED);
  ck_assert_uint_eq(reply.lease, 5);
  ck_assert_int_eq(reply.error.status, EP_MALFORMED);
  ep_reply_deinit(&reply);
}
END_TEST

START_TEST(points_that_cannot_be_sent_end_the_loan) {
  const ep_command sweep = {.job = "swp_a", .attempt = 3};
  const ep_trial_point point = {.number = 1};
  ep_frame_kind kind;
  ep_points got;
  ck_assert_int_eq(ep_helping_send(&link_, &sweep, 9, &point, 1, NULL), EP_OK);
  size_t bytes = frame_read(&kind, payload);
  ck_assert_int_eq(kind, EP_FRAME_POINTS);
  ck_assert_int_eq(ep_points_decode(kind, payload, bytes, &got, NULL), EP_OK);
  short_of_memory = true;
  ck_assert_int_eq(ep_helping_send(&link_, &sweep, 9, &point, 1, NULL), EP_NO_MEMORY);
  ep_reply reply = reply_await();
  ck_assert_int_eq(reply.kind, EP_REPLY_HELPED);
  ck_assert_uint_eq(reply.lease, 9);
  ck_assert_int_eq(reply.attempt, 3);
  ck_assert_int_eq(reply.error.status, EP_NO_MEMORY);
  ep_reply_deinit(&reply);
}
END_TEST

EP_SUITE("engine/worker/helping") {
  TCase *tests = ep_suite_case(suite, "helping");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 30);
  tcase_add_test(tests, one_that_is_at_work_is_called_back_at_once);
  tcase_add_test(tests, a_training_waits_for_it);
  tcase_add_test(tests, results_that_cannot_be_told_end_the_help);
  tcase_add_loop_test(tests, points_that_no_sweep_has_end_the_help, 0, 4);
  tcase_add_test(tests, points_that_cannot_be_sent_end_the_loan);
}
