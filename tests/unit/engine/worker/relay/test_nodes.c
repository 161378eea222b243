/* How the nodes of a training find each other: who is let in, who is not, and what is left. */
#include "engine/worker/relay/nodes.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/path.h"
#include "engine/worker/relay/connect.h"
#include "tests/suite.h"

static char folder[64], file[EP_PATH_BYTES];
static ep_connection connection; /* as epochd's gateway wrote it */
static ep_connection found;      /* as the first node's relay wrote it */
static ep_relay_nodes nodes;
static ep_status gathered;
static ep_error gather_error;
static pthread_t gatherer;
static int signals;

/* The last call of poll by another thread than the test's, seen by the linker's --wrap. */
static pthread_t tester;
static struct {
  pthread_t thread;
  struct pollfd polled[2];
  nfds_t count;
  int timeout_ms;
  bool waits;
} call;
static pthread_mutex_t call_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards `call` */
int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
  if (pthread_equal(pthread_self(), tester) || count > sizeof call.polled / sizeof *call.polled)
    return __real_poll(polled, count, timeout_ms);
  pthread_mutex_lock(&call_mutex);
  call.thread = pthread_self();
  memcpy(call.polled, polled, count * sizeof *polled);
  call.count = count;
  call.timeout_ms = timeout_ms;
  call.waits = true;
  pthread_mutex_unlock(&call_mutex);
  int ready = __real_poll(polled, count, timeout_ms);
  pthread_mutex_lock(&call_mutex);
  call.waits = false;
  pthread_mutex_unlock(&call_mutex);
  return ready;
}

static void *gather(void *context) {
  gathered = ep_relay_nodes_gather(&nodes, &connection, *(const int *)context, folder, signals,
                                   &gather_error);
  return NULL;
}

static void file_await(void) {
  char text[EP_CONNECTION_BYTES];
  FILE *opened;
  while (!(opened = fopen(file, "r"))) usleep(1000);
  text[fread(text, 1, sizeof text - 1, opened)] = 0;
  fclose(opened);
  ck_assert_int_eq(ep_connection_parse(text, &found, NULL), EP_OK);
}

static void begin(int wanted) {
  static int count;
  count = wanted;
  ck_assert_int_eq(pthread_create(&gatherer, NULL, gather, &count), 0);
  file_await();
}

static void setup(void) {
  char path[EP_PATH_BYTES];
  tester = pthread_self();
  snprintf(folder, sizeof folder, "/tmp/epochd-nodes.XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(ep_path_join(path, NULL, folder, "workers", NULL), EP_OK);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  connection = (ep_connection){.address = "127.0.0.1:9", .worker = "wrk_1", .nodes = "2"};
  snprintf(connection.shared, sizeof connection.shared, "%s", folder);
  ck_assert_int_eq(ep_relay_nodes_file(&connection, file, sizeof file, NULL), EP_OK);
  nodes = EP_RELAY_NODES_NONE;
  signals = eventfd(0, EFD_NONBLOCK);
}

/* Nothing is left: no file with a secret, no certificate. */
static void teardown(void) {
  char path[EP_PATH_BYTES];
  ep_relay_nodes_close(&nodes);
  close(signals);
  ck_assert_int_eq(ep_path_join(path, NULL, folder, "workers", NULL), EP_OK);
  ck_assert_int_eq(rmdir(path), 0);
  ck_assert_int_eq(rmdir(folder), 0);
}

static ep_channel *channel_open(const char *pin) {
  ep_channel *channel = NULL;
  int socket = -1;
  ck_assert_int_eq(ep_relay_connect(found.address, &socket, NULL), EP_OK);
  ck_assert_int_eq(ep_channel_connect(socket, pin, &channel, NULL), EP_OK);
  ep_channel_trust(channel);
  return channel;
}

static ep_record_hello good(void) {
  ep_record_hello hello = {.first = 1};
  memcpy(hello.magic, EP_RECORD_MAGIC, sizeof hello.magic);
  memcpy(hello.version, EP_VERSION, sizeof EP_VERSION);
  memcpy(hello.worker, found.worker, sizeof found.worker);
  memcpy(hello.secret, found.secret, sizeof found.secret);
  memcpy(hello.node, "n2", 3);
  return hello;
}

/* Pumps until a record lies there. */
static ep_status record_await(ep_channel *channel, ep_record *record) {
  while (!ep_channel_peek(channel, record)) {
    struct pollfd polled = {.fd = ep_channel_socket(channel),
                            .events = ep_channel_events(channel, true)};
    poll(&polled, 1, 100);
    ep_status status = ep_channel_pump(channel, true, NULL);
    if (status != EP_OK && !ep_channel_peek(channel, record)) return status;
  }
  return EP_OK;
}

static ep_record_kind reply_to(ep_channel *channel, const ep_record_hello *hello) {
  ep_record record;
  ck_assert_int_eq(ep_channel_put(channel, EP_RECORD_HELLO, 0, hello, sizeof *hello, NULL, 0, NULL),
                   EP_OK);
  ck_assert_int_eq(record_await(channel, &record), EP_OK);
  ep_record_kind kind = record.kind;
  ep_channel_drop(channel);
  return kind;
}

static ep_channel *join(void) {
  ep_channel *channel = channel_open(found.pin);
  const ep_record_hello hello = good();
  ck_assert_int_eq(reply_to(channel, &hello), EP_RECORD_JOINED);
  return channel;
}

static void gathered_await(void) {
  pthread_join(gatherer, NULL);
  ck_assert_msg(gathered == EP_OK, "%s", gather_error.message);
}

START_TEST(a_node_joins_and_its_bytes_arrive) {
  enum { BYTES = 3 << 20 };
  struct stat state;
  ep_record record;
  int socket;
  begin(1);
  ck_assert_int_eq(stat(file, &state), 0);
  ck_assert_int_eq(state.st_mode & 0777, 0600);
  ep_channel *channel = join();
  gathered_await();
  ck_assert_int_eq(nodes.count, 1);
  ck_assert_str_eq(nodes.node[0].name, "n2");
  ck_assert_int_ne(access(file, F_OK), 0); /* the file and the port are gone */
  ck_assert_int_ne(ep_relay_connect(found.address, &socket, NULL), EP_OK);
  const int worker = dup(nodes.node[0].inner); /* the worker's copy */
  ck_assert_int_eq(ep_relay_nodes_start(&nodes, NULL), EP_OK);
  ck_assert_int_eq(ep_channel_put(channel, EP_RECORD_DATA, 0, "forward", 7, NULL, 0, NULL), EP_OK);
  ck_assert_int_eq(ep_channel_pump(channel, false, NULL), EP_OK);
  char text[8] = "";
  ck_assert_int_eq(read(worker, text, 7), 7);
  ck_assert_str_eq(text, "forward");
  char *bytes = malloc(BYTES);
  ck_assert_ptr_nonnull(bytes);
  for (int i = 0; i < BYTES; i++) bytes[i] = (char)(i % 251);
  ck_assert_int_eq(fcntl(worker, F_SETFL, O_NONBLOCK), 0);
  for (size_t sent = 0, got = 0; got < BYTES;) { /* more than any buffer between them holds */
    ssize_t more = sent < BYTES ? write(worker, bytes + sent, BYTES - sent) : 0;
    if (more > 0) sent += (size_t)more;
    ck_assert_int_eq(record_await(channel, &record), EP_OK);
    ck_assert_int_eq(record.kind, EP_RECORD_DATA);
    ck_assert(memcmp(record.payload, bytes + got, record.bytes) == 0);
    got += record.bytes;
    ep_channel_drop(channel);
  }
  ep_channel_close(channel); /* the node is lost: it is noted, with its name */
  struct pollfd noted = {.fd = nodes.note, .events = POLLIN};
  ck_assert_int_eq(poll(&noted, 1, 10000), 1);
  char cause[EP_MESSAGE_BYTES];
  ep_relay_nodes_lost(&nodes, cause, sizeof cause);
  ck_assert_ptr_nonnull(strstr(cause, "node n2 of the training is lost"));
  while (read(worker, text, sizeof text) > 0) continue; /* and the worker's socket ends */
  close(worker);
  free(bytes);
}
END_TEST

/* The thread waits in its last call of poll, nothing ends that wait, and it waits for `wanted` of
 * the worker's socket: POLLOUT = the worker does not read, 0 = the node does not, -1 = either. */
static bool rests(pthread_t bridge, int wanted) {
  pthread_mutex_lock(&call_mutex);
  const struct pollfd *inner = &call.polled[1];
  bool rests_ = call.waits && pthread_equal(call.thread, bridge) && call.timeout_ms == -1 &&
                __real_poll(call.polled, call.count, 0) == 0;
  if (wanted == 0) rests_ = rests_ && inner->fd == -1;
  if (wanted > 0) rests_ = rests_ && inner->fd != -1 && (inner->events & wanted);
  pthread_mutex_unlock(&call_mutex);
  return rests_;
}

static void rest_await(pthread_t bridge) {
  while (!rests(bridge, -1)) usleep(1000);
}

/* The worker ends while the node does not read: the bridge waits, and all of it arrives at last. */
START_TEST(a_node_that_hangs_costs_no_processor) {
  static const char bytes[1 << 16];
  const int little = 1 << 16;
  ep_record record;
  size_t sent = 0, got = 0;
  begin(1);
  ep_channel *channel = join();
  setsockopt(ep_channel_socket(channel), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
  gathered_await();
  const int worker = dup(nodes.node[0].inner);
  ck_assert_int_eq(fcntl(worker, F_SETFL, O_NONBLOCK), 0);
  ck_assert_int_eq(ep_relay_nodes_start(&nodes, NULL), EP_OK);
  for (bool full = false; !full || !rests(nodes.node[0].thread, 0);) {
    ssize_t more = write(worker, bytes, sizeof bytes);
    full = more < 0;
    if (full) usleep(1000);
    if (more > 0) sent += (size_t)more;
  }
  close(worker);
  rest_await(nodes.node[0].thread);
  while (record_await(channel, &record) == EP_OK) {
    got += record.bytes;
    ep_channel_drop(channel);
  }
  ck_assert_uint_eq(got, sent);
  ep_channel_close(channel);
}
END_TEST

/* The node is lost while the worker does not read. */
START_TEST(a_worker_that_hangs_costs_no_processor) {
  static const char bytes[1 << 16];
  const struct linger at_once = {.l_onoff = 1};
  char read_[1 << 16];
  begin(1);
  ep_channel *channel = join();
  gathered_await();
  const int worker = dup(nodes.node[0].inner);
  ck_assert_int_eq(ep_relay_nodes_start(&nodes, NULL), EP_OK);
  for (int i = 0; i < 64; i++) {
    ck_assert_int_eq(ep_channel_put(channel, EP_RECORD_DATA, 0, bytes, sizeof bytes, NULL, 0, NULL),
                     EP_OK);
  }
  while (!rests(nodes.node[0].thread, POLLOUT)) {
    ck_assert_int_eq(ep_channel_pump(channel, false, NULL), EP_OK);
    usleep(1000);
  }
  setsockopt(ep_channel_socket(channel), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ep_channel_close(channel);
  struct pollfd reset = {.fd = ep_channel_socket(nodes.node[0].channel)};
  ck_assert_int_eq(poll(&reset, 1, 10000), 1); /* the bridge's side has it */
  rest_await(nodes.node[0].thread);
  while (read(worker, read_, sizeof read_) > 0) continue;
  struct pollfd noted = {.fd = nodes.note, .events = POLLIN};
  ck_assert_int_eq(poll(&noted, 1, 10000), 1);
  close(worker);
}
END_TEST

START_TEST(a_stranger_is_not_let_in) {
  begin(1);
  for (int fault = 0; fault < 4; fault++) {
    ep_record_hello hello = good();
    if (fault == 0) hello.secret[0] = hello.secret[0] == '0' ? '1' : '0';
    if (fault == 1) hello.secret[EP_SHA256_HEX_BYTES - 2] ^= 1;
    if (fault == 2) memcpy(hello.worker, "wrk_2", 6);
    if (fault == 3) memcpy(hello.version, "9.9.9", 6);
    ep_channel *channel = channel_open(found.pin);
    ck_assert_int_eq(reply_to(channel, &hello), EP_RECORD_REFUSED);
    ep_channel_close(channel);
  }
  ep_channel *channel = join();
  gathered_await();
  ck_assert_int_eq(nodes.refused, 4);
  ep_channel_close(channel);
}
END_TEST

/* Nobody waits for one who says nothing, or no TLS. */
START_TEST(a_stranger_is_silent) {
  int silent, noisy;
  begin(2);
  ck_assert_int_eq(ep_relay_connect(found.address, &silent, NULL), EP_OK);
  ck_assert_int_eq(ep_relay_connect(found.address, &noisy, NULL), EP_OK);
  ck_assert_int_eq(write(noisy, "GET / HTTP/1.1\r\n\r\n", 18), 18);
  ep_channel *one = join(), *two = join();
  gathered_await();
  ck_assert_int_eq(nodes.count, 2);
  ep_channel_close(one);
  ep_channel_close(two);
  close(silent);
  close(noisy);
}
END_TEST

START_TEST(another_certificate_is_not_joined) {
  ep_record record;
  char pin[EP_SHA256_HEX_BYTES];
  begin(1);
  memcpy(pin, found.pin, sizeof pin);
  pin[0] = pin[0] == '0' ? '1' : '0';
  ep_channel *channel = channel_open(pin);
  ck_assert_int_eq(record_await(channel, &record), EP_FORBIDDEN);
  ep_channel_close(channel);
  channel = join();
  gathered_await();
  ep_channel_close(channel);
}
END_TEST

START_TEST(a_relay_that_is_told_to_end_waits_for_no_node) {
  const uint64_t one = 1;
  begin(1);
  ck_assert_int_eq(write(signals, &one, sizeof one), sizeof one);
  pthread_join(gatherer, NULL);
  ck_assert_int_eq(gathered, EP_CANCELLED);
  ck_assert_int_ne(access(file, F_OK), 0);
}
END_TEST

START_TEST(without_a_shared_folder_nodes_do_not_meet) {
  connection.shared[0] = 0;
  ck_assert_int_eq(ep_relay_nodes_gather(&nodes, &connection, 1, folder, signals, NULL),
                   EP_INVALID);
  ck_assert_int_eq(
      ep_relay_nodes_gather(&nodes, &connection, EP_LIMIT_RANKS, folder, signals, NULL),
      EP_INVALID);
}
END_TEST

EP_SUITE("nodes") {
  TCase *tests = ep_suite_case(suite, "nodes");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 30);
  tcase_add_test(tests, a_node_joins_and_its_bytes_arrive);
  tcase_add_test(tests, a_node_that_hangs_costs_no_processor);
  tcase_add_test(tests, a_worker_that_hangs_costs_no_processor);
  tcase_add_test(tests, a_stranger_is_not_let_in);
  tcase_add_test(tests, a_stranger_is_silent);
  tcase_add_test(tests, another_certificate_is_not_joined);
  tcase_add_test(tests, a_relay_that_is_told_to_end_waits_for_no_node);
  tcase_add_test(tests, without_a_shared_folder_nodes_do_not_meet);
}
