#include "server/jobs/jobs.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/spec/slurm.h"
#include "engine/files/free_space.h"
#include "server/jobs/lifecycle/assign.h"
#include "server/jobs/lifecycle/end.h"
#include "server/jobs/lifecycle/recover.h"
#include "server/jobs/lifecycle/retention.h"
#include "server/jobs/lifecycle/run.h"
#include "server/jobs/live/live.h"
#include "server/jobs/live/usage.h"
#include "server/jobs/views/view.h"
#include "server/process/ballast.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"
#include "server/process/spawn.h"
#include "server/slurm/control/listener.h"

enum { LIST_MS = 30000, MAX_QUEUED = 10000 };

#define STALL_SECONDS 60.0

/* Where the worker is by default: beside this program, or beside its folder in a build. */
static char *worker_find(void) {
  static const char *const places[] = {"epoch-worker", "../engine/epoch-worker",
                                       "../engine/worker/epoch-worker", "../bin/epoch-worker"};
  char path[EP_PATH_BYTES];
  return ep_spawn_find(places, sizeof places / sizeof *places, path) ? strdup(path) : NULL;
}

static bool device_id_valid(const char *id) {
  if (strcmp(id, "cpu") == 0) return true;
  if (ep_device_is_remote(id))
    return ep_slurm_device_accepts(id) || ep_kubernetes_device_accepts(id);
  if (strncmp(id, "cuda:", 5) != 0) return false;
  size_t digits = strspn(id + 5, "0123456789");
  return digits > 0 && digits <= 3 && id[5 + digits] == 0;
}

static ep_status device_add(const char *id, char (*ids)[EP_DEVICE_ID_BYTES], int *count,
                            ep_error *error) {
  if (!device_id_valid(id))
    return ep_fail(error, EP_INVALID,
                   "unknown device \"%.40s\": use auto, or a list such as cpu,cuda:0,slurm:gpu,"
                   "kubernetes:research",
                   id);
  if (*count == EP_LIMIT_DEVICES)
    return ep_fail(error, EP_INVALID, "more than %d devices", EP_LIMIT_DEVICES);
  for (int i = 0; i < *count; i++)
    if (strcmp(ids[i], id) == 0) return ep_fail(error, EP_INVALID, "device %s is named twice", id);
  snprintf(ids[(*count)++], sizeof *ids, "%s", id);
  return EP_OK;
}

/* The devices of this machine. */
static void devices_list(const ep_worker_program *program, char (*ids)[EP_DEVICE_ID_BYTES],
                         int *count) {
  ep_error why = {0};
  if (ep_worker_devices_list(program, LIST_MS, ids, count, &why) == EP_OK && *count > 0) return;
  ep_log(EP_LOG_ERROR, "the devices could not be listed: %s; the CPU is used", why.message);
  snprintf(ids[0], sizeof ids[0], "cpu");
  *count = 1;
}

/* "cpu,cuda:0", "auto,slurm:gpu" -> ids. `auto` stands first, or alone. */
static ep_status devices_find(const ep_jobs_options *options, const ep_worker_program *program,
                              char (*ids)[EP_DEVICE_ID_BYTES], int *count, ep_error *error) {
  const char *text = options->devices ? options->devices : "auto";
  char *copy = strdup(text), *rest = copy;
  if (!copy) return ep_fail_memory(error);
  ep_status status = EP_OK;
  *count = 0;
  for (char *id = strsep(&rest, ","); status == EP_OK && id; id = strsep(&rest, ",")) {
    if (id == copy && strcmp(id, "auto") == 0)
      devices_list(program, ids, count);
    else
      status = device_add(id, ids, count, error);
  }
  free(copy);
  return status;
}

static void text_take(char *to, size_t bytes, const char *from) {
  snprintf(to, bytes, "%s", from ? from : "");
}

static bool any_remote(char (*ids)[EP_DEVICE_ID_BYTES], int count) {
  for (int i = 0; i < count; i++)
    if (ep_device_is_remote(ids[i])) return true;
  return false;
}

/* The settings of the gateway to workers of other machines, and its listener. */
static ep_status gateway_prepare(ep_jobs *jobs, const ep_jobs_options *options, ep_error *error) {
  ep_gateway_setup *setup = jobs->gateway = calloc(1, sizeof *setup);
  jobs->gateway_program = strdup(options->gateway_path ? options->gateway_path : "/proc/self/exe");
  if (!setup || !jobs->gateway_program) return ep_fail_memory(error);
  const char *worker = options->slurm_worker_path ? options->slurm_worker_path : jobs->worker_path;
  if (strlen(jobs->data_dir) >= sizeof setup->data_dir || strlen(worker) >= sizeof setup->worker)
    return ep_fail(error, EP_INVALID,
                   "--data-dir or --slurm-worker is too long for Slurm's workers");
  text_take(setup->data_dir, sizeof setup->data_dir, jobs->data_dir);
  text_take(setup->shared_dir, sizeof setup->shared_dir, options->shared_dir);
  text_take(setup->worker, sizeof setup->worker, worker);
  text_take(setup->plugin, sizeof setup->plugin, options->plugin_path);
  setup->copies = setup->shared_dir[0] && !options->slurm_worker_path;
  text_take(setup->kubernetes_template, sizeof setup->kubernetes_template,
            options->kubernetes_template);
  text_take(setup->kubernetes_address, sizeof setup->kubernetes_address,
            options->kubernetes_address);
  text_take(setup->account, sizeof setup->account, options->slurm_account);
  text_take(setup->qos, sizeof setup->qos, options->slurm_qos);
  text_take(setup->options, sizeof setup->options, options->slurm_options);
  setup->reserve_bytes = ep_free_space_reserved();
  setup->look_seconds = options->slurm_look_seconds;
  setup->reconnect_seconds = options->slurm_reconnect_seconds;
  setup->data_bytes_max = options->data_bytes_max;
  setup->checkpoint_after_seconds = options->checkpoint_after_seconds;
  return ep_slurm_listen(options->slurm_listen, &jobs->gateway_listener, setup->address,
                         sizeof setup->address, error);
}

static ep_status supervisor_open(ep_jobs *jobs, const ep_jobs_options *options, ep_error *error) {
  char ids[EP_LIMIT_DEVICES][EP_DEVICE_ID_BYTES];
  int count = 0;
  ep_supervisor_events events;
  ep_supervisor_options workers = {
      .program = {.path = jobs->worker_path,
                  .plugin = options->plugin_path,
                  .data_dir = jobs->data_dir,
                  .data_bytes_max = options->data_bytes_max,
                  .checkpoint_after_seconds = options->checkpoint_after_seconds,
                  .allow_path = options->allow_path},
      .cpu_jobs = options->cpu_jobs > 0 ? options->cpu_jobs : 1,
      .stop_seconds = options->stop_seconds,
      .stall_seconds = options->stall_seconds > 0 ? options->stall_seconds : STALL_SECONDS};
  ep_status status = devices_find(options, &workers.program, ids, &count, error);
  if (status != EP_OK) return status;
  jobs->workers_most = count - 1 + workers.cpu_jobs;
  if (any_remote(ids, count)) {
    status = gateway_prepare(jobs, options, error);
    if (status != EP_OK) return status;
    workers.gateway = jobs->gateway;
    workers.gateway_program = jobs->gateway_program;
    workers.gateway_listener = jobs->gateway_listener;
    workers.gateway_workers_max = (int)options->slurm_workers_max;
    workers.idle_seconds = (double)options->slurm_idle_seconds;
    jobs->workers_most += workers.gateway_workers_max;
  }
  ep_run_events(jobs, &events);
  return ep_supervisor_create(&workers, ids, count, &events, &jobs->supervisor, error);
}

static ep_jobs *jobs_allocate(const ep_jobs_options *options) {
  ep_jobs *jobs = calloc(1, sizeof *jobs);
  if (!jobs) return NULL;
  pthread_mutex_init(&jobs->mutex, NULL);
  pthread_cond_init(&jobs->stored, NULL);
  ep_contents_init(&jobs->contents);
  ep_datasets_init(&jobs->datasets, &jobs->contents);
  ep_subscribers_init(&jobs->watches);
  ep_open_logs_init(&jobs->logs, NULL);
  ep_calibrations_init(&jobs->calibrations);
  jobs->lock_fd = jobs->gateway_listener = -1;
  jobs->lost_seen = -1;
  jobs->crashes_max = options->crashes_max;
  jobs->contents.max_path_bytes =
      options->max_data_bytes > 0 ? options->max_data_bytes : EP_LIMIT_UPLOAD_BYTES;
  jobs->contents.ingest.program = options->ingest_path;
  jobs->contents.ingest.memory_bytes = options->ingest_memory_bytes;
  jobs->contents.ingest.seconds = options->ingest_seconds;
  jobs->max_log_bytes = options->max_log_bytes > 0 ? options->max_log_bytes : EP_LIMIT_LOG_BYTES;
  jobs->retention.keep_us = options->keep_seconds * INT64_C(1000000);
  jobs->retention.keep_bytes = options->keep_bytes;
  jobs->quota_jobs = options->quota_jobs;
  jobs->quota_cores = options->quota_cores;
  jobs->quota_device_seconds = options->quota_device_seconds;
  jobs->private_default = options->private_default;
  jobs->memory_bytes_max = options->memory_bytes_max;
  jobs->job_bytes_max =
      options->job_bytes_max > 0 ? options->job_bytes_max : options->memory_bytes_max;
  jobs->allocator =
      (ep_allocator){.partitions = options->slurm,
                     .defaults = {.account = options->slurm_account ? options->slurm_account : "",
                                  .qos = options->slurm_qos ? options->slurm_qos : ""}};
  jobs->max_queued = options->max_queued > 0 ? options->max_queued : MAX_QUEUED;
  atomic_store(&jobs->clock, (unsigned long long)ep_clock_utc_us());
  return jobs;
}

static ep_status store_open(ep_jobs *jobs, bool new_store, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, jobs->data_dir, EP_STORE_FILE, NULL);
  if (status == EP_OK && !new_store) status = ep_jobs_refuse_lost_store(jobs, path, error);
  if (status != EP_OK) return status;
  status = ep_store_open(path, &jobs->store, error);
  jobs->contents.store = jobs->store;
  return status;
}

/* Without a secret nothing is sent, and a job that has webhooks is refused. */
static ep_status webhooks_start(ep_jobs *jobs, const ep_jobs_options *options, ep_error *error) {
  ep_store_counts counts;
  const ep_webhooks_options webhooks = {.secret_file = options->webhook_secret_file,
                                        .allow = options->webhook_allow,
                                        .store = jobs->store,
                                        .body = ep_webhook_body,
                                        .context = jobs};
  if (options->webhook_secret_file) return ep_webhooks_start(&webhooks, &jobs->webhooks, error);
  ep_status status = ep_store_count(jobs->store, &counts, error);
  if (status == EP_OK && counts.deliveries > 0)
    ep_log(EP_LOG_WARNING, "%lld message%s of webhooks wait%s for --webhook-secret-file",
           (long long)counts.deliveries, counts.deliveries == 1 ? "" : "s",
           counts.deliveries == 1 ? "s" : "");
  return status;
}

static ep_status jobs_start(ep_jobs *jobs, const ep_jobs_options *options, ep_error *error) {
  ep_status status = ep_data_dir_open(options->data_dir, &jobs->lock_fd, error);
  if (status != EP_OK) return status;
  jobs->data_dir = realpath(options->data_dir, NULL);
  if (!jobs->data_dir) return ep_fail(error, EP_IO, "%s: %s", options->data_dir, strerror(errno));
  jobs->logs.data_dir = jobs->data_dir;
  jobs->calibrations.data_dir = jobs->data_dir;
  jobs->contents.data_dir = jobs->data_dir;
  jobs->worker_path = options->worker_path ? strdup(options->worker_path) : worker_find();
  if (!jobs->worker_path)
    return ep_fail(error, EP_NOT_FOUND, "epoch-worker not found beside this program");
  status = store_open(jobs, options->new_store, error);
  if (status == EP_OK) status = ep_disk_probe_create(jobs->data_dir, &jobs->disk_probe, error);
  if (status == EP_OK) status = supervisor_open(jobs, options, error);
  jobs->calibrations.supervisor = jobs->supervisor;
  if (status == EP_OK) status = ep_jobs_recover(jobs, error);
  if (status == EP_OK) ep_ballast_fill(jobs->data_dir);
  if (status == EP_OK) status = ep_retention_start(jobs, error);
  if (status == EP_OK) status = webhooks_start(jobs, options, error);
  if (status == EP_OK) status = ep_log_flusher_start(&jobs->flusher, &jobs->logs, error);
  if (status == EP_OK) status = ep_supervisor_start(jobs->supervisor, error);
  if (status == EP_OK) status = ep_jobs_sweep_start(jobs, error);
  return status;
}

ep_status ep_jobs_open(const ep_jobs_options *options, ep_jobs **out, ep_error *error) {
  *out = NULL;
  if (sodium_init() < 0) return ep_fail(error, EP_INTERNAL, "libsodium cannot be initialized");
  ep_jobs *jobs = jobs_allocate(options);
  if (!jobs) return ep_fail_memory(error);
  ep_status status = jobs_start(jobs, options, error);
  if (status != EP_OK) {
    ep_jobs_close(jobs);
    return status;
  }
  *out = jobs;
  return EP_OK;
}

/* Writes a running job as queued again: an attempt that had begun puts it first, one that had not
 * does not count. A job that was to be cancelled ends; its last event is written at the next start.
 */
static void running_requeue(ep_jobs *jobs, ep_live_job *job) {
  ep_error error = {0};
  bool returned = job->row.state == EP_STATE_QUEUED && job->resumed; /* when the daemon ended */
  if ((job->row.state != EP_STATE_RUNNING && !returned) || job->ending) return;
  if (!returned && !job->begun) ep_assign_undo(jobs, job);
  job->row.state = job->cancelled ? EP_STATE_CANCELLED : EP_STATE_QUEUED;
  if (job->cancelled) {
    job->row.finished_us = ep_job_finish_us(&job->row);
    job->row.result = ep_job_cancellation(job);
  }
  job->row.version = ep_live_tick(jobs);
  if (ep_store_job_update(jobs->store, &job->row, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "job %s stays running in the store: %s", job->row.id, error.message);
}

void ep_jobs_close(ep_jobs *jobs) {
  if (!jobs) return;
  ep_jobs_sweep_stop(jobs);
  ep_retention_stop(jobs);
  ep_supervisor_destroy(jobs->supervisor);
  jobs->supervisor = NULL;
  ep_webhooks_stop(jobs->webhooks);
  if (jobs->store) ep_usage_store(jobs, true);
  free(jobs->used);
  ep_log_flusher_stop(&jobs->flusher);
  ep_disk_probe_destroy(jobs->disk_probe);
  for (int i = 0; i < EP_JOBS_BUCKETS; i++)
    for (ep_live_job *job = jobs->buckets[i], *next; job; job = next) {
      next = job->next;
      if (jobs->store) running_requeue(jobs, job);
      ep_live_destroy(job);
    }
  ep_queue_deinit(&jobs->queue);
  ep_shares_deinit(&jobs->shares);
  ep_open_logs_deinit(&jobs->logs);
  ep_calibrations_deinit(&jobs->calibrations);
  ep_store_close(jobs->store);
  ep_subscribers_deinit(&jobs->watches);
  ep_datasets_deinit(&jobs->datasets);
  ep_contents_deinit(&jobs->contents);
  ep_output_meaning_deinit(&jobs->meaning);
  pthread_mutex_destroy(&jobs->mutex);
  pthread_cond_destroy(&jobs->stored);
  if (jobs->lock_fd >= 0) close(jobs->lock_fd);
  if (jobs->gateway_listener >= 0) close(jobs->gateway_listener);
  free(jobs->gateway);
  free(jobs->gateway_program);
  free(jobs->worker_path);
  free(jobs->data_dir);
  free(jobs);
}

void ep_jobs_stop(ep_jobs *jobs) {
  atomic_store(&jobs->contents.ingest.stopping, true);
  ep_supervisor_stop(jobs->supervisor);
}

ep_datasets *ep_jobs_datasets(ep_jobs *jobs) {
  return &jobs->datasets;
}
