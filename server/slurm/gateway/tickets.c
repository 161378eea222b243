#include "server/slurm/gateway/tickets.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "api/secret.h"
#include "engine/files/durable_file.h"
#include "server/process/clock.h"
#include "server/process/log.h"

enum { NAME_BYTES = 10, LINE_BYTES = 512 + 5 * EP_SLURM_NAME_BYTES };

/* A word of the list; "-" stands for none. */
static bool word_read(char **rest, char *to, size_t bytes) {
  const char *word = strsep(rest, " ");
  if (!word || !word[0] || strlen(word) >= bytes) return false;
  snprintf(to, bytes, "%s", strcmp(word, "-") == 0 ? "" : word);
  return true;
}

static bool number_read(char **rest, int64_t *to) {
  const char *word = strsep(rest, " ");
  char *end = NULL;
  if (!word || !word[0]) return false;
  errno = 0;
  *to = strtoll(word, &end, 10);
  return errno == 0 && *end == 0;
}

static bool request_read(char **rest, ep_slurm_request *request) {
  int64_t gpus, cpus, nodes = 0;
  if (!word_read(rest, request->partition, sizeof request->partition) ||
      !word_read(rest, request->account, sizeof request->account) ||
      !word_read(rest, request->qos, sizeof request->qos) ||
      !word_read(rest, request->constraint, sizeof request->constraint) ||
      !word_read(rest, request->gres, sizeof request->gres) || !number_read(rest, &gpus) ||
      !number_read(rest, &cpus) || !number_read(rest, &request->memory_bytes) ||
      !number_read(rest, &request->minutes) || gpus < 0 || gpus > INT_MAX || cpus < 0 ||
      cpus > INT_MAX || (*rest && !number_read(rest, &nodes)) || nodes < 0 ||
      nodes > EP_LIMIT_RANKS)
    return false; /* a list of before there were nodes lacks them */
  request->nodes = (int)nodes;
  request->gpus = (int)gpus;
  request->cpus = (int)cpus;
  return true;
}

/* One line of the list: what it lacks is another program's. */
static bool line_read(ep_tickets *tickets, char *line) {
  ep_ticket ticket = {.state = EP_TICKET_AWAY, .wake = -1};
  int64_t waits;
  if (!word_read(&line, ticket.worker, sizeof ticket.worker) ||
      !word_read(&line, ticket.device, sizeof ticket.device) ||
      !word_read(&line, ticket.hash, sizeof ticket.hash) ||
      strlen(ticket.hash) != sizeof ticket.hash - 1 || !number_read(&line, &waits) ||
      !number_read(&line, &ticket.job) || !number_read(&line, &ticket.task) ||
      !request_read(&line, &ticket.request) || line)
    return false;
  if (waits) ticket.state = EP_TICKET_WAITING;
  ticket.since_us = ep_clock_steady_us();
  for (int i = 0; i < EP_TICKETS; i++) {
    if (tickets->ticket[i].state != EP_TICKET_FREE) continue;
    tickets->ticket[i] = ticket;
    return true;
  }
  return false;
}

ep_status ep_tickets_open(ep_tickets *tickets, const ep_gateway_setup *setup, ep_error *error) {
  char line[LINE_BYTES];
  memset(tickets, 0, sizeof *tickets);
  pthread_mutex_init(&tickets->mutex, NULL);
  for (int i = 0; i < EP_TICKETS; i++) tickets->ticket[i].wake = -1;
  memcpy(tickets->shared_dir, setup->shared_dir, sizeof tickets->shared_dir);
  snprintf(tickets->path, sizeof tickets->path, "%s/slurm/workers", setup->data_dir);
  if (sodium_init() < 0) return ep_fail(error, EP_INTERNAL, "libsodium cannot be initialized");
  FILE *file = fopen(tickets->path, "re");
  if (!file && errno == ENOENT) return EP_OK;
  if (!file) return ep_fail(error, EP_IO, "%s: %s", tickets->path, strerror(errno));
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (!line_read(tickets, line)) ep_log(EP_LOG_WARNING, "%s has an invalid line", tickets->path);
  }
  fclose(file);
  return EP_OK;
}

static const char *word_of(const char *text) {
  return text[0] ? text : "-";
}

static ep_status line_write(const ep_ticket *ticket, ep_durable_file *file, ep_error *error) {
  char line[LINE_BYTES];
  const ep_slurm_request *request = &ticket->request;
  int bytes = snprintf(
      line, sizeof line,
      "%s %s %s %d %" PRId64 " %" PRId64 " %s %s %s %s %s %d %d %" PRId64 " %" PRId64 " %d\n",
      ticket->worker, ticket->device, ticket->hash, ticket->state == EP_TICKET_WAITING, ticket->job,
      ticket->task, word_of(request->partition), word_of(request->account), word_of(request->qos),
      word_of(request->constraint), word_of(request->gres), request->gpus, request->cpus,
      request->memory_bytes, request->minutes, request->nodes);
  return ep_durable_file_write(file, line, (size_t)bytes, error);
}

ep_status ep_tickets_save(const ep_tickets *tickets, ep_error *error) {
  ep_durable_file *file = NULL;
  ep_status status = ep_durable_file_create(tickets->path, &file, error);
  if (status != EP_OK) return status;
  for (int i = 0; status == EP_OK && i < EP_TICKETS; i++) {
    const ep_ticket *ticket = &tickets->ticket[i];
    if (ticket->state != EP_TICKET_FREE && ticket->state != EP_TICKET_ENDED)
      status = line_write(ticket, file, error);
  }
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}

ep_ticket *ep_tickets_find(ep_tickets *tickets, const char *worker) {
  for (int i = 0; i < EP_TICKETS; i++)
    if (tickets->ticket[i].state != EP_TICKET_FREE &&
        strcmp(tickets->ticket[i].worker, worker) == 0)
      return &tickets->ticket[i];
  return NULL;
}

ep_ticket *ep_tickets_add(ep_tickets *tickets, const char *device, const ep_slurm_request *request,
                          char *secret) {
  char name[2 * NAME_BYTES + 1];
  for (int i = 0; i < EP_TICKETS; i++) {
    ep_ticket *ticket = &tickets->ticket[i];
    if (ticket->state != EP_TICKET_FREE) continue;
    *ticket = (ep_ticket){.wake = -1, .request = *request};
    if (ep_secret_make(name, NAME_BYTES, NULL) != EP_OK ||
        ep_secret_make(secret, EP_SECRET_RANDOM_BYTES, NULL) != EP_OK)
      return NULL;
    snprintf(ticket->worker, sizeof ticket->worker, "wrk_%s", name);
    snprintf(ticket->device, sizeof ticket->device, "%s", device);
    if (ep_sha256_of(secret, strlen(secret), ticket->hash, NULL) != EP_OK) return NULL;
    ep_ticket_set(ticket, EP_TICKET_WAITING);
    return ticket;
  }
  return NULL;
}

void ep_ticket_set(ep_ticket *ticket, ep_ticket_state state) {
  ticket->state = state;
  ticket->since_us = ep_clock_steady_us();
}

void ep_tickets_refuse(ep_tickets *tickets) {
  pthread_mutex_lock(&tickets->mutex);
  tickets->refused++;
  pthread_mutex_unlock(&tickets->mutex);
}

void ep_ticket_wake(const ep_ticket *ticket) {
  const uint64_t one = 1;
  if (ticket->wake >= 0 && write(ticket->wake, &one, sizeof one) < 0)
    ep_log(EP_LOG_ERROR, "a worker's thread cannot be woken: %s", strerror(errno));
}

void ep_tickets_remove(ep_tickets *tickets, ep_ticket *ticket) {
  char path[EP_LIMIT_PATH_BYTES + 128];
  char name[EP_ID_BYTES + 16];
  snprintf(name, sizeof name, "%s.nodes", ticket->worker); /* of a relay that was killed */
  if (tickets->shared_dir[0] &&
      ep_tickets_file(tickets, ticket->worker, path, sizeof path, NULL) == EP_OK)
    unlink(path);
  if (tickets->shared_dir[0] && ticket->request.nodes > 1 &&
      ep_tickets_file(tickets, name, path, sizeof path, NULL) == EP_OK)
    unlink(path);
  *ticket = (ep_ticket){.wake = -1};
}

ep_status ep_tickets_file(const ep_tickets *tickets, const char *worker, char *path, size_t bytes,
                          ep_error *error) {
  int length = snprintf(path, bytes, "%s/workers/%s", tickets->shared_dir, worker);
  return length >= 0 && (size_t)length < bytes
             ? EP_OK
             : ep_fail(error, EP_TOO_LARGE, "--shared-dir is too long");
}

/* Says what a stranger hears, and what the log has. */
static ep_status refuse(ep_tickets *tickets, const ep_record_hello *hello, const char *why,
                        ep_error *error) {
  tickets->refused++;
  ep_log(EP_LOG_WARNING, "a worker on %s claiming to be %s is rejected: %s (%d so far)",
         hello->node, hello->worker, why, tickets->refused);
  return ep_fail(error, EP_FORBIDDEN, "%s", why);
}

static ep_status claim(ep_tickets *tickets, const ep_record_hello *hello, int wake, ep_ticket **out,
                       char *secret, ep_error *error) {
  char hash[EP_SHA256_HEX_BYTES], version[sizeof hello->version] = EP_VERSION;
  ep_ticket *ticket = ep_tickets_find(tickets, hello->worker);
  ep_status status = ep_sha256_of(hello->secret, strlen(hello->secret), hash, error);
  if (status != EP_OK) return status;
  if (memcmp(hello->version, version, sizeof version) != 0)
    return refuse(tickets, hello, "it is of another version than epochd", error);
  if (!ticket || ticket->state == EP_TICKET_ENDED)
    return refuse(tickets, hello, "epochd does not expect this worker", error);
  if (sodium_memcmp(hash, ticket->hash, sizeof hash) != 0)
    return refuse(tickets, hello, "its secret is wrong, or was used before", error);
  if (ticket->state == EP_TICKET_WAITING) {
    const ep_ticket before = *ticket;
    status = ep_secret_make(secret, EP_SECRET_RANDOM_BYTES, error);
    if (status == EP_OK) status = ep_sha256_of(secret, strlen(secret), ticket->hash, error);
    ep_ticket_set(ticket, EP_TICKET_CONNECTED);
    if (status == EP_OK) status = ep_tickets_save(tickets, error);
    if (status != EP_OK) { /* the new secret was not said, and the worker comes again */
      *ticket = before;
      return status;
    }
  } else {
    memcpy(secret, hello->secret, EP_SHA256_HEX_BYTES);
    ep_ticket_wake(ticket); /* the thread of a connection that has ended, which nobody noticed */
    ep_ticket_set(ticket, EP_TICKET_CONNECTED);
  }
  memcpy(ticket->node, hello->node, sizeof ticket->node);
  ticket->connection++;
  ticket->wake = wake;
  ticket->admitted = false;
  *out = ticket;
  return EP_OK;
}

ep_status ep_tickets_claim(ep_tickets *tickets, const ep_record_hello *hello, int wake,
                           ep_ticket **ticket, int *connection, char *secret, ep_error *error) {
  pthread_mutex_lock(&tickets->mutex);
  ep_status status = claim(tickets, hello, wake, ticket, secret, error);
  if (status == EP_OK) *connection = (*ticket)->connection;
  pthread_mutex_unlock(&tickets->mutex);
  return status;
}
