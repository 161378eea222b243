#include "server/process/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/arguments/arguments.h"
#include "api/arguments/help.h"
#include "api/arguments/settings.h"
#include "api/endpoint.h"
#include "api/limits.h"
#include "api/visibility.h"

#define MEMBER(member) EP_OPTION_MEMBER(ep_config, member)

/* Of the command line and of the file. */
/* clang-format off */
static const ep_option SETTINGS[] = {
  {.group = "address", .name = "listen", .kind = EP_OPTION_TEXT, .value = "HOST:PORT", MEMBER(listen),
   .doc = "address to listen on; port 0 takes a free one (127.0.0.1:8080)"},
  {.name = "allow-host", .kind = EP_OPTION_TEXT, .value = "NAME,…", MEMBER(allow_host),
   .doc = "additional host names that clients may use"},
  {.name = "base-path", .kind = EP_OPTION_TEXT, .value = "/PATH", MEMBER(base_path),
   .doc = "path of this daemon behind a proxy; it answers there and at /, and its URLs begin with it (none)"},
  {.name = "trusted-proxy", .kind = EP_OPTION_ITEMS, .value = "ADDRESS[/BITS]", MEMBER(trusted_proxy),
   .doc = "reverse proxies whose X-Forwarded-For names the client; repeatable, or with commas between (none)"},
  {.name = "http-threads", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 64,
   MEMBER(http_threads), .doc = "threads that answer requests (4)"},
  {.name = "http-bytes-max", .kind = EP_OPTION_INTEGER, .value = "N", .min = 16 << 20,
   .max = INT64_MAX / 2, MEMBER(http_bytes_max),
   .doc = "memory of requests and of pending responses (an eighth of --memory)"},
  {.group = "files", .name = "data-dir", .kind = EP_OPTION_FILE, .value = "DIR", MEMBER(data_dir),
   .doc = "folder of all data ($XDG_STATE_HOME/epochd or ~/.local/state/epochd)"},
  {.name = "allow-path", .kind = EP_OPTION_LIST, .value = "DIR", MEMBER(allow_path),
   .doc = "jobs may read files below this folder; repeatable, or as DIR:DIR"},
  {.name = "reserve-bytes", .kind = EP_OPTION_INTEGER, .value = "N", .max = INT64_MAX / 2,
   MEMBER(reserve_bytes),
   .doc = "disk space that new work leaves free, for accepted jobs (67108864)"},
  {.name = "memory", .kind = EP_OPTION_INTEGER, .value = "N", .min = 128 << 20,
   .max = INT64_MAX / 2, MEMBER(memory),
   .doc = "bytes that epochd and its workers may take; each limit of memory is a share (all available)"},
  {.group = "devices", .name = "devices", .kind = EP_OPTION_TEXT, .value = "LIST", MEMBER(devices),
   .doc = "auto, or a list such as cpu,cuda:0 or auto,slurm:PARTITION,kubernetes:NAMESPACE (auto)"},
  {.name = "cpu-jobs", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_CPU_JOBS,
   MEMBER(cpu_jobs), .doc = "jobs that train on the CPU at once, each on its cores (one a core, and for each 256 MiB of --memory)"},
  {.name = "data-bytes-max", .kind = EP_OPTION_INTEGER, .value = "N", .max = INT64_MAX / 2,
   MEMBER(data_bytes_max),
   .doc = "device memory that training rows may take; more are streamed (all free memory)"},
  {.name = "memory-bytes-max", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1,
   .max = INT64_MAX / 2, MEMBER(memory_bytes_max),
   .doc = "memory that jobs on the CPU may take together; more jobs wait (--memory without what the daemon takes)"},
  {.name = "worker", .kind = EP_OPTION_FILE, .value = "PATH", MEMBER(worker),
   .doc = "the epoch-worker program (beside epochd)"},
  {.name = "plugin", .kind = EP_OPTION_FILE, .value = "PATH", MEMBER(plugin),
   .doc = "the CUDA plug-in (beside the worker)"},
  {.group = "access", .name = "token-file", .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(token_file),
   .doc = "tokens, one per line; required to listen beyond this machine"},
  {.name = "tls-certificate", .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(tls_certificate),
   .doc = "serve https: the certificate and its chain, PEM; reloaded at SIGHUP"},
  {.name = "tls-key", .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(tls_key),
   .doc = "the certificate's key, PEM"},
  {.name = "tls-client-ca", .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(tls_client_ca),
   .doc = "accept only clients whose certificate is signed by one of these authorities, PEM"},
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE, MEMBER(visibility),
   .doc = "default for jobs, sweeps and datasets: visible to everyone with read access, or only to their owner (public)"},
  {.group = "limits", .name = "max-queued", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 100000000,
   MEMBER(max_queued), .doc = "jobs that may be queued; more are rejected"},
  {.name = "quota-jobs", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 100000000,
   MEMBER(quota_jobs), .doc = "unfinished jobs of an owner; more are rejected (no limit)"},
  {.name = "quota-bytes", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = INT64_MAX / 2,
   MEMBER(quota_bytes), .doc = "of an owner's datasets (no limit)"},
  {.name = "quota-cores", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 100000000,
   MEMBER(quota_cores), .doc = "that an owner's jobs train on at once, a GPU counts as one; more wait (no limit)"},
  {.name = "quota-device-seconds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = INT64_MAX / 2,
   MEMBER(quota_device_seconds),
   .doc = "that an owner's jobs train in a day of UTC, on each device; more jobs are rejected until it ends (no limit)"},
  {.name = "max-upload-bytes", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = INT64_MAX / 2,
   MEMBER(max_upload_bytes), .doc = "largest dataset accepted"},
  {.name = "ingest-seconds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 86400,
   MEMBER(ingest_seconds), .doc = "time limit to read one uploaded file (900)"},
  {.name = "ingest-memory-bytes", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1 << 24, .max = INT64_MAX / 2,
   MEMBER(ingest_memory_bytes), .doc = "memory limit to read one uploaded file (a quarter of --memory, at most 1073741824)"},
  {.group = "jobs", .name = "checkpoint-after", .kind = EP_OPTION_INTEGER, .value = "N", .max = 86400,
   MEMBER(checkpoint_after_seconds),
   .doc = "no checkpoint in the first N seconds of a training (5), unless checkpoint.every_seconds is less"},
  {.name = "stall-seconds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 86400,
   MEMBER(stall_seconds), .doc = "a worker without progress for this long is restarted"},
  {.name = "stop-seconds", .kind = EP_OPTION_INTEGER, .value = "N", .max = 3600,
   MEMBER(stop_seconds), .doc = "time for checkpoints of running jobs when epochd ends (6)"},
  {.name = "crashes-max", .kind = EP_OPTION_INTEGER, .value = "N", .max = 1000000,
   MEMBER(crashes_max),
   .doc = "deaths of epochd in a row, without a new epoch, after which a job that ran is paused; 0 = never"},
  {.name = "max-log-bytes", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = INT64_MAX / 2,
   MEMBER(max_log_bytes),
   .doc = "of a job's events; with each such step half as many reports are kept (268435456)"},
  {.name = "keep-days", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 36500,
   MEMBER(keep_days), .doc = "jobs that ended longer ago are deleted (none)"},
  {.name = "keep-bytes", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = INT64_MAX / 2,
   MEMBER(keep_bytes),
   .doc = "while ended jobs take more disk space, the oldest are deleted (no limit)"},
  {.group = "log", .name = "log-level", .kind = EP_OPTION_CHOICE, .value = "debug|info|warning|error", MEMBER(log_level),
   .doc = "the minimum severity to log (info)"},
  {.name = "log-format", .kind = EP_OPTION_CHOICE, .value = "auto|json|text", MEMBER(log_format),
   .doc = "auto: text on a terminal, else json (auto)"},
  {.name = "access-log", .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(access_log),
   .doc = "file for a JSON line per request; - is standard output (none)"},
  {.group = "webhooks", .name = "webhook-secret-file", .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(webhook_secret_file),
   .doc = "secrets that sign webhook messages; without it jobs cannot use webhooks"},
  {.name = "webhook-allow", .kind = EP_OPTION_TEXT, .value = "CIDR|HOST,…", MEMBER(webhook_allow),
   .doc = "non-public addresses that webhooks may reach (none)"},
  {.group = "Slurm and Kubernetes", .name = "shared-dir", .kind = EP_OPTION_FILE, .value = "DIR", MEMBER(shared_dir),
   .doc = "a shared folder, at the same path on Slurm's nodes; for devices slurm:PARTITION"},
  {.name = "slurm-listen", .kind = EP_OPTION_TEXT, .value = "ADDRESS:PORT", MEMBER(slurm_listen),
   .doc = "address for workers of Slurm or Kubernetes only, as reached from their nodes"},
  {.name = "slurm-account", .kind = EP_OPTION_TEXT, .value = "NAME", MEMBER(slurm_account),
   .doc = "Slurm account, unless a job gives one"},
  {.name = "slurm-qos", .kind = EP_OPTION_TEXT, .value = "NAME", MEMBER(slurm_qos),
   .doc = "quality of service, unless a job gives one"},
  {.name = "slurm-options", .kind = EP_OPTION_TEXT, .value = "WORDS", MEMBER(slurm_options),
   .doc = "additional sbatch options, separated by spaces"},
  {.name = "slurm-worker", .kind = EP_OPTION_FILE, .value = "PATH", MEMBER(slurm_worker),
   .doc = "the epoch-worker program on the nodes (a copy in the shared folder)"},
  {.name = "slurm-idle-seconds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 0, .max = 86400,
   MEMBER(slurm_idle_seconds),
   .doc = "a worker of Slurm or Kubernetes exits after this long without a job (60)"},
  {.name = "slurm-workers-max", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1,
   .max = EP_LIMIT_SLURM_WORKERS, MEMBER(slurm_workers_max),
   .doc = "workers of a partition at once (16)"},
  {.name = "slurm-look-seconds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = 86400,
   MEMBER(slurm_look_seconds), .doc = "between two looks at Slurm's partitions and nodes (15)"},
  {.name = "slurm-reconnect-seconds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 0, .max = 86400,
   MEMBER(slurm_reconnect_seconds),
   .doc = "that workers wait for epochd, and a new epochd for its workers (30)"},
  {.name = "kubernetes-template", .kind = EP_OPTION_FILE, .value = "FILE", MEMBER(kubernetes_template),
   .doc = "the manifest of a worker's Job; for devices kubernetes:NAMESPACE"},
  {.name = "kubernetes-address", .kind = EP_OPTION_TEXT, .value = "HOST:PORT", MEMBER(kubernetes_address),
   .doc = "where its Pods connect, such as a Service before --slurm-listen (--slurm-listen)"},
  {.name = NULL}};

/* Of the command line alone. */
static const ep_option COMMAND_LINE[] = {
  {.group = "command line only", .name = "config", .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "JSON with the names above, _ for -; the command line wins"},
  {.name = "probe", .kind = EP_OPTION_SWITCH, MEMBER(probe),
   .doc = "check whether the daemon listening there is ready, and exit: 0 yes, 1 no"},
  {.name = "check", .kind = EP_OPTION_SWITCH, MEMBER(check),
   .doc = "verify the data folder, print a line per error, and exit: 0 none, 1 some"},
  {.name = "rescue", .kind = EP_OPTION_SWITCH, MEMBER(rescue),
   .doc = "rebuild the store from the folders of jobs and datasets, and exit"},
  {.name = "new-store", .kind = EP_OPTION_SWITCH, MEMBER(new_store),
   .doc = "start with an empty store and move existing job folders to lost+found"},
  {.name = "backup", .kind = EP_OPTION_FILE, .value = "DIR", MEMBER(backup),
   .doc = "copy the data folder into a new folder in DIR, even while a daemon uses it, and exit"},
  {.name = "version", .kind = EP_OPTION_SWITCH, MEMBER(version), .doc = "print the version and exit"},
  {.name = "help", .kind = EP_OPTION_SWITCH, MEMBER(help), .doc = "print this help and exit"},
  {.name = NULL}};
/* clang-format on */

static ep_status listen_split(ep_config *config, ep_error *error) {
  if (!ep_endpoint_split(config->listen, config->host, sizeof config->host, &config->port))
    return ep_fail(error, EP_INVALID,
                   "--listen must be HOST:PORT such as 127.0.0.1:8080, not \"%.100s\"",
                   config->listen);
  struct in_addr four;
  struct in6_addr six;
  if (inet_pton(AF_INET, config->host, &four) == 1)
    config->loopback = (ntohl(four.s_addr) >> 24) == 127;
  else if (inet_pton(AF_INET6, config->host, &six) == 1)
    config->loopback = IN6_IS_ADDR_LOOPBACK(&six);
  else
    config->loopback = strcasecmp(config->host, "localhost") == 0;
  return EP_OK;
}

static ep_status base_path_check(const ep_config *config, ep_error *error) {
  if (!config->base_path[0] || ep_base_path_valid(config->base_path)) return EP_OK;
  return ep_fail(error, EP_INVALID,
                 "--base-path must be a path such as /epochd, of letters, digits, -, ., _ and ~, "
                 "without a slash at its end, not \"%.100s\"",
                 config->base_path);
}

static ep_status tls_check(const ep_config *config, ep_error *error) {
  if (!config->tls_certificate[0] != !config->tls_key[0])
    return ep_fail(error, EP_INVALID,
                   "--tls-certificate FILE and --tls-key FILE must be given together");
  if (config->tls_client_ca[0] && !config->tls_certificate[0])
    return ep_fail(error, EP_INVALID,
                   "--tls-client-ca needs --tls-certificate FILE and --tls-key FILE");
  return EP_OK;
}

static ep_status address_check(const char *name, const char *address, int least, ep_error *error) {
  char host[EP_CONFIG_TEXT_BYTES];
  int port;
  if (ep_endpoint_split(address, host, sizeof host, &port) && port >= least) return EP_OK;
  return ep_fail(error, EP_INVALID,
                 "--%s must be ADDRESS:PORT such as 10.0.0.1:8081, not \"%.100s\"", name, address);
}

/* The file with a worker's secret lies in the shared folder, and names the address. */
static ep_status slurm_check(const ep_config *config, ep_error *error) {
  if (!strstr(config->devices, EP_SLURM_PREFIX))
    return config->shared_dir[0] || config->slurm_worker[0] || config->slurm_account[0] ||
                   config->slurm_qos[0] || config->slurm_options[0]
               ? ep_fail(error, EP_INVALID,
                         "--shared-dir, --slurm-account, -qos, -options and -worker require a "
                         "device slurm:PARTITION in --devices")
               : EP_OK;
  if (!config->shared_dir[0])
    return ep_fail(
        error, EP_INVALID,
        "a device slurm:PARTITION needs --shared-dir DIR and --slurm-listen ADDRESS:PORT");
  return config->shared_dir[0] == '/'
             ? EP_OK
             : ep_fail(error, EP_INVALID,
                       "--shared-dir must be an absolute path, because nodes read it too");
}

static ep_status kubernetes_check(const ep_config *config, ep_error *error) {
  if (!strstr(config->devices, EP_KUBERNETES_PREFIX))
    return config->kubernetes_template[0] || config->kubernetes_address[0]
               ? ep_fail(error, EP_INVALID,
                         "--kubernetes-… requires a device kubernetes:NAMESPACE in --devices")
               : EP_OK;
  if (!config->kubernetes_template[0])
    return ep_fail(error, EP_INVALID,
                   "a device kubernetes:NAMESPACE needs --kubernetes-template FILE and "
                   "--slurm-listen ADDRESS:PORT");
  return config->kubernetes_address[0]
             ? address_check("kubernetes-address", config->kubernetes_address, 1, error)
             : EP_OK;
}

/* Workers of other machines: a device needs them, and they a place to connect to. */
static ep_status remote_check(const ep_config *config, ep_error *error) {
  ep_status status = slurm_check(config, error);
  if (status == EP_OK) status = kubernetes_check(config, error);
  if (status != EP_OK) return status;
  if (strstr(config->devices, EP_SLURM_PREFIX) || strstr(config->devices, EP_KUBERNETES_PREFIX))
    return address_check("slurm-listen", config->slurm_listen, 0, error);
  return config->slurm_listen[0] ? ep_fail(error, EP_INVALID,
                                           "--slurm-listen requires a device slurm:PARTITION or "
                                           "kubernetes:NAMESPACE in --devices")
                                 : EP_OK;
}

static ep_log_format format_from_name(const char *name) {
  if (strcmp(name, "json") == 0) return EP_LOG_JSON;
  return strcmp(name, "text") == 0 ? EP_LOG_TEXT : EP_LOG_AUTO;
}

/* Where state belongs by the XDG convention; without a home it stays here. */
static void data_dir_find(char path[PATH_MAX]) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  int bytes;
  if (state && state[0] == '/')
    bytes = snprintf(path, PATH_MAX, "%s/epochd", state);
  else if (home && home[0] == '/')
    bytes = snprintf(path, PATH_MAX, "%s/.local/state/epochd", home);
  else
    bytes = PATH_MAX;
  if (bytes >= PATH_MAX) snprintf(path, PATH_MAX, "epochd-data");
}

/* Absolute, since processes that read files have other working directories, and without symbolic
 * links, since messages are shortened by it. What does not exist yet is created below the rest. */
static ep_status data_dir_resolve(char path[PATH_MAX], ep_error *error) {
  char given[PATH_MAX], whole[PATH_MAX], *resolved;
  int bytes = snprintf(given, sizeof given, "%s%s", path[0] == '/' ? "" : "./", path);
  size_t exists = bytes < PATH_MAX ? (size_t)bytes : sizeof given - 1;
  memcpy(whole, given, exists + 1);
  while (!(resolved = realpath(whole, NULL)) && errno == ENOENT && exists > 1) {
    while (exists > 1 && given[exists - 1] != '/') exists--;
    if (exists > 1) exists--;
    whole[exists] = 0;
  }
  if (!resolved)
    return ep_fail(error, errno == ENAMETOOLONG ? EP_INVALID : EP_IO,
                   "the data folder %.200s cannot be resolved: %s", path, strerror(errno));
  const char *rest = given + exists;
  bytes = snprintf(whole, sizeof whole, "%s%s%s", strcmp(resolved, "/") == 0 ? "" : resolved,
                   *rest && *rest != '/' ? "/" : "", rest);
  free(resolved);
  if (bytes < 0 || bytes >= (int)sizeof whole)
    return ep_fail(error, EP_INVALID, "the path of the data folder, %.100s…, is too long", whole);
  memcpy(path, whole, (size_t)bytes + 1);
  return EP_OK;
}

/* A container or taskset may allow fewer processors than there are. */
static int cores_count(void) {
  cpu_set_t allowed;
  int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return count < 1 ? 1 : count > EP_LIMIT_CPU_JOBS ? EP_LIMIT_CPU_JOBS : count;
}

ep_status ep_config_read(int argc, char *const *argv, ep_config *out, ep_error *error) {
  ep_arguments arguments = {0};
  *out = (ep_config){.listen = "127.0.0.1:8080",
                     .devices = "auto",
                     .log_level = "info",
                     .log_format = "auto",
                     .max_upload_bytes = EP_LIMIT_UPLOAD_BYTES,
                     .ingest_seconds = EP_LIMIT_INGEST_SECONDS,
                     .reserve_bytes = EP_LIMIT_RESERVE_BYTES,
                     .max_log_bytes = EP_LIMIT_LOG_BYTES,
                     .max_queued = 10000,
                     .stall_seconds = 60,
                     .stop_seconds = 6,
                     .checkpoint_after_seconds = EP_LIMIT_YOUNG_SECONDS,
                     .crashes_max = 3,
                     .cores = cores_count(),
                     .http_threads = 4,
                     .slurm_idle_seconds = 60,
                     .slurm_workers_max = 16,
                     .slurm_look_seconds = 15,
                     .slurm_reconnect_seconds = 30};
  ep_status status =
      ep_arguments_read(&arguments, argc, argv, 1, SETTINGS, COMMAND_LINE, NULL, error);
  if (status == EP_OK && arguments.words_count > 0)
    status = ep_fail(error, EP_INVALID, "unexpected argument \"%.100s\"; see --help",
                     arguments.words[0]);
  const char *file = ep_arguments_value(&arguments, "config");
  if (status == EP_OK && file) status = ep_settings_read(file, SETTINGS, out, error);
  if (status == EP_OK) status = ep_arguments_store(&arguments, out, error);
  if (status == EP_OK) status = listen_split(out, error);
  if (status == EP_OK) status = base_path_check(out, error);
  if (status == EP_OK) status = tls_check(out, error);
  if (status == EP_OK) status = remote_check(out, error);
  if (status != EP_OK) return status;
  out->level = (ep_log_level)ep_log_level_from_name(out->log_level);
  out->format = format_from_name(out->log_format);
  out->private_default = ep_visibility_from_name(out->visibility) == true;
  if (!out->data_dir[0]) data_dir_find(out->data_dir);
  return data_dir_resolve(out->data_dir, error);
}

void ep_config_usage(FILE *out) {
  fprintf(out, "epochd %s: trains neural networks for anyone who can send JSON.\n", EP_VERSION);
  ep_help_options(out, SETTINGS);
  ep_help_options(out, COMMAND_LINE);
}
