/* epochd: reads its settings, opens the jobs, serves, and ends cleanly on SIGTERM or SIGINT. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "api/base_path.h"
#include "api/endpoint.h"
#include "api/hash/sha256.h"
#include "api/json/memory.h"
#include "api/spec/spec.h"
#include "engine/data/datasets/cached_meta.h"
#include "engine/data/sources/allowed_paths.h"
#include "engine/files/free_space.h"
#include "engine/host/memory.h"
#include "engine/sandbox/sandbox.h"
#include "server/backup/backup.h"
#include "server/check/check.h"
#include "server/curves/curves.h"
#include "server/handlers/routes.h"
#include "server/http/access_log.h"
#include "server/http/http.h"
#include "server/idle/idle.h"
#include "server/ingest/ingest.h"
#include "server/kubernetes/commands.h"
#include "server/process/heap.h"
#include "server/process/probe.h"
#include "server/process/ready_notice.h"
#include "server/slurm/control/control.h"
#include "server/slurm/gateway/gateway.h"
#include "server/slurm/partitions.h"

enum { EXIT_USAGE = 2 };

static int failure_log(const char *what, const ep_error *error) {
  ep_log(EP_LOG_ERROR, "%s%s", what, error->message);
  return EXIT_FAILURE;
}

/* A daemon that other machines can reach needs tokens. */
static ep_status tokens_read(const ep_config *config, ep_auth *auth, ep_error *error) {
  if (config->token_file[0]) return ep_auth_read(auth, config->token_file, error);
  if (config->loopback) return EP_OK;
  return ep_fail(error, EP_INVALID,
                 "--listen %.200s can be reached from other machines, so --token-file FILE is "
                 "required (or listen on 127.0.0.1)",
                 config->listen);
}

static ep_tls_files tls_files(const ep_config *config) {
  return (ep_tls_files){.certificate = config->tls_certificate,
                        .key = config->tls_key,
                        .client_ca = config->tls_client_ca};
}

/* The certificate, if there is TLS; its end is logged. */
static ep_status tls_read(ep_server *server, ep_error *error) {
  const ep_config *config = server->config;
  const ep_tls_files files = tls_files(config);
  int64_t expires_s = 0;
  if (!config->tls_certificate[0]) return EP_OK;
  ep_status status = ep_tls_read(&server->tls, &files, &expires_s, error);
  if (status != EP_OK) return status;
  char until[32];
  const time_t end = (time_t)expires_s;
  struct tm parts;
  strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&end, &parts));
  ep_log(end > time(NULL) ? EP_LOG_INFO : EP_LOG_WARNING, "TLS: the certificate %.300s %s %s",
         config->tls_certificate, end > time(NULL) ? "is valid until" : "has expired:", until);
  return EP_OK;
}

/* Creates the parents of the data_dir; ep_jobs_open creates the data_dir. */
static ep_status parents_make(const char *path, ep_error *error) {
  char parent[PATH_MAX];
  snprintf(parent, sizeof parent, "%s", path);
  for (char *at = parent + 1; (at = strchr(at, '/')); at++) {
    *at = 0;
    if (mkdir(parent, 0700) != 0 && errno != EEXIST)
      return ep_fail(error, EP_IO, "the folder %.300s cannot be created: %s", parent,
                     strerror(errno));
    *at = '/';
  }
  return EP_OK;
}

static ep_status jobs_open(const ep_config *config, const ep_memory_shares *memory,
                           ep_slurm_partitions *slurm, ep_jobs **jobs, ep_error *error) {
  ep_jobs_options options = {
      .data_dir = config->data_dir,
      .worker_path = config->worker[0] ? config->worker : NULL,
      .plugin_path = config->plugin[0] ? config->plugin : NULL,
      .devices = config->devices,
      .slurm = slurm,
      .slurm_account = config->slurm_account,
      .slurm_qos = config->slurm_qos,
      .shared_dir = config->shared_dir,
      .slurm_listen = config->slurm_listen,
      .slurm_worker_path = config->slurm_worker[0] ? config->slurm_worker : NULL,
      .slurm_options = config->slurm_options,
      .kubernetes_template = config->kubernetes_template,
      .kubernetes_address = config->kubernetes_address,
      .slurm_idle_seconds = config->slurm_idle_seconds,
      .slurm_workers_max = config->slurm_workers_max,
      .slurm_look_seconds = config->slurm_look_seconds,
      .slurm_reconnect_seconds = config->slurm_reconnect_seconds,
      .allow_path = config->allow_path[0] ? config->allow_path : NULL,
      .data_bytes_max = config->data_bytes_max,
      .max_data_bytes = config->max_upload_bytes,
      .ingest_memory_bytes = memory->ingest_bytes,
      .ingest_seconds = config->ingest_seconds,
      .max_log_bytes = config->max_log_bytes,
      .keep_seconds = config->keep_days * 86400,
      .keep_bytes = config->keep_bytes,
      .memory_bytes_max = memory->jobs_bytes,
      .job_bytes_max = memory->job_bytes,
      .max_queued = config->max_queued,
      .webhook_secret_file = config->webhook_secret_file[0] ? config->webhook_secret_file : NULL,
      .webhook_allow = config->webhook_allow,
      .quota_jobs = config->quota_jobs,
      .quota_cores = config->quota_cores,
      .quota_device_seconds = config->quota_device_seconds,
      .private_default = config->private_default,
      .cpu_jobs = config->cpu_jobs > 0               ? (int)config->cpu_jobs
                  : memory->cpu_jobs < config->cores ? memory->cpu_jobs
                                                     : config->cores,
      .new_store = config->new_store,
      .checkpoint_after_seconds = config->checkpoint_after_seconds,
      .stop_seconds = (double)config->stop_seconds,
      .stall_seconds = (double)config->stall_seconds,
      .crashes_max = (int)config->crashes_max};
  ep_free_space_reserve(config->reserve_bytes);
  ep_status status = ep_allowed_paths_add(config->allow_path, error);
  if (status == EP_OK) status = parents_make(config->data_dir, error);
  return status == EP_OK ? ep_jobs_open(&options, jobs, error) : status;
}

/* A failure is logged: the daemon goes on. */
static void manager_notify(const char *state) {
  ep_error error = {0};
  if (ep_ready_notice(state, &error) != EP_OK) ep_log(EP_LOG_WARNING, "%s", error.message);
}

/* Logs the address, once requests are served. */
static void address_log(const ep_config *config, const ep_http_room *room, int port) {
  char state[512], reached[300];
  ep_endpoint_join(config->host, port, reached, sizeof reached);
  ep_log(EP_LOG_INFO, "epochd %s, data in %s", EP_VERSION, config->data_dir);
  ep_log(EP_LOG_INFO,
         "%lld file descriptors allow %lld connections, %lld of them waiting or watching",
         (long long)room->files, (long long)room->connections, (long long)room->watchers);
  snprintf(state, sizeof state, "READY=1\nSTATUS=listening on http%s://%s",
           config->tls_certificate[0] ? "s" : "", reached);
  ep_log(EP_LOG_INFO, "%s", strstr(state, "listening"));
  manager_notify(state);
}

/* What stands between the daemon and what others wrote; less in a container that forbids it. */
static void walls_log(void) {
  char text[64];
  const ep_sandbox_walls walls = ep_sandbox_find();
  bool all = walls.privileges && walls.filter && walls.files;
  ep_log(EP_LOG_INFO, "sandbox of workers and file readers: %s",
         ep_sandbox_text(walls, true, text, sizeof text));
  if (!all)
    ep_log(EP_LOG_WARNING, "this machine or container does not support this sandbox: %s",
           ep_sandbox_text(walls, false, text, sizeof text));
}

/* The access log, and the audit log where there are tokens. */
static ep_status logs_open(ep_server *server, ep_error *error) {
  const ep_config *config = server->config;
  ep_status status = EP_OK;
  if (config->access_log[0])
    status = ep_access_log_open(config->access_log, &server->access_log, error);
  if (status == EP_OK && config->token_file[0])
    status = ep_audit_open(config->data_dir, &server->audit, error);
  return status;
}

/* SIGHUP: reads the token file and the certificate again, and opens the access log again. What is
 * wrong with one of them changes nothing of it. */
static void settings_reload(ep_server *server) {
  ep_error error = {0};
  if (server->config->access_log[0] &&
      ep_access_log_open(server->config->access_log, &server->access_log, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "SIGHUP: %s", error.message);
  if (tls_read(server, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "SIGHUP: the certificate is unchanged: %s", error.message);
  const char *path = server->config->token_file;
  if (!path[0])
    ep_log(EP_LOG_INFO, "SIGHUP: no token file to reload");
  else if (ep_auth_read(&server->auth, path, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "SIGHUP: the tokens are unchanged: %s", error.message);
  else
    ep_log(EP_LOG_INFO, "SIGHUP: %d tokens of %.300s", server->auth.list.count, path);
}

/* Serves until a signal of `signals` comes that ends the daemon. */
static int server_run(ep_server *server, const sigset_t *signals) {
  ep_error error = {0};
  ep_http_room room = ep_http_room_find();
  ep_http *http = NULL;
  ep_idle *idle = NULL;
  int port = 0, number = 0;
  ep_slurm_partitions *slurm;
  if (room.files < EP_LIMIT_FILES_LEAST) {
    ep_fail(&error, EP_INVALID,
            "%lld file descriptors are allowed, and epochd needs at least %d: raise the limit "
            "(ulimit -n, LimitNOFILE= of systemd)",
            (long long)room.files, EP_LIMIT_FILES_LEAST);
    failure_log("cannot start: ", &error);
    return EXIT_USAGE;
  }
  if (ep_slurm_partitions_open(server->config->devices, server->config->shared_dir, &slurm,
                               &error) != EP_OK ||
      ep_kubernetes_check(server->config->devices, server->config->kubernetes_template, &error) !=
          EP_OK) {
    failure_log("cannot start: ", &error);
    return EXIT_USAGE;
  }
  if (jobs_open(server->config, &server->memory, slurm, &server->jobs, &error) != EP_OK)
    return failure_log("cannot start: ", &error);
  if (logs_open(server, &error) != EP_OK ||
      ep_idle_start(server->curves, server->jobs, &idle, &error) != EP_OK ||
      ep_http_start(server, &room, &http, &port, &error) != EP_OK) {
    ep_idle_stop(idle);
    ep_jobs_close(server->jobs);
    return failure_log("", &error);
  }
  walls_log();
  address_log(server->config, &room, port);
  while (sigwait(signals, &number) == 0 && number == SIGHUP) settings_reload(server);
  ep_log(EP_LOG_INFO, "%s: stopping", strsignal(number));
  manager_notify("STOPPING=1");
  signal(number, SIG_DFL); /* a second one ends the program at once */
  pthread_sigmask(SIG_UNBLOCK, signals, NULL);
  ep_jobs_stop(server->jobs); /* jobs write their checkpoints while HTTP ends */
  ep_http_stop(http);
  ep_idle_stop(idle);
  ep_jobs_close(server->jobs);
  ep_http_destroy(http);
  ep_slurm_partitions_close(slurm);
  ep_tls_deinit(&server->tls);
  ep_audit_close(server->audit);
  ep_log(EP_LOG_INFO, "stopped");
  return EXIT_SUCCESS;
}

/* --probe: whether the daemon with these settings is ready. */
static int daemon_probe(const ep_config *config) {
  ep_error error = {0};
  const ep_tls_files files = tls_files(config);
  if (ep_probe_ready(config->host, config->port, EP_PROBE_TIMEOUT_MS,
                     config->tls_certificate[0] ? &files : NULL, &error) == EP_OK)
    return EXIT_SUCCESS;
  fprintf(stderr, "epochd: %s\n", error.message);
  return EXIT_FAILURE;
}

/* --check and --rescue. A rescue that left a folder out has ended well; the daemon keeps it. */
static int folder_work(const ep_config *config) {
  ep_error error = {0};
  int64_t faults = 0;
  ep_status status = config->rescue ? ep_rescue_run(config->data_dir, stdout, &faults, &error)
                                    : ep_check_run(config->data_dir, stdout, &faults, &error);
  if (status != EP_OK) return failure_log("", &error);
  printf("%lld fault%s\n", (long long)faults, faults == 1 ? "" : "s");
  return faults > 0 && config->check ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --backup: copies the data_dir. */
static int data_backup(const ep_config *config) {
  ep_error error = {0};
  ep_backup_summary made;
  if (ep_backup_make(config->data_dir, config->backup, &made, &error) != EP_OK)
    return failure_log("backup failed: ", &error);
  printf("%s: %lld jobs; %lld files, %lld of them linked; %lld bytes copied\n", made.path,
         (long long)made.jobs, (long long)made.files, (long long)made.linked,
         (long long)made.copied_bytes);
  return EXIT_SUCCESS;
}

/* Divides what there is, or what --memory says, which workers read too. Before any thread. */
static void memory_divide(const ep_config *config, ep_server *server) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)config->memory);
  if (config->memory > 0) setenv(EP_MEMORY_VARIABLE, text, 1);
  server->memory = ep_memory_shares_find(ep_memory_read().total_bytes, config->http_bytes_max,
                                         config->ingest_memory_bytes);
  if (config->memory_bytes_max > 0)
    server->memory.jobs_bytes = server->memory.job_bytes = config->memory_bytes_max;
  server->held.limit_bytes = server->memory.requests_bytes;
  server->held.counted_bytes = ep_json_memory_bytes;
  server->curves->most_bytes = server->memory.curves_bytes;
  ep_cached_metas_bound(server->memory.metas_bytes);
}

int main(int argc, char **argv) {
  static ep_config config; /* some 20 KiB of paths */
  static ep_server server;
  static ep_curves curves;
  ep_error error = {0};
  umask(0077); /* what it writes is its own; workers inherit that */
  ep_heap_configure();
  if (argc == 2 && strcmp(argv[1], EP_INGEST_ARGUMENT) == 0) return ep_ingest_serve();
  if (argc == 2 && strcmp(argv[1], EP_GATEWAY_ARGUMENT) == 0) return ep_gateway_serve();
  ep_heap_restart(argv); /* before the configuration is read, which may come from a pipe */
  if (ep_config_read(argc, argv, &config, &error) != EP_OK) {
    fprintf(stderr, "epochd: %s\n", error.message);
    return EXIT_USAGE;
  }
  if (config.help || config.version) {
    if (config.help)
      ep_config_usage(stdout);
    else
      printf("epochd %s\n", EP_VERSION);
    return EXIT_SUCCESS;
  }
  if (config.probe) return daemon_probe(&config);
  ep_log_start(config.level, config.format);
  if (config.backup[0]) return data_backup(&config);
  ep_json_seed();
  if (ep_sha256_prepare(&error) != EP_OK) return failure_log("", &error);
  if (config.check || config.rescue) return folder_work(&config);
  if (sodium_init() < 0) return failure_log("libsodium cannot be initialized", &error);
  ep_curves_init(&curves);
  ep_base_path_set(config.base_path);
  server.config = &config;
  server.curves = &curves;
  memory_divide(&config, &server);
  server.routes = &EP_ROUTES;
  server.guard = (ep_guard){.listen_host = config.host, .allow = config.allow_host};
  ep_auth_init(&server.auth);
  ep_tls_init(&server.tls);
  if (ep_trusted_proxies_parse(config.trusted_proxy, &server.proxies, &error) != EP_OK ||
      tokens_read(&config, &server.auth, &error) != EP_OK || tls_read(&server, &error) != EP_OK) {
    failure_log("", &error);
    return EXIT_USAGE;
  }
  unsigned char random[8];
  randombytes_buf(random, sizeof random);
  sodium_bin2hex(server.boot, sizeof server.boot, random, sizeof random);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread, which inherit it */
  signal(SIGPIPE, SIG_IGN);
  return server_run(&server, &signals);
}
