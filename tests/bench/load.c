/* load.c: clients of a daemon on 127.0.0.1, for tests/bench/load. Prints one JSON object.
 *
 *   bench_load ask PORT PATH SECONDS SUBMITTERS SEED   GETs on one connection, jobs on others
 *   bench_load post PORT FILE SECONDS CLIENTS          FILE, a whole request, again and again
 *   bench_load watch PORT JOB WATCHERS LINES           reads the job's next lines by each
 *   bench_load log FILE JOB LINES SEED                 writes a log of so many epochs
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/limits.h"
#include "api/wire/event.h"

enum { RESPONSE_BYTES = 1 << 16, READ_BYTES = 1 << 16, SUBMITTERS_MOST = 64, PATIENCE_S = 120 };

static void die(const char *what) {
  fprintf(stderr, "bench_load: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double seconds_now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int dial(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0 || connect(client, (struct sockaddr *)&address, sizeof address) != 0)
    die("connect");
  return client;
}

static void say(int client, const char *text, size_t bytes) {
  if (send(client, text, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) die("send");
}

/* Reads one response with a Content-Length; returns its status. */
static int response_read(int client) {
  char text[RESPONSE_BYTES + 1];
  size_t used = 0, wanted = RESPONSE_BYTES;
  while (used < wanted) {
    ssize_t got = recv(client, text + used, RESPONSE_BYTES - used, 0);
    if (got <= 0) die("recv");
    used += (size_t)got;
    text[used] = 0;
    const char *end = strstr(text, "\r\n\r\n");
    const char *length = end ? strcasestr(text, "\r\nContent-Length:") : NULL;
    if (length) wanted = (size_t)(end + 4 - text) + strtoul(length + 17, NULL, 10);
    if (wanted > RESPONSE_BYTES) die("a response is too long");
  }
  return (int)strtol(text + 9, NULL, 10);
}

static int double_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* values: [count], sorted here. */
static void quantiles_print(double *values, size_t count) {
  qsort(values, count, sizeof *values, double_compare);
  printf("\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"most_ms\": %.3f", values[count / 2] * 1e3,
         values[count * 99 / 100] * 1e3, values[count - 1] * 1e3);
}

typedef struct {
  int port;
  unsigned seed;
  atomic_bool *stop;
  long submitted, refused;
} submitter;

static void *submitter_run(void *context) {
  submitter *self = context;
  int client = dial(self->port);
  char body[512], request[1024];
  while (!atomic_load(self->stop)) {
    int bytes = snprintf(
        body, sizeof body,
        "{\"data\":{\"generator\":\"xor\"},\"loss\":\"bce_with_logits\",\"epochs\":1,\"seed\":%u,"
        "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":4},{\"type\":\"tanh\"},"
        "{\"type\":\"linear\",\"out_features\":1}]},\"optimizer\":{\"lr\":0.5}}",
        self->seed++);
    int all = snprintf(request, sizeof request,
                       "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                       "application/json\r\nContent-Length: %d\r\n\r\n%s",
                       bytes, body);
    say(client, request, (size_t)all);
    if (response_read(client) == 201) {
      self->submitted++;
      continue;
    }
    self->refused++; /* the queue is full */
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  close(client);
  return NULL;
}

static void asks_run(int port, const char *path, double seconds, int submitters, unsigned seed) {
  pthread_t threads[SUBMITTERS_MOST];
  submitter all[SUBMITTERS_MOST];
  atomic_bool stop = false;
  size_t capacity = 1 << 20, count = 0;
  double *took = malloc(capacity * sizeof *took);
  char request[512];
  if (!took || submitters > SUBMITTERS_MOST) die("submitters");
  for (int i = 0; i < submitters; i++) {
    all[i] = (submitter){.port = port, .seed = seed + (unsigned)i * 1000000, .stop = &stop};
    if (pthread_create(&threads[i], NULL, submitter_run, &all[i]) != 0) die("thread");
  }
  if (submitters > 0) nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
  int bytes = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
  int client = dial(port);
  double begun = seconds_now(CLOCK_MONOTONIC), before = begun;
  while (before < begun + seconds && count < capacity) {
    say(client, request, (size_t)bytes);
    if (response_read(client) != 200) die("a GET was refused");
    double now = seconds_now(CLOCK_MONOTONIC);
    took[count++] = now - before;
    before = now;
  }
  atomic_store(&stop, true);
  long submitted = 0, refused = 0;
  for (int i = 0; i < submitters; i++) {
    pthread_join(threads[i], NULL);
    submitted += all[i].submitted;
    refused += all[i].refused;
  }
  printf("{\"gets_per_second\": %.0f, ", (double)count / (before - begun));
  quantiles_print(took, count);
  printf(", \"submits_per_second\": %.0f, \"refused\": %ld}\n",
         (double)submitted / (before - begun), refused);
  free(took);
}

/* One client: what it has of the response that is under way. */
typedef struct {
  int client;
  char *text;                    /* [capacity], owned */
  size_t used, wanted, capacity; /* wanted: bytes of the whole response; 0: its head is not there */
  double asked;                  /* when the request was sent */
} poster;

typedef struct {
  char *text; /* owned */
  size_t bytes;
} request_text;

static request_text request_load(const char *path) {
  struct stat about;
  FILE *file = fopen(path, "r");
  if (!file || fstat(fileno(file), &about) != 0) die(path);
  request_text request = {malloc((size_t)about.st_size + 1), (size_t)about.st_size};
  if (!request.text || fread(request.text, 1, request.bytes, file) != request.bytes) die(path);
  fclose(file);
  return request;
}

static void poster_send(poster *p, const request_text *request) {
  p->used = p->wanted = 0;
  p->asked = seconds_now(CLOCK_MONOTONIC);
  for (size_t sent = 0; sent < request->bytes;) {
    ssize_t got = send(p->client, request->text + sent, request->bytes - sent, MSG_NOSIGNAL);
    if (got < 0) die("send");
    sent += (size_t)got;
  }
}

static void head_take(poster *p) {
  const char *end = strstr(p->text, "\r\n\r\n");
  const char *length = end ? strcasestr(p->text, "\r\nContent-Length:") : NULL;
  if (!end) return;
  if (strtol(p->text + 9, NULL, 10) != 200 || !length || length > end) {
    fprintf(stderr, "%.600s\n", p->text);
    die("a POST was refused");
  }
  p->wanted = (size_t)(end + 4 - p->text) + strtoul(length + 17, NULL, 10);
}

/* Reads what has come; whether the response is whole. */
static bool poster_read(poster *p) {
  if (p->capacity - p->used < READ_BYTES) {
    p->capacity = 2 * p->capacity + READ_BYTES;
    p->text = realloc(p->text, p->capacity + 1);
    if (!p->text) die("memory");
  }
  ssize_t got = recv(p->client, p->text + p->used, p->capacity - p->used, 0);
  if (got <= 0) die("recv");
  p->used += (size_t)got;
  p->text[p->used] = 0;
  if (p->wanted == 0) head_take(p);
  return p->wanted > 0 && p->used >= p->wanted;
}

static void posts_run(int port, const char *path, double seconds, int clients) {
  request_text request = request_load(path);
  size_t capacity = 1 << 20, count = 0;
  double *took = malloc(capacity * sizeof *took);
  poster *posters = calloc((size_t)clients, sizeof *posters);
  int set = epoll_create1(EPOLL_CLOEXEC);
  if (!took || !posters) die("memory");
  for (int i = 0; i < clients; i++) {
    posters[i].client = dial(port);
    setsockopt(posters[i].client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &posters[i]};
    if (epoll_ctl(set, EPOLL_CTL_ADD, posters[i].client, &event) != 0) die("epoll");
  }
  double begun = seconds_now(CLOCK_MONOTONIC), now = begun;
  int waiting = clients; /* for a response; at the end all get theirs, so that nothing is left */
  for (int i = 0; i < clients; i++) poster_send(&posters[i], &request);
  while (waiting > 0) {
    struct epoll_event events[64];
    int ready = epoll_wait(set, events, 64, PATIENCE_S * 1000);
    if (ready <= 0) die("no response");
    for (int i = 0; i < ready; i++) {
      poster *p = events[i].data.ptr;
      if (!poster_read(p)) continue;
      now = seconds_now(CLOCK_MONOTONIC);
      if (count < capacity) took[count++] = now - p->asked;
      if (now < begun + seconds && count < capacity)
        poster_send(p, &request);
      else
        waiting--;
    }
  }
  printf("{\"requests\": %zu, \"requests_per_second\": %.2f, ", count,
         (double)count / (now - begun));
  quantiles_print(took, count);
  printf("}\n");
  for (int i = 0; i < clients; i++) {
    close(posters[i].client);
    free(posters[i].text);
  }
  free(posters);
  free(took);
  free(request.text);
}

/* One watcher: what it has of the line that is under way. */
typedef struct {
  int client;
  bool body; /* the head is over */
  char line[40];
  size_t line_bytes; /* of the line under way, of which `line` has the beginning */
  long lines, gaps;
} watcher;

typedef struct {
  double *first; /* [lines] when the first watcher had it */
  double *late;  /* [capacity] seconds behind that */
  size_t count, capacity;
  long base, lines; /* lines base + 1 … base + lines are counted; base 0: none is yet */
  long begun, last; /* watchers with a line; the greatest seq of any */
} arrivals;

/* A line is whole. Lines of a chunk's size and empty ones are not of the log. */
static void line_take(watcher *w, arrivals *all, double now) {
  static const char start[] = "{\"seq\":";
  size_t bytes = w->line_bytes;
  w->line_bytes = 0;
  if (bytes < sizeof start || memcmp(w->line, start, sizeof start - 1) != 0) return;
  long seq = strtol(w->line + sizeof start - 1, NULL, 10), place = seq - all->base - 1;
  if (w->lines == 0) all->begun++;
  if (seq != w->lines + 1) w->gaps++;
  if (seq > all->last) all->last = seq;
  w->lines = seq;
  if (all->base == 0 || place < 0 || place >= all->lines) return;
  if (all->first[place] == 0) all->first[place] = now;
  if (all->count < all->capacity) all->late[all->count++] = now - all->first[place];
}

static void bytes_take(watcher *w, const char *text, size_t bytes, arrivals *all, double now) {
  for (size_t i = 0; i < bytes;) {
    if (w->line_bytes == 0 && text[i] == ' ') { /* a heartbeat */
      i++;
      continue;
    }
    const char *newline = memchr(text + i, '\n', bytes - i);
    size_t part = newline ? (size_t)(newline - text) - i : bytes - i;
    size_t room = sizeof w->line - 1;
    if (w->line_bytes < room) {
      size_t copied = part < room - w->line_bytes ? part : room - w->line_bytes;
      memcpy(w->line + w->line_bytes, text + i, copied);
      w->line[w->line_bytes + copied] = 0;
    }
    w->line_bytes += part;
    i += part;
    if (!newline) break;
    line_take(w, all, now);
    i++;
  }
}

static int watchers_dial(watcher *watchers, int count, int port, const char *job) {
  char request[256];
  int bytes = snprintf(request, sizeof request,
                       "GET /v1/jobs/%s/events HTTP/1.1\r\nHost: localhost\r\n\r\n", job);
  int set = epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < count; i++) {
    watchers[i] = (watcher){.client = dial(port)};
    say(watchers[i].client, request, (size_t)bytes);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &watchers[i]};
    if (epoll_ctl(set, EPOLL_CTL_ADD, watchers[i].client, &event) != 0) die("epoll");
  }
  return set;
}

static void files_raise(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void watch_run(int port, const char *job, int count, long lines) {
  static char text[READ_BYTES];
  files_raise();
  watcher *watchers = calloc((size_t)count, sizeof *watchers);
  arrivals all = {.capacity = (size_t)count * (size_t)lines, .lines = lines};
  all.first = calloc((size_t)lines, sizeof *all.first);
  all.late = calloc(all.capacity, sizeof *all.late);
  if (!watchers || !all.first || !all.late) die("memory");
  int set = watchers_dial(watchers, count, port, job);
  double until = seconds_now(CLOCK_MONOTONIC) + PATIENCE_S;
  while (all.count < all.capacity && seconds_now(CLOCK_MONOTONIC) < until) {
    struct epoll_event events[256];
    int ready = epoll_wait(set, events, 256, 1000);
    for (int i = 0; i < ready; i++) {
      watcher *w = events[i].data.ptr;
      ssize_t got = recv(w->client, text, sizeof text, MSG_DONTWAIT);
      if (got == 0) die("a stream was cut");
      if (got > 0) bytes_take(w, text, (size_t)got, &all, seconds_now(CLOCK_MONOTONIC));
    }
    if (all.base > 0 || all.begun < count) continue;
    all.base = all.last + 1;       /* those that are under way are left out */
    fprintf(stderr, "watching\n"); /* the caller begins to count the daemon's CPU time */
  }
  long gaps = 0;
  for (int i = 0; i < count; i++) gaps += watchers[i].gaps;
  printf("{\"watchers\": %d, \"lines\": %ld, \"delivered\": %zu, \"gaps\": %ld, ", count, lines,
         all.count, gaps);
  quantiles_print(all.late, all.count);
  printf("}\n");
}

static void log_write(const char *path, const char *job, long lines, unsigned seed) {
  FILE *file = fopen(path, "w");
  char line[EP_LIMIT_EVENT_BYTES];
  if (!file) die(path);
  ep_event event = {.job = job, .type = EP_EVENT_QUEUED, .time_us = 1800000000000000};
  for (long seq = 1; seq <= lines + 3; seq++) {
    event.seq = seq;
    if (seq == 2) event.type = EP_EVENT_STARTED, event.attempt = 1;
    if (seq > 2) event.type = EP_EVENT_EPOCH;
    if (seq == lines + 3) event.type = EP_EVENT_END, event.state = EP_STATE_SUCCEEDED;
    if (event.type == EP_EVENT_EPOCH) {
      seed = seed * 1664525 + 1013904223;
      double x = (double)(seq - 2) / (double)lines, noise = (double)seed / 4294967296.0;
      event.epochs = lines;
      event.eta_seconds = floor((1 - x) * 1e8) / 1e6;
      event.progress = (ep_progress_record){.epoch = seq - 2,
                                            .loss = exp(-5 * x) * (1 + 0.1 * noise),
                                            .error = NAN,
                                            .validation_loss = NAN,
                                            .validation_error = NAN,
                                            .lr = 0.05,
                                            .elapsed_seconds = (double)(seq - 2) / 1e5};
    }
    size_t bytes = ep_event_format(&event, line, sizeof line);
    if (bytes == 0 || fwrite(line, 1, bytes, file) != bytes) die(path);
  }
  if (fclose(file) != 0) die(path);
}

static int count_read(const char *text) {
  return (int)strtol(text, NULL, 10);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "ask") == 0 && argc == 7) {
    asks_run(count_read(argv[2]), argv[3], strtod(argv[4], NULL), count_read(argv[5]),
             (unsigned)count_read(argv[6]));
  } else if (strcmp(what, "post") == 0 && argc == 6) {
    posts_run(count_read(argv[2]), argv[3], strtod(argv[4], NULL), count_read(argv[5]));
  } else if (strcmp(what, "watch") == 0 && argc == 6) {
    watch_run(count_read(argv[2]), argv[3], count_read(argv[4]), count_read(argv[5]));
  } else if (strcmp(what, "log") == 0 && argc == 6) {
    log_write(argv[2], argv[3], count_read(argv[4]), (unsigned)count_read(argv[5]));
  } else {
    fprintf(stderr, "bench_load: see load.c\n");
    return 2;
  }
  return 0;
}
