/* tasks.h: the daemon's threads as tasks of one thread: each has a stack, and runs until it waits
 * (for a mutex, a condition, the disk, a descriptor, the end of another task) or, by chance, at a
 * mutex. Which one runs next is random. So the loops of the daemon's threads run as they are, in
 * every order, and no two at a time.
 *
 * It stands in for pthread_create, join, self, mutexes, conditions, clock_gettime and time. */
#ifndef EP_TEST_SIMULATOR_TASKS_H
#define EP_TEST_SIMULATOR_TASKS_H

#include <stdbool.h>
#include <stdint.h>

typedef void *task_run(void *argument);

void tasks_begin(void);
/* A task that nobody joins. */
void task_start(task_run *run, void *argument);

/* The functions below are the simulator's, outside of tasks. */

/* Runs a task, by chance, until it waits; false: all wait. */
bool tasks_step(void);
/* When the first one goes on by itself; INT64_MAX: never. */
int64_t tasks_next_us(void);
/* Those whose time has come go on. */
void tasks_wake_due(void);
/* Those that wait for descriptors look at them again. */
void tasks_wake_pollers(void);
/* The daemon is dead: no task goes on. */
void tasks_forget(void);
int tasks_count(void);
void tasks_print(void); /* what each one waits for */

/* The functions below are a task's. */

void task_sleep(int64_t us);
void task_yield(void);
/* Until a descriptor may be ready, or until until_us. */
void task_poll(int64_t until_us);
/* The daemon dies in this call. */
_Noreturn void task_die(void);
/* Whether a task died in its last step. */
bool tasks_died(void);

#endif
