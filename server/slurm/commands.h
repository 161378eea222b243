/* commands.h: Slurm through its own commands: sbatch, squeue, scancel, sinfo and scontrol of the
 * PATH, and sacct where there is one.
 *
 * Each function starts a child and waits for it, EP_LIMIT_SLURM_COMMAND_MS at most: seconds where
 * slurmctld is busy. So they belong in a thread that nobody waits for. Any thread, several at once.
 * Errors: EP_UNAVAILABLE where a command is absent, takes too long, or Slurm does not respond;
 * EP_INVALID where Slurm refuses. The message has the command's own words. */
#ifndef EP_SERVER_SLURM_COMMANDS_H
#define EP_SERVER_SLURM_COMMANDS_H

#include "server/slurm/answers.h"

/* What a worker needs. "" and 0: not said, so that the partition's or Slurm's default holds. */
typedef struct {
  char partition[EP_SLURM_NAME_BYTES];
  char account[EP_SLURM_NAME_BYTES];
  char qos[EP_SLURM_NAME_BYTES];
  char constraint[EP_SLURM_NAME_BYTES];
  char gres[EP_SLURM_NAME_BYTES]; /* "gpu:a100:1"; then `gpus` is 0 */
  int nodes;                      /* 0 = 1; what follows but for `minutes` is of each */
  int gpus;
  int cpus;
  int64_t memory_bytes; /* asked for in MiB, rounded up */
  int64_t minutes;
} ep_slurm_request;

typedef struct {
  ep_slurm_request request;
  int workers;         /* 1 … EP_LIMIT_SLURM_ARRAY: tasks 0 … workers - 1 of an array */
  const char *name;    /* the job's */
  const char *script;  /* the batch script's text; read by sbatch before this returns */
  const char *output;  /* the file for what a worker prints; "%A_%a" is its number; NULL = none */
  const char *folder;  /* the working folder on the node */
  const char *options; /* further words for sbatch, apart by spaces, before ours; NULL = none */
} ep_slurm_submission;

/* Submits an array of workers, which Slurm does not requeue: the secret of a worker is good once.
 * It sends SIGTERM to the batch script alone EP_SLURM_WARNING_SECONDS before the time limit. Of
 * epochd's environment PATH, HOME, LD_LIBRARY_PATH and SLURM_CONF go into the job. */
ep_status ep_slurm_submit(const ep_slurm_submission *submission, int64_t *job, ep_error *error);
enum { EP_SLURM_WARNING_SECONDS = 60 };

/* When such a job would start if it were submitted, in UNIX time; nothing is submitted. EP_INVALID:
 * Slurm would refuse it, or never start it. */
ep_status ep_slurm_predict(const ep_slurm_submission *submission, int64_t *start_s,
                           ep_error *error);

/* Our own jobs of this name (NULL = of any), pending, running, and those ended in the minutes that
 * slurmctld remembers (MinJobAge). ep_slurm_jobs_free. */
ep_status ep_slurm_list(const char *name, ep_slurm_jobs *out, ep_error *error);

/* Cancels a job, or a task of an array (task -1: all of them). OK also where it has ended. */
ep_status ep_slurm_cancel(int64_t job, int64_t task, ep_error *error);

/* How a job, or a task of an array, ended. EP_UNAVAILABLE also where there is no accounting;
 * EP_NOT_FOUND: the accounting has no end of it. */
ep_status ep_slurm_ending_find(int64_t job, int64_t task, ep_slurm_ending *out, ep_error *error);

/* All partitions and nodes. ep_slurm_cluster_free. */
ep_status ep_slurm_look(ep_slurm_cluster *out, ep_error *error);

/* EP_UNAVAILABLE that names the first of the commands that is not on the PATH. Starts nothing. */
ep_status ep_slurm_commands_check(ep_error *error);

#endif
