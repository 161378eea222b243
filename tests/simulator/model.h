/* model.h: what clients were told, and what must hold therefore:
 *
 *   - a job that was accepted is there after any crash, until it is deleted, and stays deleted then
 *   - no two jobs of one Idempotency-Key
 *   - a line of a log that was shown stays as it is; its seq is its number; no epoch is there twice
 *     or missing; there is one `end`, the last line, and the row says the same
 *   - what has ended stays as it ended
 *   - a late report changes nothing; no job is with two workers; no attempt comes back
 *   - a job that is paused or has ended is not started
 *   - quotas of jobs and of cores
 *   - once nothing fails any more, every job ends (simulate.c) */
#ifndef EP_TEST_SIMULATOR_MODEL_H
#define EP_TEST_SIMULATOR_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "server/jobs/jobs.h"
#include "server/process/id.h"

enum {
  MODEL_JOBS = 256,
  MODEL_KEYS = 64,
  MODEL_OWNERS = 4,
  MODEL_QUOTA_JOBS = 20,
  MODEL_QUOTA_CORES = 2,
  MODEL_CPU_JOBS = 4
};

typedef enum { JOB_FREE, JOB_STORED, JOB_DELETED } model_state;

typedef struct {
  model_state state;
  char id[EP_ID_BYTES];
  int owner;
  int key;           /* -1 = none */
  int users;         /* operations on it that are under way */
  int deleting;      /* of them, those that delete it */
  bool deletes;      /* it was told to go, and it is not known whether it did */
  int resuming;      /* those that resume it */
  uint64_t resumes;  /* that have begun */
  bool looking;      /* one of them reads its log */
  bool expires;      /* it goes by itself, some time after its end */
  bool damaged;      /* a bit of its log was flipped: it may lack lines */
  int64_t paused_us; /* when it was told so; 0 = it was not, or was told to go on since */
  ep_state end;      /* of its row; EP_STATE_QUEUED = it has not ended, as far as is known */
  int attempt;       /* of its last training */
  int64_t checkpoint;
  int64_t bytes, lines, epoch; /* of its log, as it was read */
  uint64_t hash;               /* of these bytes */
  bool started, ended;
  uint64_t deleted_at; /* event */
} model_job;

typedef struct {
  model_job job[MODEL_JOBS];
  int key_job[MODEL_KEYS];     /* index; -1 = none, or not known */
  bool key_unsure[MODEL_KEYS]; /* it may have a job or not */
  int64_t unsure;              /* submissions whose outcome no client knows */
  bool look_due;               /* the disk refused to be read: to be looked at again */
} model;

extern model *MODEL;

void model_begin(void);
const char *model_owner_name(int owner);
int model_find(const char *id); /* -1: it is not known */
int model_owner(const char *id);
int model_count(model_state state);
/* Accepted: its index. */
int model_add(const char *id, int owner, int key);
void model_deleted(int index);
/* It may go at any time. */
bool model_is_leaving(const model_job *job);

/* What workers see. */
void model_training_begin(const char *id, int attempt);
void model_training_end(const char *id);
void model_checkpoint(const char *id, int64_t epoch);
int64_t model_checkpoint_find(const char *id);

/* The functions below are a task's. */

/* Whether the disk has refused something since `failures`, so that an operation may fail. */
bool model_trouble(uint64_t failures);
/* Reads a job and what is new of its log; anew: from its beginning. */
void model_look(ep_jobs *jobs, int index, bool anew);
/* After a start: all jobs, and those that were stored although nobody was told. */
void model_look_all(ep_jobs *jobs);
/* Quotas, as the daemon counts. */
void model_quotas(ep_jobs *jobs);

/* The simulator's: a power failure took an attempt that was not stored. */
void model_power_failed(void);

#endif
