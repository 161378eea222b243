#include "server/slurm/gateway/submissions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/files/path.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"
#include "server/slurm/gateway/scheduler.h"
#include "server/slurm/gateway/shared.h"
#include "server/slurm/gateway/watch.h"

#define SECOND_US INT64_C(1000000)
#define LOOK_US (2 * SECOND_US)          /* between two looks at squeue while workers wait */
#define LOOK_SELDOM_US (10 * SECOND_US)  /* while all are connected */
#define UNSEEN_US (30 * SECOND_US)       /* after which one that squeue does not show has ended */
#define BACKOFF_FIRST_US (2 * SECOND_US) /* after a refusal of Slurm's, doubling */
#define BACKOFF_MOST_US (60 * SECOND_US)
#define LEFT_US (10 * SECOND_US) /* that a worker has to end by itself */

typedef struct {
  char id[EP_DEVICE_ID_BYTES];
  const ep_scheduler *scheduler;
  int wanted;
  ep_slurm_request request;     /* of new workers */
  int64_t backoff_us, again_us; /* after a refusal; the thread's */
  char told[EP_MESSAGE_BYTES];  /* what epochd was told of its wait; the thread's */
} partition;

struct ep_submissions {
  ep_gateway *gateway;
  char pin[EP_SHA256_HEX_BYTES];
  pthread_t thread;
  int64_t watch_us;      /* when the partitions are looked at next; the thread's */
  int64_t look_us;       /* when squeue is looked at next; the thread's */
  pthread_mutex_t mutex; /* guards what follows; taken before the tickets'. No entry is removed */
  pthread_cond_t changed;
  bool woken;
  partition partition[EP_LIMIT_DEVICES];
  int count;
};

static void waits_tell(ep_submissions *s, partition *p, const char *text) {
  ep_control control = {.kind = EP_CONTROL_WAITS};
  if (strcmp(p->told, text) == 0) return;
  snprintf(p->told, sizeof p->told, "%s", text);
  memcpy(control.device, p->id, sizeof control.device);
  memcpy(control.text, p->told, sizeof control.text);
  ep_control_send(s->gateway->control, &control, -1, NULL);
}

/* Makes the tickets of new workers; returns how many. The tickets are on disk then: a worker may
 * connect before sbatch has returned. */
static int tickets_make(ep_submissions *s, const char *device, const ep_slurm_request *request,
                        int count, ep_new_worker *list, ep_error *error) {
  ep_tickets *tickets = s->gateway->tickets;
  int made = 0;
  pthread_mutex_lock(&tickets->mutex);
  for (; made < count; made++) {
    ep_ticket *ticket = ep_tickets_add(tickets, device, request, list[made].secret);
    if (!ticket) break;
    memcpy(list[made].worker, ticket->worker, sizeof list[made].worker);
  }
  if (made == 0) ep_fail(error, EP_BUSY, "too many workers");
  if (made > 0 && ep_tickets_save(tickets, error) != EP_OK) {
    for (int i = 0; i < made; i++)
      ep_tickets_remove(tickets, ep_tickets_find(tickets, list[i].worker));
    made = 0;
  }
  pthread_mutex_unlock(&tickets->mutex);
  return made;
}

static void tickets_settle(ep_submissions *s, const ep_new_worker *list, int count,
                           ep_status status, int64_t job) {
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
  ep_new_worker list[EP_LIMIT_SLURM_WORKERS];
  ep_error error = {0};
  int64_t job = 0;
  const ep_order order = {.setup = s->gateway->setup,
                          .tickets = s->gateway->tickets,
                          .pin = s->pin,
                          .target = p->id + strlen(p->scheduler->prefix),
                          .request = request,
                          .workers = list,
                          .count = tickets_make(s, p->id, request, count, list, &error)};
  const int made = order.count;
  ep_status status = made > 0 ? p->scheduler->submit(&order, &job, &error) : EP_BUSY;
  tickets_settle(s, list, made, status, job);
  explicit_bzero(list, sizeof list);
  if (status != EP_OK) {
    refusal_note(s, p, error.message);
    return;
  }
  s->look_us = 0;
  ep_log(EP_LOG_INFO, "device %s: %d workers submitted to %s", p->id, made, p->scheduler->name);
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

static void ticket_cancel(const ep_ticket *ticket) {
  const ep_scheduler *scheduler = ep_scheduler_find(ticket->device);
  char job[EP_WORKER_WORDS_BYTES], log[EP_WORKER_WORDS_BYTES];
  ep_error error = {0};
  if (!scheduler || scheduler->cancel(ticket, &error) == EP_OK) return;
  scheduler->words(ticket, job, log);
  ep_log(EP_LOG_WARNING, "%s: %s", job, error.message);
}

/* Cancels workers that have not connected, the last ones first. */
static void surplus_cancel(ep_submissions *s, const char *device, int count) {
  ep_tickets *tickets = s->gateway->tickets;
  for (int i = EP_TICKETS; i-- > 0 && count > 0;) {
    ep_ticket *ticket = &tickets->ticket[i];
    pthread_mutex_lock(&tickets->mutex);
    const bool surplus = ticket->state == EP_TICKET_WAITING && ticket->job > 0 &&
                         strcmp(ticket->device, device) == 0;
    if (surplus) ep_ticket_set(ticket, EP_TICKET_ENDED);
    const ep_ticket copy = *ticket;
    pthread_mutex_unlock(&tickets->mutex);
    if (!surplus) continue;
    count--;
    ticket_cancel(&copy);
  }
}

static bool job_is(const ep_slurm_job *job, const ep_ticket *ticket) {
  if (job->worker[0]) return strcmp(job->worker, ticket->worker) == 0;
  return job->job == ticket->job && (job->task == ticket->task || job->task < 0);
}

static const ep_slurm_job *listed_find(const ep_slurm_jobs *jobs, const ep_ticket *ticket) {
  for (int i = 0; i < jobs->count; i++)
    if (job_is(&jobs->jobs[i], ticket)) return &jobs->jobs[i];
  return NULL;
}

/* What is to be done about a ticket, by what Slurm says. */
typedef enum { LOOK_NOTHING, LOOK_REMOVE, LOOK_GONE, LOOK_CANCEL } look_verdict;

static look_verdict ticket_judge(const ep_ticket *ticket, const ep_slurm_job *job, int64_t now_us,
                                 int64_t reconnect_us) {
  const int64_t age_us = now_us - ticket->since_us;
  const bool ended = job ? job->phase == EP_SLURM_ENDED : age_us >= UNSEEN_US;
  if (ticket->state == EP_TICKET_FREE) return LOOK_NOTHING;
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

/* How a worker ended. job: its row of the scheduler's list; NULL: it is in none any more. */
static void ending_words(const ep_scheduler *scheduler, const ep_ticket *ticket,
                         const ep_slurm_job *job, char text[EP_WORKER_WORDS_BYTES]) {
  if (scheduler->ending && scheduler->ending(ticket, text)) return;
  if (job)
    snprintf(text, EP_WORKER_WORDS_BYTES, "%s, exit code %d", job->state, job->exit_code);
  else
    snprintf(text, EP_WORKER_WORDS_BYTES, "not listed any more");
}

/* A worker that has ended before it connected: what it printed says why. */
static void never_came(ep_submissions *s, const ep_ticket *ticket, const ep_slurm_job *job) {
  char text[EP_MESSAGE_BYTES], name[EP_WORKER_WORDS_BYTES], log[EP_WORKER_WORDS_BYTES];
  char how[EP_WORKER_WORDS_BYTES];
  pthread_mutex_lock(&s->mutex);
  partition *p = partition_find(s, ticket->device);
  pthread_mutex_unlock(&s->mutex);
  if (!p) return;
  p->scheduler->words(ticket, name, log);
  ending_words(p->scheduler, ticket, job, how);
  snprintf(text, sizeof text,
           "%.120s ended (%s) before its worker connected: see its output in %.160s", name, how,
           log);
  refusal_note(s, p, text);
}

static void ticket_look(ep_submissions *s, const ep_scheduler *scheduler, ep_ticket *ticket,
                        const ep_slurm_jobs *jobs) {
  ep_tickets *tickets = s->gateway->tickets;
  const int64_t reconnect_us = s->gateway->setup->reconnect_seconds * SECOND_US;
  char text[EP_MESSAGE_BYTES];
  pthread_mutex_lock(&tickets->mutex);
  const ep_ticket before = *ticket;
  if (before.state == EP_TICKET_FREE || ep_scheduler_find(before.device) != scheduler) {
    pthread_mutex_unlock(&tickets->mutex);
    return;
  }
  const ep_slurm_job *job = listed_find(jobs, &before);
  look_verdict verdict = ticket_judge(ticket, job, ep_clock_steady_us(), reconnect_us);
  if (verdict == LOOK_REMOVE) ep_tickets_remove(tickets, ticket);
  if (verdict == LOOK_GONE) ep_ticket_set(ticket, EP_TICKET_ENDED);
  if (verdict == LOOK_CANCEL) ep_ticket_set(ticket, EP_TICKET_ENDED); /* again later */
  pthread_mutex_unlock(&tickets->mutex);
  if (verdict == LOOK_REMOVE && before.state == EP_TICKET_WAITING) never_came(s, &before, job);
  if (verdict == LOOK_REMOVE && scheduler->forget) scheduler->forget(&before);
  if (verdict == LOOK_GONE) {
    char how[EP_WORKER_WORDS_BYTES];
    ending_words(scheduler, &before, job, how);
    snprintf(text, sizeof text, "%s's job of the worker ended: %s", scheduler->name, how);
    gone_tell(s, &before, text);
  }
  if (verdict == LOOK_CANCEL) ticket_cancel(&before);
}

/* The scheduler's reason, for workers that wait. */
static void reasons_tell(ep_submissions *s, const ep_scheduler *scheduler,
                         const ep_slurm_jobs *jobs) {
  pthread_mutex_lock(&s->mutex);
  const int count = s->count;
  pthread_mutex_unlock(&s->mutex);
  for (int i = 0; i < count; i++) {
    partition *p = &s->partition[i];
    int waiting, all;
    const char *reason = "";
    if (p->scheduler != scheduler) continue;
    tickets_count(s, p->id, &waiting, &all);
    for (int j = 0; waiting > 0 && j < jobs->count; j++)
      if (jobs->jobs[j].phase == EP_SLURM_PENDING &&
          strcmp(jobs->jobs[j].partition, p->id + strlen(scheduler->prefix)) == 0)
        reason = jobs->jobs[j].reason;
    if (p->again_us == 0) waits_tell(s, p, strcmp(reason, "None") == 0 ? "" : reason);
  }
}

/* The targets of a scheduler that have tickets. */
typedef struct {
  char device[EP_LIMIT_DEVICES][EP_DEVICE_ID_BYTES];
  const char *targets[EP_LIMIT_DEVICES]; /* [count], in `device` */
  int count;
} target_list;

static void target_add(target_list *list, const ep_scheduler *scheduler, const char *device) {
  const char *target = device + strlen(scheduler->prefix);
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->targets[i], target) == 0) return;
  if (list->count == EP_LIMIT_DEVICES) return;
  char *copy = list->device[list->count];
  snprintf(copy, sizeof *list->device, "%s", device);
  list->targets[list->count++] = copy + strlen(scheduler->prefix);
}

static void targets_find(ep_tickets *tickets, const ep_scheduler *scheduler, target_list *list) {
  list->count = 0;
  pthread_mutex_lock(&tickets->mutex);
  for (int i = 0; i < EP_TICKETS; i++) {
    const ep_ticket *ticket = &tickets->ticket[i];
    if (ticket->state != EP_TICKET_FREE && ep_scheduler_find(ticket->device) == scheduler)
      target_add(list, scheduler, ticket->device);
  }
  pthread_mutex_unlock(&tickets->mutex);
}

static void scheduler_look(ep_submissions *s, const ep_scheduler *scheduler) {
  target_list list;
  ep_slurm_jobs jobs = {0};
  ep_error error = {0};
  targets_find(s->gateway->tickets, scheduler, &list);
  if (list.count > 0 && scheduler->list(list.targets, list.count, &jobs, &error) != EP_OK) {
    ep_log(EP_LOG_WARNING, "%s: %s", scheduler->name, error.message);
    return;
  }
  for (int i = 0; list.count > 0 && i < EP_TICKETS; i++)
    ticket_look(s, scheduler, &s->gateway->tickets->ticket[i], &jobs);
  reasons_tell(s, scheduler, &jobs);
  ep_slurm_jobs_free(&jobs);
}

static void schedulers_look(ep_submissions *s, bool any_doubt) {
  int count;
  const ep_scheduler *const *schedulers = ep_schedulers(&count);
  s->look_us = ep_clock_steady_us() + (any_doubt ? LOOK_US : LOOK_SELDOM_US);
  for (int i = 0; i < count; i++) scheduler_look(s, schedulers[i]);
}

/* Whether there are tickets, and whether a scheduler knows more of one than its connection says. */
static bool any_ticket(ep_submissions *s, bool *any_doubt) {
  bool any = false;
  pthread_mutex_lock(&s->gateway->tickets->mutex);
  for (int i = 0; i < EP_TICKETS; i++) {
    const ep_ticket_state state = s->gateway->tickets->ticket[i].state;
    any = any || state != EP_TICKET_FREE;
    *any_doubt = *any_doubt || (state != EP_TICKET_FREE && state != EP_TICKET_CONNECTED);
  }
  pthread_mutex_unlock(&s->gateway->tickets->mutex);
  return any;
}

/* What Slurm shows of the partitions, for epochd. */
static void partitions_watch(ep_submissions *s) {
  ep_watched list[EP_LIMIT_DEVICES];
  const int64_t now_us = ep_clock_steady_us();
  pthread_mutex_lock(&s->mutex);
  int count = 0;
  for (int i = 0; i < s->count; i++) {
    if (s->partition[i].scheduler != &ep_scheduler_slurm) continue;
    memcpy(list[count].device, s->partition[i].id, sizeof list[count].device);
    list[count++].request = s->partition[i].request;
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
  if (any && now_us >= s->look_us) schedulers_look(s, any_doubt);
  partitions_watch(s);
}

static void *submissions_run(void *context) {
  ep_submissions *s = context;
  pthread_mutex_lock(&s->mutex);
  for (;;) {
    s->woken = false;
    pthread_mutex_unlock(&s->mutex);
    round_make(s);
    pthread_mutex_lock(&s->mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    while (!s->woken && pthread_cond_timedwait(&s->changed, &s->mutex, &until) != ETIMEDOUT) {
    }
  }
  return NULL;
}

static ep_status folder_make(const char *base, const char *name, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, base, name, NULL);
  return status == EP_OK ? ep_data_dir_create(path, error) : status;
}

ep_status ep_submissions_start(ep_gateway *gateway, const char *pin, ep_submissions **out,
                               ep_error *error) {
  ep_submissions *s = calloc(1, sizeof *s);
  if (!s) return ep_fail_memory(error);
  s->gateway = gateway;
  snprintf(s->pin, sizeof s->pin, "%s", pin);
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->changed, NULL);
  const char *shared = gateway->setup->shared_dir;
  ep_status status = shared[0] ? folder_make(shared, "workers", error) : EP_OK;
  if (status == EP_OK && shared[0]) status = folder_make(shared, "logs", error);
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
  const ep_scheduler *scheduler = ep_scheduler_find(device);
  if (!p && scheduler && s->count < EP_LIMIT_DEVICES) {
    p = &s->partition[s->count++];
    snprintf(p->id, sizeof p->id, "%s", device);
    p->scheduler = scheduler;
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
