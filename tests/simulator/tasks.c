#include "tests/simulator/tasks.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "tests/simulator/memory.h"
#include "tests/simulator/simulator.h"

enum { TASKS_MOST = 256, STACK_BYTES = 2 << 20, YIELD_TIMES = 12 };

typedef enum {
  TASK_FREE,
  TASK_READY,
  TASK_SLEEPS,
  TASK_POLLS,
  TASK_AT_MUTEX,
  TASK_AT_CONDITION,
  TASK_JOINS,
  TASK_DONE
} task_state;

typedef struct task {
  ucontext_t context;
  char *stack;
  task_state state;
  const void *waits_for; /* mutex, condition or task */
  int64_t until_us;      /* INT64_MAX = for ever */
  bool timed_out, detached;
  task_run *run;
  void *argument;
} task;

typedef struct {
  ucontext_t scheduler;
  task task[TASKS_MOST];
  task *running;
  int used;    /* those behind were never used */
  int waiting; /* at mutexes */
  bool died;
} task_list;

static task_list *TASKS;

/* In a pthread_mutex_t; all zero is free. */
typedef struct {
  task *owner;
} simulated_mutex;

_Static_assert(sizeof(simulated_mutex) <= sizeof(pthread_mutex_t), "it fits");

void tasks_begin(void) {
  TASKS = outside_calloc(1, sizeof *TASKS);
}

static void task_begin(void) {
  task *self = TASKS->running;
  self->run(self->argument);
  self = TASKS->running;
  self->state = self->detached ? TASK_FREE : TASK_DONE;
  for (int i = 0; i < TASKS->used; i++)
    if (TASKS->task[i].state == TASK_JOINS && TASKS->task[i].waits_for == self)
      TASKS->task[i].state = TASK_READY;
  setcontext(&TASKS->scheduler);
}

static task *task_make(task_run *run, void *argument, bool detached) {
  int i = 0;
  while (i < TASKS_MOST && TASKS->task[i].state != TASK_FREE) i++;
  must_hold(i < TASKS_MOST, "more than %d threads", TASKS_MOST);
  if (i >= TASKS->used) TASKS->used = i + 1;
  task *made = &TASKS->task[i];
  if (!made->stack) {
    made->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    must_hold(made->stack != MAP_FAILED, "no stack");
  }
  getcontext(&made->context);
  made->context.uc_stack.ss_sp = made->stack;
  made->context.uc_stack.ss_size = STACK_BYTES;
  made->context.uc_link = NULL;
  makecontext(&made->context, task_begin, 0);
  made->run = run;
  made->argument = argument;
  made->detached = detached;
  made->state = TASK_READY;
  made->until_us = INT64_MAX;
  return made;
}

void task_start(task_run *run, void *argument) {
  task_make(run, argument, true);
}

/* The running task waits, or lets others go first. */
static void task_leave(task_state state, const void *waits_for, int64_t until_us) {
  task *self = TASKS->running;
  self->state = state;
  self->waits_for = waits_for;
  self->until_us = until_us;
  self->timed_out = false;
  int before = errno;
  swapcontext(&self->context, &TASKS->scheduler);
  errno = before;
}

bool tasks_step(void) {
  task *ready[TASKS_MOST];
  uint64_t count = 0;
  for (int i = 0; i < TASKS->used; i++)
    if (TASKS->task[i].state == TASK_READY) ready[count++] = &TASKS->task[i];
  if (count == 0) return false;
  task *next = ready[count == 1 ? 0 : random_below(count)];
  trace_note(1, (uint64_t)(next - TASKS->task));
  TASKS->running = next;
  SIM->inside = true;
  swapcontext(&TASKS->scheduler, &next->context);
  SIM->inside = false;
  TASKS->running = NULL;
  SIM->now_us++;
  return true;
}

int64_t tasks_next_us(void) {
  int64_t first_us = INT64_MAX;
  for (int i = 0; i < TASKS->used; i++) {
    const task *one = &TASKS->task[i];
    bool timed =
        one->state == TASK_SLEEPS || one->state == TASK_POLLS || one->state == TASK_AT_CONDITION;
    if (timed && one->until_us < first_us) first_us = one->until_us;
  }
  return first_us;
}

void tasks_wake_due(void) {
  for (int i = 0; i < TASKS->used; i++) {
    task *one = &TASKS->task[i];
    bool timed =
        one->state == TASK_SLEEPS || one->state == TASK_POLLS || one->state == TASK_AT_CONDITION;
    if (!timed || one->until_us > SIM->now_us) continue;
    one->state = TASK_READY;
    one->timed_out = true;
  }
}

void tasks_wake_pollers(void) {
  for (int i = 0; i < TASKS->used; i++)
    if (TASKS->task[i].state == TASK_POLLS) TASKS->task[i].state = TASK_READY;
}

void tasks_forget(void) {
  for (int i = 0; i < TASKS->used; i++) TASKS->task[i].state = TASK_FREE;
  TASKS->waiting = 0;
  TASKS->died = false;
}

int tasks_count(void) {
  int count = 0;
  for (int i = 0; i < TASKS->used; i++) count += TASKS->task[i].state != TASK_FREE;
  return count;
}

void tasks_print(void) {
  static const char *const names[] = {"free",     "ready",        "sleeps", "polls",
                                      "at mutex", "at condition", "joins",  "done"};
  for (int i = 0; i < TASKS->used; i++)
    if (TASKS->task[i].state != TASK_FREE)
      printf("task %d: %s %p\n", i, names[TASKS->task[i].state], TASKS->task[i].waits_for);
}

void task_sleep(int64_t us) {
  task_leave(TASK_SLEEPS, NULL, SIM->now_us + us);
}

void task_yield(void) {
  task_leave(TASK_READY, NULL, INT64_MAX);
}

void task_poll(int64_t until_us) {
  task_leave(TASK_POLLS, NULL, until_us);
}

void task_die(void) {
  TASKS->died = true;
  task_leave(TASK_DONE, NULL, INT64_MAX);
  abort();
}

bool tasks_died(void) {
  return TASKS->died;
}

/* What the linker calls in the C library's place. */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, task_run *run,
                          void *argument);
int __wrap_pthread_join(pthread_t thread, void **result);
pthread_t __wrap_pthread_self(void);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_destroy(pthread_cond_t *condition);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
time_t __wrap_time(time_t *out);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, task_run *run,
                          void *argument) {
  (void)attributes;
  *thread = (pthread_t)(uintptr_t)task_make(run, argument, false);
  return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result) {
  task *other = (task *)(uintptr_t)thread;
  while (other->state != TASK_DONE) task_leave(TASK_JOINS, other, INT64_MAX);
  other->state = TASK_FREE;
  if (result) *result = NULL;
  return 0;
}

pthread_t __wrap_pthread_self(void) {
  return (pthread_t)(uintptr_t)TASKS->running;
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
  (void)attributes;
  memset(mutex, 0, sizeof *mutex);
  return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex) {
  (void)mutex;
  return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  simulated_mutex *lock = (simulated_mutex *)mutex;
  if (!SIM->inside) return 0;
  if (one_in(YIELD_TIMES)) task_yield();
  must_hold(lock->owner != TASKS->running, "a thread locks its own mutex");
  while (lock->owner) {
    TASKS->waiting++;
    task_leave(TASK_AT_MUTEX, mutex, INT64_MAX);
  }
  lock->owner = TASKS->running;
  return 0;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  simulated_mutex *lock = (simulated_mutex *)mutex;
  if (lock->owner) return EBUSY;
  lock->owner = TASKS->running;
  return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  simulated_mutex *lock = (simulated_mutex *)mutex;
  if (!SIM->inside) return 0;
  must_hold(lock->owner == TASKS->running, "a thread unlocks the mutex of another");
  lock->owner = NULL;
  for (int i = 0; TASKS->waiting > 0 && i < TASKS->used; i++)
    if (TASKS->task[i].state == TASK_AT_MUTEX && TASKS->task[i].waits_for == mutex) {
      TASKS->task[i].state = TASK_READY;
      TASKS->waiting--;
    }
  return 0;
}

int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
  (void)condition, (void)attributes;
  return 0;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *condition) {
  (void)condition;
  return 0;
}

static int condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until_us) {
  __wrap_pthread_mutex_unlock(mutex);
  task_leave(TASK_AT_CONDITION, condition, until_us);
  bool timed_out = TASKS->running->timed_out;
  __wrap_pthread_mutex_lock(mutex);
  return timed_out ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  return condition_wait(condition, mutex, INT64_MAX);
}

/* All of the core wait by the steady clock. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until) {
  return condition_wait(condition, mutex, (int64_t)until->tv_sec * 1000000 + until->tv_nsec / 1000);
}

static void condition_wake(const pthread_cond_t *condition, bool all) {
  int first = TASKS->used > 0 ? (int)random_below((uint64_t)TASKS->used) : 0;
  for (int i = 0; i < TASKS->used; i++) {
    task *one = &TASKS->task[(first + i) % TASKS->used];
    if (one->state != TASK_AT_CONDITION || one->waits_for != condition) continue;
    one->state = TASK_READY;
    if (!all) return;
  }
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition) {
  condition_wake(condition, false);
  return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition) {
  condition_wake(condition, true);
  return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
  int64_t us = SIM->now_us + (clock == CLOCK_REALTIME ? SIM->utc_us : 0);
  *out = (struct timespec){us / 1000000, us % 1000000 * 1000};
  return 0;
}

time_t __wrap_time(time_t *out) {
  time_t now = (time_t)((SIM->now_us + SIM->utc_us) / 1000000);
  if (out) *out = now;
  return now;
}
