/* parallel.h: a loop over many things, cut into ranges for the cores of the machine. For the
 * engine's own work before and after a training; backends have threads of their own. */
#ifndef EP_ENGINE_PARALLEL_H
#define EP_ENGINE_PARALLEL_H

#include <stdint.h>

/* Does things first … first + count - 1. What it writes for a thing depends on that thing alone. */
typedef void ep_parallel_task(void *context, int64_t first, int64_t count);

/* Calls the task for ranges that together are 0 … count - 1, each once, of `least` or more things
 * where there are so many, from several threads at once; returns when all are done. What the
 * system gives no thread for, the caller's does. */
void ep_parallel_run(int64_t count, int64_t least, ep_parallel_task *task, void *context);

/* The same for things that wait and do not compute: each is a range with a thread of its own,
 * however few cores there are. count: at most EP_LIMIT_PARALLEL_THREADS. */
void ep_parallel_for(int64_t count, ep_parallel_task *task, void *context);

#endif
