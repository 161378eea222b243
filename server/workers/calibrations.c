#include "server/workers/calibrations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/files/durable_file.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

/* A device is calm after so long without a job: a job that is submitted right after the daemon's
 * start meets no measurement. */
#define CALM_US INT64_C(1500000)
enum { MEASURE_MS = 120000, FAILURES_MOST = 2 };

void ep_calibrations_init(ep_calibrations *calibrations) {
  memset(calibrations, 0, sizeof *calibrations);
  pthread_mutex_init(&calibrations->mutex, NULL);
  calibrations->measuring = -1;
}

void ep_calibrations_deinit(ep_calibrations *calibrations) {
  pthread_mutex_destroy(&calibrations->mutex);
}

static ep_calibration_key key_of(const ep_device_info *info) {
  ep_calibration_key key = {.threads = info->threads};
  memcpy(key.device, info->id, sizeof key.device);
  memcpy(key.name, info->name, sizeof key.name);
  memcpy(key.instruction_set, info->instruction_set, sizeof key.instruction_set);
  memcpy(key.driver, info->driver, sizeof key.driver);
  snprintf(key.version, sizeof key.version, "%s", EP_VERSION);
  return key;
}

/* DATA/calibration/cuda-0.json */
static ep_status path_make(const ep_calibrations *calibrations, const char *device,
                           char path[EP_PATH_BYTES], ep_error *error) {
  char file[32];
  snprintf(file, sizeof file, "%.16s.json", device);
  for (char *at = file; *at; at++)
    if (*at == ':') *at = '-';
  return ep_path_join(path, error, calibrations->data_dir, "calibration", file, NULL);
}

/* Without a file, or with another device's, the device is measured. */
static bool file_read(const ep_calibrations *calibrations, const ep_calibration_key *key,
                      ep_calibration *out) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  if (path_make(calibrations, key->device, path, &error) != EP_OK) return false;
  FILE *file = fopen(path, "re");
  char *text = malloc(EP_LIMIT_CALIBRATION_BYTES);
  size_t bytes = file && text ? fread(text, 1, EP_LIMIT_CALIBRATION_BYTES, file) : 0;
  bool known = bytes > 0 && ep_calibration_parse(text, bytes, key, out, &error) == EP_OK;
  if (bytes > 0 && !known)
    ep_log(EP_LOG_INFO, "device %s is measured again: %s: %s", key->device, path, error.message);
  free(text);
  if (file) fclose(file);
  return known;
}

static ep_status text_write(const char *path, const char *text, ep_error *error) {
  ep_durable_file *file = NULL;
  ep_status status = ep_durable_file_create(path, &file, error);
  if (status != EP_OK) return status;
  status = ep_durable_file_write(file, text, strlen(text), error);
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}

/* A calibration that cannot be written is used all the same, and measured again at the next start.
 */
static void file_write(const ep_calibrations *calibrations, const ep_calibration_key *key,
                       const ep_calibration *calibration) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  char *text = ep_calibration_format(key, calibration);
  ep_status status = text ? EP_OK : ep_fail_memory(&error);
  if (status == EP_OK)
    status = ep_path_join(path, &error, calibrations->data_dir, "calibration", NULL);
  if (status == EP_OK) status = ep_data_dir_create(path, &error);
  if (status == EP_OK) status = path_make(calibrations, key->device, path, &error);
  if (status == EP_OK) status = text_write(path, text, &error);
  if (status != EP_OK)
    ep_log(EP_LOG_WARNING, "the calibration of device %s is not stored: %s", key->device,
           error.message);
  free(text);
}

static void calibration_keep(ep_calibrations *calibrations, int index,
                             const ep_calibration *calibration) {
  ep_device_calibration *device = &calibrations->device[index];
  pthread_mutex_lock(&calibrations->mutex);
  device->calibration = *calibration;
  memset(device->drifts, 0, sizeof device->drifts);
  device->known = true;
  pthread_mutex_unlock(&calibrations->mutex);
}

/* On the supervisor's thread. */
static void calibration_done(void *context, const ep_reply *reply, const ep_error *error) {
  ep_calibrations *calibrations = context;
  int index = calibrations->measuring;
  ep_device_calibration *device = &calibrations->device[index];
  calibrations->measuring = -1;
  device->calm_us = 0;
  if (reply && reply->calibration.count > 0) {
    file_write(calibrations, &device->key, &reply->calibration);
    calibration_keep(calibrations, index, &reply->calibration);
    ep_log(EP_LOG_INFO, "device %s is calibrated", device->key.device);
    return;
  }
  if (error && error->status == EP_BUSY) return; /* a job came first */
  if (ep_supervisor_is_stopping(calibrations->supervisor)) return;
  device->failures++;
  ep_log(EP_LOG_WARNING, "device %s could not be measured: %s", device->key.device,
         error ? error->message : "no output");
}

static void measurement_start(ep_calibrations *calibrations, int index) {
  ep_device_calibration *device = &calibrations->device[index];
  ep_command command = {.kind = EP_COMMAND_CALIBRATE};
  ep_error error = {0};
  calibrations->measuring = index;
  ep_status status =
      ep_supervisor_request(calibrations->supervisor, device->key.device, true, &command,
                            MEASURE_MS, calibration_done, calibrations, &error);
  if (status == EP_OK) return;
  calibrations->measuring = -1;
  if (ep_supervisor_is_stopping(calibrations->supervisor)) return;
  device->failures++;
  ep_log(EP_LOG_WARNING, "device %s cannot be measured: %s", device->key.device, error.message);
}

/* Reads the file of a device, once its worker has reported it. */
static void device_look(ep_calibrations *calibrations, int index, const ep_device_info *info) {
  ep_device_calibration *device = &calibrations->device[index];
  ep_calibration *found = malloc(sizeof *found);
  if (!found) return; /* in another round */
  device->key = key_of(info);
  pthread_mutex_lock(&calibrations->mutex);
  device->looked = true;
  pthread_mutex_unlock(&calibrations->mutex);
  if (file_read(calibrations, &device->key, found)) calibration_keep(calibrations, index, found);
  free(found);
}

static bool is_of_kind(const ep_calibration_key *a, const ep_calibration_key *b) {
  return ep_device_is_cuda(a->device) && ep_device_is_cuda(b->device) &&
         strcmp(a->name, b->name) == 0 && strcmp(a->instruction_set, b->instruction_set) == 0 &&
         strcmp(a->driver, b->driver) == 0 && a->threads == b->threads;
}

/* A GPU has the costs of another one of its kind that was measured. */
static void kind_look(ep_calibrations *calibrations, int index, int count) {
  ep_device_calibration *device = &calibrations->device[index];
  for (int i = 0; i < count && !device->known; i++) {
    const ep_device_calibration *other = &calibrations->device[i];
    if (!other->known || !is_of_kind(&device->key, &other->key)) continue;
    file_write(calibrations, &device->key, &other->calibration);
    calibration_keep(calibrations, index, &other->calibration);
    ep_log(EP_LOG_INFO, "device %s is calibrated: it is the same kind as %s", device->key.device,
           other->key.device);
  }
}

/* Whether all its workers are idle. One that is starting would disturb a measurement, and would get
 * the next job while another one goes on measuring. */
static bool is_idle(const ep_device_list *devices, int index) {
  for (int i = 0; i < devices->workers_count; i++) {
    ep_device_state state = devices->worker[i].state;
    if (devices->worker[i].device == index && state != EP_DEVICE_IDLE && state != EP_DEVICE_LOST)
      return false;
  }
  return devices->device[index].state == EP_DEVICE_IDLE;
}

/* True when the device has been calm for long enough. */
static bool is_calm(ep_device_calibration *device, bool idle, int64_t now_us) {
  if (!idle) {
    device->calm_us = 0;
    return false;
  }
  if (device->calm_us == 0) device->calm_us = now_us;
  return now_us - device->calm_us >= CALM_US;
}

bool ep_calibrations_settle(ep_calibrations *calibrations, const ep_device_list *devices) {
  bool waits = false;
  int64_t now_us = ep_clock_steady_us();
  for (int i = 0; i < devices->count; i++) {
    const ep_device_status *status = &devices->device[i];
    ep_device_calibration *device = &calibrations->device[i];
    if (ep_device_is_remote(status->info.id)) continue; /* each worker may be another machine */
    if (!device->looked && status->info.name[0] != 0) device_look(calibrations, i, &status->info);
    if (device->looked && !device->known) kind_look(calibrations, i, devices->count);
    if (!device->looked || device->known || device->failures >= FAILURES_MOST) continue;
    bool calm = is_calm(device, is_idle(devices, i), now_us);
    if (calm && calibrations->measuring < 0) measurement_start(calibrations, i);
    waits = waits || (status->state == EP_DEVICE_IDLE && calibrations->measuring < 0);
  }
  return waits;
}

/* NULL: it is not known. The mutex is held. */
static ep_program_past *past_find(ep_device_calibration *device, uint64_t program) {
  for (int i = 0; i < EP_PROGRAMS_SEEN && program != 0; i++)
    if (device->programs[i].signature == program) return &device->programs[i].past;
  return NULL;
}

/* Finds it or adds it in the place of the oldest. NULL for program 0. The mutex is held. */
static ep_program_past *past_make(ep_device_calibration *device, uint64_t program) {
  ep_program_past *past = past_find(device, program);
  if (past || program == 0) return past;
  ep_known_program *known = &device->programs[device->programs_next];
  device->programs_next = (device->programs_next + 1) % EP_PROGRAMS_SEEN;
  *known = (ep_known_program){.signature = program};
  return &known->past;
}

void ep_calibrations_note_submit(ep_calibrations *calibrations, uint64_t program) {
  pthread_mutex_lock(&calibrations->mutex);
  for (int i = 0; i < EP_LIMIT_DEVICES; i++) {
    ep_device_calibration *device = &calibrations->device[i];
    ep_program_past *past = device->looked ? past_make(device, program) : NULL;
    if (past) past->asked++;
  }
  pthread_mutex_unlock(&calibrations->mutex);
}

void ep_calibrations_note_start(ep_calibrations *calibrations, int index, uint64_t program) {
  pthread_mutex_lock(&calibrations->mutex);
  ep_program_past *past = past_make(&calibrations->device[index], program);
  if (past) past->compiled = true;
  pthread_mutex_unlock(&calibrations->mutex);
}

/* The median of the ratios: one disturbed job does not move it, nor does a program that the model
 * does not fit. 0 = too few. */
static double drift_of(const ep_drift *drift) {
  const int programs_least = 5;
  double sorted[EP_DRIFT_PROGRAMS];
  if (drift->count < programs_least) return 0;
  for (int i = 0; i < drift->count; i++) {
    int at = i;
    for (; at > 0 && sorted[at - 1] > drift->ratios[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = drift->ratios[i];
  }
  return sorted[drift->count / 2];
}

/* A program counts once, however often it runs. */
static void ratio_add(ep_drift *drift, uint64_t program, double ratio) {
  for (int i = 0; i < drift->count; i++) {
    if (drift->programs[i] != program) continue;
    if (ratio < drift->ratios[i]) drift->ratios[i] = ratio;
    return;
  }
  drift->programs[drift->next] = program;
  drift->ratios[drift->next] = ratio;
  drift->next = (drift->next + 1) % EP_DRIFT_PROGRAMS;
  if (drift->count < EP_DRIFT_PROGRAMS) drift->count++;
}

/* The mutex is held. */
static void drift_note(ep_device_calibration *device, const char *executor, uint64_t program,
                       double ratio) {
  for (int i = 0; i < device->calibration.count; i++)
    if (strcmp(device->calibration.executors[i].executor, executor) == 0)
      ratio_add(&device->drifts[i], program, ratio);
}

void ep_calibrations_note_end(ep_calibrations *calibrations, int index, uint64_t program,
                              const char *executor, double epoch_seconds, double said_seconds) {
  pthread_mutex_lock(&calibrations->mutex);
  if (said_seconds > 0)
    drift_note(&calibrations->device[index], executor, program, epoch_seconds / said_seconds);
  ep_program_past *past = past_make(&calibrations->device[index], program);
  if (past) ep_program_past_note(past, executor, epoch_seconds);
  pthread_mutex_unlock(&calibrations->mutex);
}

bool ep_calibrations_get(ep_calibrations *calibrations, int index, uint64_t program,
                         ep_calibration *out, ep_program_past *past) {
  ep_device_calibration *device = &calibrations->device[index];
  pthread_mutex_lock(&calibrations->mutex);
  bool known = device->known;
  const ep_program_past *found = past_find(device, program);
  *past = found ? *found : (ep_program_past){0};
  if (known) *out = device->calibration;
  for (int i = 0; known && i < out->count; i++)
    out->executors[i].drift = drift_of(&device->drifts[i]);
  pthread_mutex_unlock(&calibrations->mutex);
  return known;
}
