#include "engine/files/disk_wait.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "engine/parallel.h"

static atomic_uint_fast64_t waits_begun, waits_ended; /* of all threads */

void ep_disk_wait_begin(void) {
  atomic_fetch_add(&waits_begun, 1);
}

void ep_disk_wait_end(void) {
  atomic_fetch_add(&waits_ended, 1);
}

bool ep_disk_wait_active(uint64_t *seen) {
  uint64_t ended = atomic_load(&waits_ended); /* before what has begun: never more than that */
  bool active = atomic_load(&waits_begun) != ended || ended != *seen;
  *seen = ended;
  return active;
}

typedef struct {
  const ep_disk_wait *waits; /* [count] */
  ep_status status[EP_DISK_WAITS_MOST];
  ep_error error[EP_DISK_WAITS_MOST];
} waiting;

static ep_status folder_sync(const char *path, ep_error *error) {
  int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  ep_status status = EP_OK;
  if (fsync(file) != 0)
    status = ep_fail(error, ep_status_from_errno(errno), "%s: fsync: %s", path, strerror(errno));
  close(file);
  return status;
}

static ep_status file_sync(const ep_disk_wait *wait, ep_error *error) {
  if (fdatasync(wait->file) == 0) return EP_OK;
  return ep_fail(error, ep_status_from_errno(errno), "%s: fdatasync: %s", wait->path,
                 strerror(errno));
}

static void waits_do(void *context, int64_t first, int64_t count) {
  waiting *all = context;
  for (int64_t i = first; i < first + count; i++) {
    const ep_disk_wait *wait = &all->waits[i];
    all->status[i] =
        wait->file < 0 ? folder_sync(wait->path, &all->error[i]) : file_sync(wait, &all->error[i]);
  }
}

ep_status ep_disk_waits(const ep_disk_wait *waits, int count, ep_error *error) {
  waiting all = {.waits = waits};
  assert(count > 0 && count <= EP_DISK_WAITS_MOST);
  ep_disk_wait_begin();
  ep_parallel_for(count, waits_do, &all);
  ep_disk_wait_end();
  for (int i = 0; i < count; i++)
    if (all.status[i] != EP_OK) {
      if (error) *error = all.error[i];
      return all.status[i];
    }
  return EP_OK;
}
