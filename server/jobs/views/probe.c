#include <stdlib.h>
#include <string.h>

#include "server/jobs/live/live.h"

/* Of all devices and the data folder: done with the last reply. */
typedef struct {
  ep_disk_probe_request disk;
  pthread_mutex_t mutex; /* guards what follows */
  int left;
  ep_error error; /* the first; status EP_OK = none */
  ep_error full;  /* of the data folder; the same */
  ep_jobs_ready *done;
  void *context;
} probe;

typedef struct {
  probe *whole;
  char device[EP_DEVICE_ID_BYTES];
} device_probe;

/* One of `left` is over: the last one calls `done` and frees the whole. device: NULL = the data
 * folder. */
static void probe_count(probe *whole, const char *device, const ep_error *error) {
  pthread_mutex_lock(&whole->mutex);
  if (error && whole->error.status == EP_OK)
    ep_fail(&whole->error, EP_UNAVAILABLE, "%s%s%s%.400s", device ? "device " : "",
            device ? device : "", device ? ": " : "", error->message);
  bool last = --whole->left == 0;
  pthread_mutex_unlock(&whole->mutex);
  if (!last) return;
  whole->done(whole->context, whole->error.status != EP_OK ? &whole->error : NULL,
              whole->full.status != EP_OK ? &whole->full : NULL);
  pthread_mutex_destroy(&whole->mutex);
  free(whole);
}

static void probe_done(void *context, const ep_reply *reply, const ep_error *error) {
  device_probe *request = context;
  (void)reply;
  probe_count(request->whole, request->device, error);
  free(request);
}

static void disk_done(void *context, const ep_error *error, const ep_error *full) {
  probe *whole = context;
  if (full) whole->full = *full; /* read by the last alone */
  probe_count(context, NULL, error);
}

static void device_request(ep_jobs *jobs, probe *whole, const ep_device_status *device,
                           int timeout_ms) {
  ep_error error = {0};
  ep_command command = {.kind = EP_COMMAND_PROBE};
  device_probe *request = malloc(sizeof *request);
  ep_status status = EP_OK;
  if (!request) {
    status = ep_fail_memory(&error);
  } else if (device->state != EP_DEVICE_IDLE && device->state != EP_DEVICE_BUSY) {
    status = ep_fail(&error, EP_UNAVAILABLE, "it is %s", ep_device_state_name(device->state));
  } else {
    request->whole = whole;
    memcpy(request->device, device->info.id, sizeof request->device);
    status = ep_supervisor_request(jobs->supervisor, device->info.id, true, &command, timeout_ms,
                                   probe_done, request, &error);
  }
  if (status == EP_OK) return;
  free(request);
  probe_count(whole, device->info.id, &error);
}

void ep_jobs_probe(ep_jobs *jobs, int timeout_ms, ep_jobs_ready *done, void *context) {
  ep_error error = {0};
  ep_device_list *devices = malloc(sizeof *devices);
  probe *whole = calloc(1, sizeof *whole);
  if (!devices || !whole) {
    free(devices);
    free(whole);
    ep_fail_memory(&error);
    done(context, &error, NULL);
    return;
  }
  ep_supervisor_get_devices(jobs->supervisor, devices);
  pthread_mutex_init(&whole->mutex, NULL);
  int local = 0; /* workers of other machines come and go */
  for (int i = 0; i < devices->count; i++)
    local += !ep_device_is_remote(devices->device[i].info.id);
  /* One for the folder, and one for this function, so that the end does not come too early. */
  whole->left = local + 2;
  whole->done = done;
  whole->context = context;
  whole->disk = (ep_disk_probe_request){.done = disk_done, .context = whole};
  ep_disk_probe_ask(jobs->disk_probe, &whole->disk);
  for (int i = 0; i < devices->count; i++)
    if (!ep_device_is_remote(devices->device[i].info.id))
      device_request(jobs, whole, &devices->device[i], timeout_ms);
  free(devices);
  probe_count(whole, NULL, NULL);
}
