/* workers.h: simulated epoch-workers, which speak the wire protocol of api/wire/frame.h. They
 * train nothing. They report epochs and checkpoints, and end jobs; by chance they die, hang, are
 * deaf to a command, begin anew without their checkpoint, or send a report of an attempt that was
 * long ago. */
#ifndef EP_TEST_SIMULATOR_WORKERS_H
#define EP_TEST_SIMULATOR_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/simulator/sockets.h"

/* What no true report says: where it is stored, a late attempt has changed something. */
#define WORKERS_LATE_LOSS 31337.0
#define WORKERS_LATE_MESSAGE "a late report"

void workers_begin(void);
int worker_start(const char *device, channel *socket, channel *errors); /* its pid */
void worker_kill(int pid);
bool workers_has_ended(int pid);
typedef enum { WORKER_UNKNOWN, WORKER_LIVES, WORKER_ENDED } worker_fate;
/* status: the exit code, or the signal, negative. */
worker_fate worker_reap(int pid, int *status);
/* Something was sent through the socket. */
void workers_notice(const channel *socket);

/* The functions below are the simulator's, outside of tasks. */

void workers_step(void); /* what is due */
int64_t workers_next_us(void);
/* Calm: none dies, hangs or is deaf by chance. */
void workers_calm(bool calm);
/* The daemon has died: so have they. */
void workers_forget(void);
/* How many of an owner's jobs are in training. */
int workers_training(int owner);

#endif
