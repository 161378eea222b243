/* answers.h: what Slurm's commands print, read strictly where it matters and tolerantly elsewhere:
 * of 22.05, whose JSON has plain numbers and one state, and of newer ones, whose numbers are
 * {"set": true, "infinite": false, "number": 3} and whose states are arrays. Nothing here starts a
 * process; any bytes may be given to any function. Any thread. */
#ifndef EP_SERVER_SLURM_ANSWERS_H
#define EP_SERVER_SLURM_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/names.h"
#include "api/status.h"

enum {
  EP_SLURM_NAME_BYTES = EP_SLURM_WORD_BYTES,
  EP_SLURM_STATE_BYTES = 32,  /* "NODE_FAIL" */
  EP_SLURM_REASON_BYTES = 256 /* of a job's wait, of a node's drain */
};

typedef enum {
  EP_SLURM_PENDING, /* also: held, requeued */
  EP_SLURM_RUNNING, /* also: configuring, suspended */
  EP_SLURM_ENDING,  /* completing: its processes end; it may be pending afterwards (requeue) */
  EP_SLURM_ENDED    /* "COMPLETED", "CANCELLED", "TIMEOUT", "NODE_FAIL", … */
} ep_slurm_phase;

/* One job, or one task of an array. */
typedef struct {
  int64_t job;  /* of the array where it is one: what sbatch printed */
  int64_t task; /* -1 = no array */
  ep_slurm_phase phase;
  char state[EP_SLURM_STATE_BYTES];   /* Slurm's word for it */
  char reason[EP_SLURM_REASON_BYTES]; /* "Priority", "Resources"; "" = none */
  char name[EP_SLURM_NAME_BYTES];
  char worker[EP_ID_BYTES]; /* that the job is for, where its scheduler says it; "" = by number */
  char partition[EP_SLURM_NAME_BYTES];
  char node[EP_SLURM_NAME_BYTES]; /* "" until it has one */
  int64_t start_s;                /* UNIX time; of a pending one Slurm's prediction; 0 = none */
  int64_t end_s;                  /* when it ended or is to end at the latest; 0 = unknown */
  int restarts;                   /* how often it was requeued */
  int exit_code;                  /* of an ended one; 128 + the signal's number for a signal */
} ep_slurm_job;

typedef struct {
  ep_slurm_job *jobs; /* [count]; the caller's: ep_slurm_jobs_free */
  int count;
} ep_slurm_jobs;

typedef struct {
  char name[EP_SLURM_NAME_BYTES];
  char reason[EP_SLURM_REASON_BYTES]; /* why it is drained or down; "" = none */
  bool down;                          /* down, not responding, powered off, failed */
  bool leaving;                       /* drained, draining, about to reboot: takes no new job */
  int cpus, cpus_idle;
  int gpus, gpus_idle;
  int64_t memory_bytes;
} ep_slurm_node;

/* 0 in a limit: there is none. Counts leave out nodes that are down or leaving, `nodes` does not.
 */
typedef struct {
  char name[EP_SLURM_NAME_BYTES];
  bool up; /* jobs are taken and started */
  int nodes, nodes_idle, nodes_unavailable;
  int cpus, cpus_idle;
  int gpus, gpus_idle;
  int node_cpus, node_gpus; /* the most that one node has */
  int node_gpus_least;      /* the fewest */
  int64_t node_memory_bytes;
  int64_t max_minutes, default_minutes; /* of a job */
  int max_nodes, max_node_cpus;         /* of a job */
  int64_t max_node_memory_bytes;        /* of a job, on one node */
  int64_t wait_seconds; /* until a worker that is submitted now starts; -1 = nobody knows */
  char accounts[EP_SLURM_REASON_BYTES]; /* that may use it, by commas; "" = all */
  char qos[EP_SLURM_REASON_BYTES];      /* likewise */
} ep_slurm_partition;

typedef struct {
  ep_slurm_partition *partitions; /* [partitions_count], as scontrol lists them */
  ep_slurm_node *nodes;           /* [nodes_count], by name */
  int partitions_count, nodes_count;
} ep_slurm_cluster;

/* `squeue --json`: the jobs whose name is `name` (NULL = all), of this user (-1 = of all). A
 * pending array is one entry of Slurm's and a job a task here. EP_TOO_LARGE over
 * EP_LIMIT_SLURM_JOBS, EP_MALFORMED for what is no list of jobs; a job without its number or state
 * is passed over. */
ep_status ep_slurm_jobs_parse(const char *text, size_t bytes, const char *name, int64_t user,
                              ep_slurm_jobs *out, ep_error *error);
void ep_slurm_jobs_free(ep_slurm_jobs *jobs);

/* `scontrol --oneliner show partition`, whose form is the same in all versions, and `sinfo --json`,
 * which has the nodes. */
ep_status ep_slurm_cluster_parse(const char *partitions, size_t partitions_bytes, const char *nodes,
                                 size_t nodes_bytes, ep_slurm_cluster *out, ep_error *error);
void ep_slurm_cluster_free(ep_slurm_cluster *cluster);
/* NULL: there is none of this name. Lent. */
const ep_slurm_partition *ep_slurm_partition_find(const ep_slurm_cluster *cluster,
                                                  const char *name);
const ep_slurm_node *ep_slurm_node_find(const ep_slurm_cluster *cluster, const char *name);

/* How a job ended, by the accounting, which remembers it when slurmctld does not. */
typedef struct {
  char state[EP_SLURM_NAME_BYTES];    /* "OUT_OF_MEMORY", "CANCELLED by 1000" */
  char code[EP_SLURM_STATE_BYTES];    /* "0:125": the exit code, and the signal's number */
  char elapsed[EP_SLURM_STATE_BYTES]; /* "00:10:02" */
  char node[EP_SLURM_NAME_BYTES];
} ep_slurm_ending;

/* `sacct --parsable2 --noheader` with State, ExitCode, Elapsed and NodeList of one job: its first
 * line. False: there is none, or the job has not ended by it. */
bool ep_slurm_ending_parse(const char *text, ep_slurm_ending *out);

/* `sbatch --parsable`: "12", or "12;cluster". False: it is neither. */
bool ep_slurm_submitted_parse(const char *text, int64_t *job);

/* `sbatch --test-only` with SLURM_TIME_FORMAT=%s: "… to start at 1795486950 using …". */
bool ep_slurm_start_parse(const char *text, int64_t *start_s);

/* GPUs in a list of generic resources: "gpu:2", "gpu:a100:4(S:0-1),nic:1". */
int ep_slurm_gpus_parse(const char *gres);

#endif
