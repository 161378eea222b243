#include "kernels/cpu/executors/ranks/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "kernels/cpu/runtime/denormals.h"

typedef struct {
  ep_team *team;
  int number;
  pthread_t thread;
} member;

struct ep_team {
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t begins, ends;
  ep_team_task task; /* NULL: the threads are to end */
  void *context;
  uint64_t runs; /* begun so far */
  int busy;      /* members that have not ended the present one */
  int count;     /* threads that there are */
  member *members;
};

/* The next run behind `runs`; false: there is none. */
static bool run_await(ep_team *team, uint64_t *runs, ep_team_task *task, void **context) {
  pthread_mutex_lock(&team->mutex);
  while (team->runs == *runs) pthread_cond_wait(&team->begins, &team->mutex);
  *runs = team->runs;
  *task = team->task;
  *context = team->context;
  pthread_mutex_unlock(&team->mutex);
  return *task != NULL;
}

static void *member_work(void *context) {
  const member *self = context;
  ep_team *team = self->team;
  ep_team_task task;
  void *task_context;
  uint64_t runs = 0;
  ep_denormals_flush();
  while (run_await(team, &runs, &task, &task_context)) {
    task(task_context, self->number);
    pthread_mutex_lock(&team->mutex);
    if (--team->busy == 0) pthread_cond_signal(&team->ends);
    pthread_mutex_unlock(&team->mutex);
  }
  return NULL;
}

/* Signals are for the program's own threads. */
static bool members_start(ep_team *team, int members) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; team->count < members; team->count++) {
    member *next = &team->members[team->count];
    *next = (member){.team = team, .number = team->count};
    if (pthread_create(&next->thread, NULL, member_work, next) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return team->count == members;
}

ep_status ep_team_create(int members, ep_team **out, ep_error *error) {
  ep_team *team = calloc(1, sizeof *team);
  member *places = calloc((size_t)members, sizeof *places);
  if (!team || !places) {
    free(places);
    free(team);
    return ep_fail(error, EP_NO_MEMORY, "no memory for %d ranks", members);
  }
  team->members = places;
  pthread_mutex_init(&team->mutex, NULL);
  pthread_cond_init(&team->begins, NULL);
  pthread_cond_init(&team->ends, NULL);
  *out = team;
  if (members_start(team, members)) return EP_OK;
  ep_team_destroy(team);
  *out = NULL;
  return ep_fail(error, EP_NO_MEMORY, "the system gives no threads for %d ranks", members);
}

static void run_begin(ep_team *team, ep_team_task task, void *context) {
  team->task = task;
  team->context = context;
  team->busy = team->count;
  team->runs++;
  pthread_cond_broadcast(&team->begins);
}

void ep_team_destroy(ep_team *team) {
  if (!team) return;
  pthread_mutex_lock(&team->mutex);
  run_begin(team, NULL, NULL);
  pthread_mutex_unlock(&team->mutex);
  for (int i = 0; i < team->count; i++) pthread_join(team->members[i].thread, NULL);
  pthread_cond_destroy(&team->ends);
  pthread_cond_destroy(&team->begins);
  pthread_mutex_destroy(&team->mutex);
  free(team->members);
  free(team);
}

void ep_team_run(ep_team *team, ep_team_task task, void *context) {
  pthread_mutex_lock(&team->mutex);
  run_begin(team, task, context);
  while (team->busy > 0) pthread_cond_wait(&team->ends, &team->mutex);
  pthread_mutex_unlock(&team->mutex);
}
