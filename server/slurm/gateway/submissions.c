#include "server/slurm/gateway/submissions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/wire/connection.h"
#include "engine/files/durable_file.h"
#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/slurm/commands.h"
#include "server/slurm/gateway/shared.h"
#include "server/slurm/gateway/watch.h"

#define SECOND_US INT64_C(1000000)
#define LOOK_US (2 * SECOND_US)          /* between two looks at squeue while workers wait */
#define LOOK_SELDOM_US (10 * SECOND_US)  /* while all are connected */
#define UNSEEN_US (30 * SECOND_US)       /* after which one that squeue does not show has ended */
#define BACKOFF_FIRST_US (2 * SECOND_US) /* after a refusal of Slurm's, doubling */
#define BACKOFF_MOST_US (60 * SECOND_US)
#define LEFT_US (10 * SECOND_US) /* that a worker has to end by itself */

static const char NAME[] = "epochd-worker";

typedef struct {
  char id[EP_DEVICE_ID_BYTES];
  int wanted;
  ep_slurm_request request;     /* of new workers */
  int64_t backoff_us, again_us; /* after a refusal */
  char told[EP_MESSAGE_BYTES];  /* what epochd was told of its wait */
} partition;

struct ep_submissions {
  ep_gateway *gateway;
  char pin[EP_SHA256_HEX_BYTES];
  pthread_t thread;
  int64_t watch_us;      /* when the partitions are looked at next; the thread's */
  int64_t look_us;       /* when squeue is looked at next; the thread's */
  pthread_mutex_t mutex; /* guards what follows; taken before the tickets' */
  pthread_cond_t changed;
  bool woken, stopping, cancels;
  partition partition[EP_LIMIT_DEVICES];
  int count;
};

/* A copy of what a look or a submission needs, without a lock. */
typedef struct {
  char worker[EP_ID_BYTES], secret[EP_SHA256_HEX_BYTES];
} new_worker;

static void waits_tell(ep_submissions *s, partition *p, const char *text) {
  ep_control control = {.kind = EP_CONTROL_WAITS};
  if (strcmp(p->told, text) == 0) return;
  snprintf(p->told, sizeof p->told, "%s", text);
  memcpy(control.device, p->id, sizeof control.device);
  memcpy(control.text, p->told, sizeof control.text);
  ep_control_send(s->gateway->control, &control, -1, NULL);
}

static ep_status connection_write(ep_submissions *s, const new_worker *worker, ep_error *error) {
  const ep_gateway_setup *setup = s->gateway->setup;
  char text[EP_CONNECTION_BYTES], path[EP_LIMIT_PATH_BYTES + 128];
  ep_connection connection = {.device = "auto"};
  snprintf(connection.address, sizeof connection.address, "%s", setup->address);
  memcpy(connection.pin, s->pin, sizeof connection.pin);
  memcpy(connection.worker, worker->worker, sizeof connection.worker);
  memcpy(connection.secret, worker->secret, sizeof connection.secret);
  memcpy(connection.shared, setup->shared_dir, sizeof connection.shared);
  snprintf(connection.data_bytes_max, sizeof connection.data_bytes_max, "%lld",
           (long long)setup->data_bytes_max);
  snprintf(connection.checkpoint_after, sizeof connection.checkpoint_after, "%lld",
           (long long)setup->checkpoint_after_seconds);
  ep_status status = ep_tickets_file(s->gateway->tickets, worker->worker, path, sizeof path, error);
  if (status == EP_OK) status = ep_connection_format(&connection, text, error);
  if (status != EP_OK) return status;
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  status = ep_file_write_all(file, text, strlen(text), error);
  if (close(file) != 0 && status == EP_OK)
    status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  return status;
}

/* 'it'\''s' */
static void quoted_add(char *script, size_t bytes, const char *text) {
  size_t used = strlen(script);
  if (used + 1 < bytes) script[used++] = '\'';
  for (; *text && used + 5 < bytes; text++) {
    if (*text == '\'') {
      memcpy(script + used, "'\\''", 4);
      used += 4;
    } else {
      script[used++] = *text;
    }
  }
  if (used + 1 < bytes) script[used++] = '\'';
  script[used < bytes ? used : bytes - 1] = 0;
}

/* The batch script: task N of the array is the worker of list[N]. It is replaced by the worker, so
 * that signals reach the worker. */
static ep_status script_write(const ep_submissions *s, const new_worker *list, int count,
                              char *script, size_t bytes, ep_error *error) {
  const ep_gateway_setup *setup = s->gateway->setup;
  snprintf(script, bytes, "#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n");
  for (int i = 0; i < count; i++) {
    size_t used = strlen(script);
    snprintf(script + used, bytes - used, "%d) worker=%s ;;\n", i, list[i].worker);
  }
  size_t used = strlen(script);
  snprintf(script + used, bytes - used, "esac\nexec ");
  quoted_add(script, bytes, setup->worker);
  used = strlen(script);
  snprintf(script + used, bytes - used, " --connect ");
  quoted_add(script, bytes, setup->shared_dir);
  used = strlen(script);
  snprintf(script + used, bytes - used, "/workers/\"$worker\"%s",
           setup->plugin[0] ? " --plugin " : "");
  if (setup->plugin[0]) quoted_add(script, bytes, setup->plugin);
  used = strlen(script);
  if (used + 2 >= bytes) return ep_fail(error, EP_TOO_LARGE, "the batch script is too long");
  memcpy(script + used, "\n", 2);
  return EP_OK;
}

static ep_status array_submit(ep_submissions *s, const char *device,
                              const ep_slurm_request *request, const new_worker *list, int count,
                              int64_t *job, ep_error *error) {
  const ep_gateway_setup *setup = s->gateway->setup;
  char script[EP_LIMIT_SLURM_SCRIPT_BYTES], output[EP_LIMIT_PATH_BYTES + 64];
  ep_slurm_submission submission = {.request = *request,
                                    .workers = count,
                                    .name = NAME,
                                    .script = script,
                                    .output = output,
                                    .folder = setup->shared_dir,
                                    .options = setup->options[0] ? setup->options : NULL};
  snprintf(output, sizeof output, "%s/logs/worker-%%A_%%a.log", setup->shared_dir);
  snprintf(submission.request.partition, sizeof submission.request.partition, "%s",
           device + strlen(EP_SLURM_PREFIX));
  if (!request->partition[0]) { /* of a job without a request of its own */
    snprintf(submission.request.account, sizeof submission.request.account, "%s", setup->account);
    snprintf(submission.request.qos, sizeof submission.request.qos, "%s", setup->qos);
  }
  ep_status status = script_write(s, list, count, script, sizeof script, error);
  return status == EP_OK ? ep_slurm_submit(&submission, job, error) : status;
}

/* Makes the tickets of new workers; returns how many. The tickets are on disk then: a worker may
 * connect before sbatch has returned. */
static int tickets_make(ep_submissions *s, const char *device, const ep_slurm_request *request,
                        int count, new_worker *list, ep_error *error) {
  ep_tickets *tickets = s->gateway->tickets;
  int made = 0;
  pthread_mutex_lock(&tickets->mutex);
  for (; made < count; made++) {
    ep_ticket *ticket = ep_tickets_add(tickets, device, request, list[made].secret);
    if (!ticket) break;
    memcpy(list[made].worker, ticket->worker, sizeof list[made].worker);
  }
  if (made == 0) ep_fail(error, EP_BUSY, "there are too many workers");
  if (made > 0 && ep_tickets_save(tickets, error) != EP_OK) {
    for (int i = 0; i < made; i++)
      ep_tickets_remove(tickets, ep_tickets_find(tickets, list[i].worker));
    made = 0;
  }
  pthread_mutex_unlock(&tickets->mutex);
  return made;
}

static void tickets_settle(ep_submissions *s, const new_worker *list, int count, ep_status status,
                           int64_t job) {
  ep_tickets *tickets = s->gateway->tickets;
  pthread_mutex_lock(&tickets->mutex);
  for (int i = 0; i < count; i++) {
    ep_ticket *ticket = ep_tickets_find(tickets, list[i].worker);
    if (!ticket) continue;
    ticket->job = job;
    ticket->task = i;
    if (status != EP_OK && ticket->state == EP_TICKET_WAITING) ep_tickets_remove(tickets, ticket);
  }
  ep_error error = {0};
  if (ep_tickets_save(tickets, &error) != EP_OK) ep_log(EP_LOG_WARNING, "%s", error.message);
  pthread_mutex_unlock(&tickets->mutex);
}

static void refusal_note(ep_submissions *s, partition *p, const char *text) {
  p->backoff_us = p->backoff_us == 0                    ? BACKOFF_FIRST_US
                  : p->backoff_us * 2 < BACKOFF_MOST_US ? p->backoff_us * 2
                                                        : BACKOFF_MOST_US;
  p->again_us = ep_clock_steady_us() + p->backoff_us;
  ep_log(EP_LOG_ERROR, "device %s: no workers: %s", p->id, text);
  waits_tell(s, p, text);
}

static void workers_submit(ep_submissions *s, partition *p, const ep_slurm_request *request,
                           int count) {
  new_worker list[EP_LIMIT_SLURM_WORKERS];
  ep_error error = {0};
  int64_t job = 0;
  int made = tickets_make(s, p->id, request, count, list, &error);
  ep_status status = made > 0 ? EP_OK : EP_BUSY;
  for (int i = 0; status == EP_OK && i < made; i++) status = connection_write(s, &list[i], &error);
  if (status == EP_OK) status = array_submit(s, p->id, request, list, made, &job, &error);
  tickets_settle(s, list, made, status, job);
  explicit_bzero(list, sizeof list);
  if (status != EP_OK) {
    refusal_note(s, p, error.message);
    return;
  }
  s->look_us = 0;
  ep_log(EP_LOG_INFO, "device %s: %d workers submitted as Slurm's job %lld", p->id, made,
         (long long)job);
}

/* Tickets of a device: those that wait, and all that have not ended. */
static void tickets_count(ep_submissions *s, const char *device, int *waiting, int *all) {
  ep_tickets *tickets = s->gateway->tickets;
  *waiting = *all = 0;
  pthread_mutex_lock(&tickets->mutex);
  for (int i = 0; i < EP_TICKETS; i++) {
    const ep_ticket *ticket = &tickets->ticket[i];
    if (ticket->state == EP_TICKET_FREE || ticket->state == EP_TICKET_ENDED ||
        strcmp(ticket->device, device) != 0)
      continue;
    *waiting += ticket->state == EP_TICKET_WAITING;
    (*all)++;
  }
  pthread_mutex_unlock(&tickets->mutex);
}

/* Cancels workers that have not connected, the last ones first. */
static void surplus_cancel(ep_submissions *s, const char *device, int count) {
  ep_tickets *tickets = s->gateway->tickets;
  for (int i = EP_TICKETS; i-- > 0 && count > 0;) {
    ep_error error = {0};
    ep_ticket *ticket = &tickets->ticket[i];
    pthread_mutex_lock(&tickets->mutex);
    const bool surplus = ticket->state == EP_TICKET_WAITING && ticket->job > 0 &&
                         strcmp(ticket->device, device) == 0;
    const int64_t job = ticket->job, task = ticket->task;
    if (surplus) ep_ticket_set(ticket, EP_TICKET_ENDED);
    pthread_mutex_unlock(&tickets->mutex);
    if (!surplus) continue;
    count--;
    if (ep_slurm_cancel(job, task, &error) != EP_OK)
      ep_log(EP_LOG_WARNING, "Slurm's job %lld_%lld: %s", (long long)job, (long long)task,
             error.message);
  }
}

static const ep_slurm_job *listed_find(const ep_slurm_jobs *jobs, const ep_ticket *ticket) {
  for (int i = 0; i < jobs->count; i++)
    if (jobs->jobs[i].job == ticket->job &&
        (jobs->jobs[i].task == ticket->task || jobs->jobs[i].task < 0))
      return &jobs->jobs[i];
  return NULL;
}

/* What is to be done about a ticket, by what Slurm says. */
typedef enum { LOOK_NOTHING, LOOK_REMOVE, LOOK_GONE, LOOK_CANCEL } look_verdict;

static look_verdict ticket_judge(const ep_ticket *ticket, const ep_slurm_job *job, int64_t now_us,
                                 int64_t reconnect_us) {
  const int64_t age_us = now_us - ticket->since_us;
  const bool ended = job ? job->phase == EP_SLURM_ENDED : age_us >= UNSEEN_US;
  if (ticket->state == EP_TICKET_FREE || ticket->job == 0) return LOOK_NOTHING;
  if (ticket->state == EP_TICKET_ENDED)
    return ended ? LOOK_REMOVE : age_us >= LEFT_US ? LOOK_CANCEL : LOOK_NOTHING;
  if (ended && ticket->state == EP_TICKET_WAITING) return LOOK_REMOVE;
  if (ended && ticket->state == EP_TICKET_AWAY) return LOOK_GONE;
  if (ticket->state == EP_TICKET_AWAY && age_us >= 2 * reconnect_us) return LOOK_GONE;
  return LOOK_NOTHING;
}

static partition *partition_find(ep_submissions *s, const char *device) {
  for (int i = 0; i < s->count; i++)
    if (strcmp(s->partition[i].id, device) == 0) return &s->partition[i];
  return NULL;
}

static void gone_tell(ep_submissions *s, const ep_ticket *ticket, const char *text) {
  ep_control control = {.kind = EP_CONTROL_GONE};
  memcpy(control.worker, ticket->worker, sizeof control.worker);
  snprintf(control.text, sizeof control.text, "%s", text);
  ep_control_send(s->gateway->control, &control, -1, NULL);
}

/* A worker that Slurm has ended before it connected: what it printed lies in the shared folder. */
static void never_came(ep_submissions *s, const ep_ticket *ticket, const ep_slurm_job *job) {
  char text[EP_MESSAGE_BYTES];
  partition *p = partition_find(s, ticket->device);
  snprintf(text, sizeof text,
           "Slurm's job %lld_%lld ended (%s, exit code %d) before its worker connected: "
           "logs/worker-%lld_%lld.log in the shared folder has what it printed",
           (long long)ticket->job, (long long)ticket->task, job ? job->state : "not listed",
           job ? job->exit_code : 0, (long long)ticket->job, (long long)ticket->task);
  if (p) refusal_note(s, p, text);
}

static void ticket_look(ep_submissions *s, ep_ticket *ticket, const ep_slurm_jobs *jobs) {
  ep_tickets *tickets = s->gateway->tickets;
  const int64_t reconnect_us = s->gateway->setup->reconnect_seconds * SECOND_US;
  char text[EP_MESSAGE_BYTES] = "Slurm shows its job no more";
  pthread_mutex_lock(&tickets->mutex);
  const ep_ticket before = *ticket;
  const ep_slurm_job *job = listed_find(jobs, &before);
  look_verdict verdict = ticket_judge(ticket, job, ep_clock_steady_us(), reconnect_us);
  if (verdict == LOOK_REMOVE) ep_tickets_remove(tickets, ticket);
  if (verdict == LOOK_GONE) ep_ticket_set(ticket, EP_TICKET_ENDED);
  if (verdict == LOOK_CANCEL) ep_ticket_set(ticket, EP_TICKET_ENDED); /* again later */
  pthread_mutex_unlock(&tickets->mutex);
  if (verdict == LOOK_REMOVE && before.state == EP_TICKET_WAITING) never_came(s, &before, job);
  if (verdict == LOOK_GONE) {
    if (job) snprintf(text, sizeof text, "Slurm's job of the worker ended: %s", job->state);
    gone_tell(s, &before, text);
  }
  if (verdict == LOOK_CANCEL) ep_slurm_cancel(before.job, before.task, NULL);
}

/* Slurm's reason, for workers that wait. */
static void reasons_tell(ep_submissions *s, const ep_slurm_jobs *jobs) {
  for (int i = 0; i < s->count; i++) {
    partition *p = &s->partition[i];
    int waiting, all;
    const char *reason = "";
    tickets_count(s, p->id, &waiting, &all);
    for (int j = 0; waiting > 0 && j < jobs->count; j++)
      if (jobs->jobs[j].phase == EP_SLURM_PENDING &&
          strcmp(jobs->jobs[j].partition, p->id + strlen(EP_SLURM_PREFIX)) == 0)
        reason = jobs->jobs[j].reason;
    if (p->again_us == 0) waits_tell(s, p, strcmp(reason, "None") == 0 ? "" : reason);
  }
}

static void slurm_look(ep_submissions *s, bool any_doubt) {
  ep_slurm_jobs jobs = {0};
  ep_error error = {0};
  s->look_us = ep_clock_steady_us() + (any_doubt ? LOOK_US : LOOK_SELDOM_US);
  if (ep_slurm_list(NAME, &jobs, &error) != EP_OK) {
    ep_log(EP_LOG_WARNING, "squeue: %s", error.message);
    return;
  }
  for (int i = 0; i < EP_TICKETS; i++) ticket_look(s, &s->gateway->tickets->ticket[i], &jobs);
  reasons_tell(s, &jobs);
  ep_slurm_jobs_free(&jobs);
}

/* Whether there are tickets, and whether Slurm knows more of one than its connection says. */
static bool any_ticket(ep_submissions *s, bool *any_doubt) {
  bool any = false;
  pthread_mutex_lock(&s->gateway->tickets->mutex);
  for (int i = 0; i < EP_TICKETS; i++) {
    const ep_ticket_state state = s->gateway->tickets->ticket[i].state;
    any = any || state != EP_TICKET_FREE;
    *any_doubt = *any_doubt || state == EP_TICKET_WAITING || state == EP_TICKET_AWAY;
  }
  pthread_mutex_unlock(&s->gateway->tickets->mutex);
  return any;
}

/* What Slurm shows of the partitions, for epochd. */
static void partitions_watch(ep_submissions *s) {
  ep_watched list[EP_LIMIT_DEVICES];
  const int64_t now_us = ep_clock_steady_us();
  pthread_mutex_lock(&s->mutex);
  const int count = s->count;
  for (int i = 0; i < count; i++) {
    memcpy(list[i].device, s->partition[i].id, sizeof list[i].device);
    list[i].request = s->partition[i].request;
  }
  pthread_mutex_unlock(&s->mutex);
  if (count == 0 || now_us < s->watch_us) return;
  s->watch_us = now_us + s->gateway->setup->look_seconds * SECOND_US;
  ep_watch_look(s->gateway, list, count);
  ep_shared_trim(s->gateway->setup, false);
}

/* One round, without the lock but where it reads what is wanted. */
static void round_make(ep_submissions *s) {
  for (int i = 0; i < EP_LIMIT_DEVICES; i++) {
    int waiting, all;
    pthread_mutex_lock(&s->mutex);
    partition *p = i < s->count ? &s->partition[i] : NULL;
    const int wanted = p ? p->wanted : 0;
    const ep_slurm_request request = p ? p->request : (ep_slurm_request){0};
    pthread_mutex_unlock(&s->mutex);
    if (!p) break;
    tickets_count(s, p->id, &waiting, &all);
    if (all < wanted && ep_clock_steady_us() >= p->again_us) {
      p->again_us = 0;
      workers_submit(s, p, &request, wanted - all);
    }
    if (all > wanted && waiting > 0)
      surplus_cancel(s, p->id, all - wanted < waiting ? all - wanted : waiting);
    if (waiting == 0 && all > 0) p->backoff_us = 0;
  }
  bool any_doubt = false;
  const bool any = any_ticket(s, &any_doubt);
  const int64_t now_us = ep_clock_steady_us();
  if (any_doubt && s->look_us > now_us + LOOK_US) s->look_us = now_us + LOOK_US;
  if (any && now_us >= s->look_us) slurm_look(s, any_doubt);
  partitions_watch(s);
}

static void *submissions_run(void *context) {
  ep_submissions *s = context;
  pthread_mutex_lock(&s->mutex);
  while (!s->stopping) {
    s->woken = false;
    pthread_mutex_unlock(&s->mutex);
    round_make(s);
    pthread_mutex_lock(&s->mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    while (!s->woken && !s->stopping &&
           pthread_cond_timedwait(&s->changed, &s->mutex, &until) != ETIMEDOUT) {
    }
  }
  const bool cancels = s->cancels;
  pthread_mutex_unlock(&s->mutex);
  for (int i = 0; cancels && i < s->count; i++) surplus_cancel(s, s->partition[i].id, EP_TICKETS);
  return NULL;
}

static ep_status folder_make(const char *base, const char *name, ep_error *error) {
  char path[EP_LIMIT_PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s/%s", base, name);
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return EP_OK;
  return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
}

ep_status ep_submissions_start(ep_gateway *gateway, const char *pin, ep_submissions **out,
                               ep_error *error) {
  ep_submissions *s = calloc(1, sizeof *s);
  if (!s) return ep_fail_memory(error);
  s->gateway = gateway;
  snprintf(s->pin, sizeof s->pin, "%s", pin);
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->changed, NULL);
  ep_status status = folder_make(gateway->setup->shared_dir, "workers", error);
  if (status == EP_OK) status = folder_make(gateway->setup->shared_dir, "logs", error);
  int failed = status == EP_OK ? pthread_create(&s->thread, NULL, submissions_run, s) : 0;
  if (failed != 0) status = ep_fail(error, EP_IO, "no thread: %s", strerror(failed));
  if (status == EP_OK)
    *out = s;
  else
    free(s);
  return status;
}

void ep_submissions_want(ep_submissions *s, const char *device, int count,
                         const ep_slurm_request *request) {
  pthread_mutex_lock(&s->mutex);
  partition *p = partition_find(s, device);
  if (!p && s->count < EP_LIMIT_DEVICES) {
    p = &s->partition[s->count++];
    snprintf(p->id, sizeof p->id, "%s", device);
  }
  if (p) {
    p->wanted = count;
    if (count > 0) p->request = *request;
  }
  pthread_mutex_unlock(&s->mutex);
  ep_submissions_wake(s);
}

void ep_submissions_wake(ep_submissions *s) {
  pthread_mutex_lock(&s->mutex);
  s->woken = true;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->mutex);
}

void ep_submissions_stop(ep_submissions *s, bool cancel) {
  pthread_mutex_lock(&s->mutex);
  s->stopping = true;
  s->cancels = cancel;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->mutex);
  pthread_join(s->thread, NULL);
  pthread_mutex_destroy(&s->mutex);
  pthread_cond_destroy(&s->changed);
  free(s);
}
