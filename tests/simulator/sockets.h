/* sockets.h: descriptors: open files, sockets to the workers, pipes, event descriptors, processes.
 * It stands in for socketpair, pipe2, eventfd, send, recv, poll, waitid, kill, and for ep_spawn.
 */
#ifndef EP_TEST_SIMULATOR_SOCKETS_H
#define EP_TEST_SIMULATOR_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simulator/disk.h"

/* Two streams of bytes between two ends. Of a socket pair end 0 is the daemon's. */
typedef struct {
  uint8_t *bytes[2]; /* [capacity] on their way to each end */
  size_t count[2], capacity[2];
  int holders[2]; /* of each end; 0 = it is closed */
} channel;

channel *channel_make(void);
void channel_hold(channel *one, int end);
void channel_leave(channel *one, int end); /* freed once nobody holds it */
void channel_put(channel *one, int to, const void *bytes, size_t count);
size_t channel_take(channel *one, int at, void *bytes, size_t most);

typedef enum {
  DESCRIPTOR_FREE,
  DESCRIPTOR_FILE,
  DESCRIPTOR_EVENT,
  DESCRIPTOR_CHANNEL,
  DESCRIPTOR_PROCESS
} descriptor_kind;

typedef struct {
  descriptor_kind kind;
  disk_file *file; /* retained */
  int64_t offset;
  bool append, locked;
  uint64_t events;
  channel *channel;
  int end;
  int pid;
} descriptor;

void sockets_begin(void);
int descriptor_open(descriptor_kind kind); /* its number */
descriptor *descriptor_find(int number);   /* NULL: it is none of the simulator's */
int descriptor_close(int number);
/* The daemon has died: all are closed. */
void descriptors_forget(void);
int descriptors_count(void);                  /* that are open */
bool descriptors_lock(const disk_file *file); /* false: another one has locked it */

#endif
