/* config.h: the settings of the daemon: of its command line, and of a JSON file with the same
 * names. The command line wins. */
#ifndef EP_SERVER_PROCESS_CONFIG_H
#define EP_SERVER_PROCESS_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api/base_path.h"
#include "api/names.h"
#include "api/status.h"
#include "server/process/log_output.h"

enum { EP_CONFIG_TEXT_BYTES = 1024, EP_CONFIG_FOLDERS_BYTES = 16384 };

typedef struct {
  char listen[EP_CONFIG_TEXT_BYTES];     /* HOST:PORT; [::1]:8080 for IPv6 */
  char allow_host[EP_CONFIG_TEXT_BYTES]; /* further names it may be called by, comma-separated */
  char trusted_proxy[EP_CONFIG_TEXT_BYTES * 4]; /* addresses and networks, comma-separated */
  char base_path[EP_BASE_PATH_BYTES];           /* "/epochd"; "" = none */
  char data_dir[PATH_MAX];                      /* absolute */
  char devices[EP_CONFIG_TEXT_BYTES]; /* "auto", "cpu,cuda:0", "auto,slurm:gpu,kubernetes:research"
                                       */
  /* Workers by Slurm; "" = none, or Slurm's default. */
  char shared_dir[PATH_MAX];               /* a folder that the nodes have at the same path */
  char slurm_listen[EP_CONFIG_TEXT_BYTES]; /* ADDRESS:PORT, as the nodes reach it */
  char slurm_account[EP_SLURM_WORD_BYTES], slurm_qos[EP_SLURM_WORD_BYTES];
  char kubernetes_template[PATH_MAX], kubernetes_address[EP_CONFIG_TEXT_BYTES];
  char slurm_options[EP_CONFIG_TEXT_BYTES]; /* further words for sbatch, apart by spaces */
  char slurm_worker[PATH_MAX]; /* epoch-worker on the nodes; "" = a copy in shared_dir */
  int64_t slurm_idle_seconds, slurm_workers_max, slurm_look_seconds, slurm_reconnect_seconds;
  char token_file[PATH_MAX];                         /* "" = no token */
  char tls_certificate[PATH_MAX], tls_key[PATH_MAX]; /* PEM; "" = no TLS */
  char tls_client_ca[PATH_MAX];                      /* PEM; "" = clients need no certificate */
  char worker[PATH_MAX], plugin[PATH_MAX];           /* "" = beside epochd */
  char allow_path[EP_CONFIG_FOLDERS_BYTES]; /* folders whose files jobs may name; DIR:DIR */
  char webhook_secret_file[PATH_MAX];       /* "" = no webhooks */
  char webhook_allow[EP_CONFIG_TEXT_BYTES]; /* networks and hosts, comma-separated */
  char access_log[PATH_MAX];                /* "" = none, "-" = standard output */
  char log_level[16], log_format[16];
  char visibility[16]; /* "public", "private": of what does not say */
  int64_t max_upload_bytes;
  int64_t ingest_memory_bytes, ingest_seconds; /* that reading one file may take */
  int64_t reserve_bytes, max_log_bytes;
  int64_t keep_days, keep_bytes; /* 0 = all jobs are kept */
  int64_t data_bytes_max;
  int64_t memory;           /* bytes, of the daemon and its workers; 0 = what there is */
  int64_t memory_bytes_max; /* of jobs on the CPU; 0 = their share */
  int64_t max_queued;
  int64_t quota_jobs, quota_bytes, quota_cores, quota_device_seconds; /* of an owner; 0 = none */
  int64_t stall_seconds, stop_seconds, checkpoint_after_seconds;
  int64_t crashes_max;
  int64_t cpu_jobs; /* 0 = as cores and memory allow */
  int cores;        /* that this process may use */
  int64_t http_threads;
  int64_t http_bytes_max; /* 0 = by the memory that there is */
  bool new_store;
  char backup[PATH_MAX]; /* "" = serves */
  bool check, rescue, probe, help, version;
  /* Derived from the members above. */
  char host[256]; /* without brackets */
  int port;
  bool loopback; /* `host` is reached from this machine alone */
  bool private_default;
  ep_log_level level;
  ep_log_format format;
} ep_config;

/* Stores the defaults, then the settings of --config FILE, then those of argv[1 …]. EP_INVALID
 * names the option or key, and the nearest known one. For the main thread (ep_arguments_read). */
ep_status ep_config_read(int argc, char *const *argv, ep_config *out, ep_error *error);

/* Prints the text of --help. */
void ep_config_usage(FILE *out);

#endif
