#include "engine/worker/relay/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/endpoint.h"
#include "api/secret.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"
#include "engine/worker/relay/bridge.h"
#include "engine/worker/relay/clock.h"
#include "engine/worker/relay/connect.h"

enum {
  GATHER_MS = 90000,   /* until all nodes are there: srun takes seconds on a busy cluster */
  GREETING_MS = 10000, /* of one connection */
  STRANGERS = 16       /* connections at once that have not proved themselves */
};

/* A connection that has not said who it is. */
typedef struct {
  ep_channel *channel; /* NULL = none */
  int64_t until_ms;
} stranger;

typedef struct {
  ep_relay_nodes *nodes;
  const ep_connection *connection; /* of the file */
  ep_certificate *certificate;
  int listener, wanted;
  stranger stranger[STRANGERS];
} gathering;

/* --- where, and with which secret ------------------------------------------------------------ */

ep_status ep_relay_nodes_file(const ep_connection *connection, char *path, size_t bytes,
                              ep_error *error) {
  int length = snprintf(path, bytes, "%s/workers/%s.nodes", connection->shared, connection->worker);
  if (connection->shared[0] && length >= 0 && (size_t)length < bytes) return EP_OK;
  return ep_fail(error, EP_INVALID, "several nodes require a shared folder");
}

/* Written whole or not at all: who waits for it reads it at once. */
static ep_status file_write(const char *path, const ep_connection *connection, ep_error *error) {
  char text[EP_CONNECTION_BYTES], fresh[EP_PATH_BYTES];
  ep_status status = ep_connection_format(connection, text, error);
  int length = snprintf(fresh, sizeof fresh, "%s.new", path);
  if (status == EP_OK && (length < 0 || (size_t)length >= sizeof fresh))
    status = ep_fail(error, EP_TOO_LARGE, "the shared folder's name is too long");
  if (status != EP_OK) return status;
  int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", fresh, strerror(errno));
  status = ep_file_write_all(file, text, strlen(text), error);
  if (close(file) != 0 && status == EP_OK)
    status = ep_fail(error, EP_IO, "%s: %s", fresh, strerror(errno));
  if (status == EP_OK && rename(fresh, path) != 0)
    status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  if (status != EP_OK) unlink(fresh);
  explicit_bzero(text, sizeof text);
  return status;
}

/* Listens at the address by which this node reaches epochd: others of the cluster reach it there.
 */
static ep_status listener_open(const ep_connection *connection, int *out,
                               char address[sizeof connection->address], ep_error *error) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  struct sockaddr_storage here;
  socklen_t length = sizeof here;
  ep_status status = ep_relay_address(connection->address, &here, &length, error);
  if (status != EP_OK) return status;
  int listener = socket(here.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool open = listener >= 0 && bind(listener, (struct sockaddr *)&here, length) == 0 &&
              listen(listener, EP_LIMIT_RANKS) == 0 &&
              getsockname(listener, (struct sockaddr *)&here, &length) == 0 &&
              getnameinfo((struct sockaddr *)&here, length, host, sizeof host, port, sizeof port,
                          NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  if (!open) {
    status = ep_fail(error, EP_IO, "no port for the other nodes: %s", strerror(errno));
    if (listener >= 0) close(listener);
    return status;
  }
  ep_endpoint_join(host, (int)strtol(port, NULL, 10), address, sizeof connection->address);
  *out = listener;
  return EP_OK;
}

/* --- who comes ------------------------------------------------------------------------------- */

static void stranger_drop(gathering *g, stranger *who, const char *why) {
  if (why) {
    g->nodes->refused++;
    fprintf(stderr, "epoch-worker: a connection to the nodes is refused: %s\n", why);
  }
  ep_channel_close(who->channel);
  who->channel = NULL;
}

/* As long for one wrong digit as for all. */
static bool same_secret(const char *a, const char *b) {
  unsigned char differ = 0;
  for (int i = 0; i < EP_SHA256_HEX_BYTES - 1; i++) differ |= (unsigned char)(a[i] ^ b[i]);
  return differ == 0;
}

static const char *hello_check(const gathering *g, const ep_record_hello *hello) {
  const char version[sizeof hello->version] = EP_VERSION;
  if (memcmp(hello->version, version, sizeof version) != 0) return "it is of another version";
  if (strcmp(hello->worker, g->connection->worker) != 0) return "it is of another worker";
  if (!same_secret(hello->secret, g->connection->secret)) return "its secret is wrong";
  return NULL;
}

static ep_status node_add(gathering *g, stranger *who, const char *name, ep_error *error) {
  ep_relay_nodes *nodes = g->nodes;
  ep_relay_node *node = &nodes->node[nodes->count];
  int pair[2];
  *node = (ep_relay_node){.inner = -1, .outer = -1, .note = nodes->note};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
      fcntl(pair[1], F_SETFL, O_NONBLOCK) != 0)
    return ep_fail(error, EP_IO, "no socket for a node: %s", strerror(errno));
  node->inner = pair[0];
  node->outer = pair[1];
  node->channel = who->channel;
  snprintf(node->name, sizeof node->name, "%s", name);
  who->channel = NULL;
  nodes->count++;
  fprintf(stderr, "epoch-worker: node %d of %d is %s\n", nodes->count, g->wanted, node->name);
  ep_status status = ep_channel_put(node->channel, EP_RECORD_JOINED, 0, NULL, 0, NULL, 0, error);
  return status == EP_OK ? ep_channel_pump(node->channel, false, error) : status;
}

static ep_status stranger_hear(gathering *g, stranger *who, ep_error *error) {
  ep_record record;
  ep_record_hello hello;
  ep_error why = {0};
  if (ep_channel_pump(who->channel, true, &why) != EP_OK) {
    stranger_drop(g, who, why.message);
    return EP_OK;
  }
  if (!ep_channel_peek(who->channel, &record)) return EP_OK;
  const char *fault = NULL;
  if (record.kind != EP_RECORD_HELLO || ep_record_hello_read(&record, &hello, &why) != EP_OK)
    fault = "it did not identify itself";
  else
    fault = hello_check(g, &hello);
  ep_channel_drop(who->channel);
  if (!fault) {
    ep_channel_trust(who->channel);
    return node_add(g, who, hello.node, error);
  }
  ep_channel_put(who->channel, EP_RECORD_REFUSED, 0, fault, strlen(fault), NULL, 0, NULL);
  ep_channel_pump(who->channel, false, NULL);
  stranger_drop(g, who, fault);
  return EP_OK;
}

/* One more than there is room for waits in the listener's queue. */
static void stranger_accept(gathering *g) {
  for (int i = 0; i < STRANGERS; i++) {
    if (g->stranger[i].channel) continue;
    int socket = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0) return;
    g->stranger[i].until_ms = ep_relay_now_ms() + GREETING_MS;
    if (ep_channel_listen(socket, g->certificate, &g->stranger[i].channel, NULL) != EP_OK)
      close(socket);
  }
}

static ep_status round_make(gathering *g, int signals, ep_error *error) {
  struct pollfd polled[STRANGERS + 2] = {{.fd = signals, .events = POLLIN},
                                         {.fd = -1, .events = POLLIN}};
  enum { LOOK_MS = 500 };
  for (int i = 0; i < STRANGERS; i++) {
    const ep_channel *channel = g->stranger[i].channel;
    polled[i + 2].fd = channel ? ep_channel_socket(channel) : -1;
    polled[i + 2].events = channel ? ep_channel_events(channel, true) : 0;
    if (!channel) polled[1].fd = g->listener;
  }
  if (poll(polled, STRANGERS + 2, LOOK_MS) < 0 && errno != EINTR)
    return ep_fail(error, EP_IO, "poll: %s", strerror(errno));
  if (polled[0].revents) return ep_fail(error, EP_CANCELLED, "told to end");
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < STRANGERS && g->nodes->count < g->wanted; i++) {
    stranger *who = &g->stranger[i];
    if (who->channel) status = stranger_hear(g, who, error);
    if (who->channel && ep_relay_now_ms() >= who->until_ms)
      stranger_drop(g, who, "no greeting came");
  }
  if (polled[1].revents) stranger_accept(g);
  return status;
}

static ep_status nodes_await(gathering *g, int signals, ep_error *error) {
  const int64_t until_ms = ep_relay_now_ms() + GATHER_MS;
  ep_status status = EP_OK;
  while (status == EP_OK && g->nodes->count < g->wanted) {
    if (ep_relay_now_ms() >= until_ms)
      return ep_fail(error, EP_UNAVAILABLE,
                     "%d of %d other nodes have come in %d s: see the output of their processes",
                     g->nodes->count, g->wanted, GATHER_MS / 1000);
    status = round_make(g, signals, error);
  }
  return status;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Of a process that has nothing else in the folder. */
static void certificate_remove(const char *folder) {
  static const char *const names[] = {"certificate.pem", "key.pem"};
  char path[EP_PATH_BYTES];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (ep_path_join(path, NULL, folder, names[i], NULL) == EP_OK) unlink(path);
}

static ep_status gather(gathering *g, const ep_connection *connection, const char *folder,
                        int signals, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_connection file = *connection;
  snprintf(file.device, sizeof file.device, "cpu");
  g->connection = &file;
  ep_status status = ep_relay_nodes_file(connection, path, sizeof path, error);
  if (status == EP_OK) status = ep_certificate_open(folder, &g->certificate, error);
  if (status == EP_OK) status = ep_certificate_pin(g->certificate, file.pin, error);
  if (status == EP_OK) status = ep_secret_make(file.secret, EP_SECRET_RANDOM_BYTES, error);
  if (status == EP_OK) status = listener_open(connection, &g->listener, file.address, error);
  if (status == EP_OK) status = file_write(path, &file, error);
  if (status == EP_OK) {
    status = nodes_await(g, signals, error);
    unlink(path);
  }
  if (g->listener >= 0) close(g->listener);
  for (int i = 0; i < STRANGERS; i++)
    if (g->stranger[i].channel) stranger_drop(g, &g->stranger[i], NULL);
  ep_certificate_close(g->certificate);
  certificate_remove(folder);
  explicit_bzero(file.secret, sizeof file.secret);
  return status;
}

ep_status ep_relay_nodes_gather(ep_relay_nodes *nodes, const ep_connection *connection, int count,
                                const char *folder, int signals, ep_error *error) {
  gathering g = {.nodes = nodes, .listener = -1, .wanted = count};
  if (count < 1 || count >= EP_LIMIT_RANKS)
    return ep_fail(error, EP_INVALID, "a training has 1 to %d nodes", EP_LIMIT_RANKS);
  nodes->note = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (nodes->note < 0) return ep_fail(error, EP_IO, "no event: %s", strerror(errno));
  return gather(&g, connection, folder, signals, error);
}

static void *node_bridge(void *context) {
  ep_relay_node *node = context;
  const uint64_t one = 1;
  if (ep_bridge_run(node->channel, node->outer, &node->why)) {
    atomic_store(&node->lost, true);
    /* Noted before the worker sees the end of its socket, so that this is the cause. */
    if (write(node->note, &one, sizeof one) < 0)
      fprintf(stderr, "epoch-worker: %s is lost\n", node->name);
  }
  shutdown(node->outer, SHUT_RDWR);
  shutdown(ep_channel_socket(node->channel), SHUT_RDWR);
  return NULL;
}

ep_status ep_relay_nodes_start(ep_relay_nodes *nodes, ep_error *error) {
  sigset_t all, before;
  int failed = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; failed == 0 && i < nodes->count; i++) {
    ep_relay_node *node = &nodes->node[i];
    close(node->inner);
    node->inner = -1;
    failed = pthread_create(&node->thread, NULL, node_bridge, node);
    node->threaded = failed == 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed == 0) return EP_OK;
  return ep_fail(error, EP_IO, "no threads for %d nodes: %s", nodes->count, strerror(failed));
}

void ep_relay_nodes_lost(const ep_relay_nodes *nodes, char *text, size_t bytes) {
  snprintf(text, bytes, "a node of the training is lost");
  for (int i = 0; i < nodes->count; i++)
    if (atomic_load(&nodes->node[i].lost)) {
      snprintf(text, bytes, "node %s of the training is lost: %.300s", nodes->node[i].name,
               nodes->node[i].why.message);
      return;
    }
}

void ep_relay_nodes_close(ep_relay_nodes *nodes) {
  for (int i = 0; i < nodes->count; i++) {
    ep_relay_node *node = &nodes->node[i];
    if (node->inner >= 0) close(node->inner);
    shutdown(node->outer, SHUT_RDWR);
    shutdown(ep_channel_socket(node->channel), SHUT_RDWR); /* which may hang, with a full pipe */
    if (node->threaded) pthread_join(node->thread, NULL);
    close(node->outer);
    ep_channel_close(node->channel);
  }
  if (nodes->note >= 0) close(nodes->note);
  *nodes = EP_RELAY_NODES_NONE;
}
