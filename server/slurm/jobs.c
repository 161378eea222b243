/* jobs.c: the jobs of squeue --json. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "api/limits.h"
#include "server/slurm/answers.h"
#include "server/slurm/values.h"

static const struct {
  const char *state;
  ep_slurm_phase phase;
} PHASES[] = {{"PENDING", EP_SLURM_PENDING},       {"REQUEUED", EP_SLURM_PENDING},
              {"REQUEUE_FED", EP_SLURM_PENDING},   {"REQUEUE_HOLD", EP_SLURM_PENDING},
              {"RESV_DEL_HOLD", EP_SLURM_PENDING}, {"SPECIAL_EXIT", EP_SLURM_PENDING},
              {"POWER_UP_NODE", EP_SLURM_RUNNING}, {"CONFIGURING", EP_SLURM_RUNNING},
              {"RUNNING", EP_SLURM_RUNNING},       {"SUSPENDED", EP_SLURM_RUNNING},
              {"STOPPED", EP_SLURM_RUNNING},       {"SIGNALING", EP_SLURM_RUNNING},
              {"RESIZING", EP_SLURM_RUNNING},      {"STAGE_OUT", EP_SLURM_ENDING},
              {"COMPLETING", EP_SLURM_ENDING}};

typedef struct {
  const char *name; /* NULL = all */
  int64_t user;     /* -1 = all */
  int capacity;
  ep_slurm_jobs *out;
} collection;

/* A state that is not in the table is an end: Slurm has many words for these. Of several, in newer
 * versions the first is the base and the others flags, which win. */
static void phase_read(const json_t *entry, ep_slurm_job *job) {
  ep_slurm_text(entry, "job_state", job->state, sizeof job->state);
  job->phase = EP_SLURM_ENDED;
  for (size_t i = 0; i < sizeof PHASES / sizeof *PHASES; i++)
    if (ep_slurm_has_word(entry, "job_state", PHASES[i].state)) job->phase = PHASES[i].phase;
}

/* 22.05: the status of waitpid. Newer: {"return_code": …, "signal": {"id": …}}. */
static int exit_code_read(const json_t *entry) {
  const json_t *code = json_object_get(entry, "exit_code");
  if (json_object_get(code, "return_code")) {
    int64_t signal = ep_slurm_count(json_object_get(code, "signal"), "id", 127);
    return signal > 0 ? 128 + (int)signal : (int)ep_slurm_count(code, "return_code", 255);
  }
  int status = (int)ep_slurm_count(entry, "exit_code", 65535);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool job_read(const json_t *entry, ep_slurm_job *job) {
  int64_t id = 0, array = 0;
  memset(job, 0, sizeof *job);
  if (!ep_slurm_number(entry, "job_id", &id) || id == 0) return false;
  job->job = ep_slurm_number(entry, "array_job_id", &array) && array > 0 ? array : id;
  if (!ep_slurm_number(entry, "array_task_id", &job->task)) job->task = -1;
  if (array == 0) job->task = -1;
  phase_read(entry, job);
  ep_slurm_text(entry, "state_reason", job->reason, sizeof job->reason);
  if (strcmp(job->reason, "None") == 0) job->reason[0] = 0;
  ep_slurm_text(entry, "name", job->name, sizeof job->name);
  ep_slurm_text(entry, "partition", job->partition, sizeof job->partition);
  ep_slurm_text(entry, "nodes", job->node, sizeof job->node);
  job->start_s = ep_slurm_count(entry, "start_time", INT64_MAX);
  job->end_s = ep_slurm_count(entry, "end_time", INT64_MAX);
  job->restarts = (int)ep_slurm_count(entry, "restart_cnt", INT32_MAX);
  job->exit_code = exit_code_read(entry);
  return job->state[0] != 0;
}

static ep_status job_add(collection *to, const ep_slurm_job *job, ep_error *error) {
  ep_slurm_jobs *out = to->out;
  if (out->count == EP_LIMIT_SLURM_JOBS)
    return ep_fail(error, EP_TOO_LARGE, "Slurm has more than %d of our jobs", EP_LIMIT_SLURM_JOBS);
  if (out->count == to->capacity) {
    int capacity = to->capacity * 2 + 16;
    ep_slurm_job *grown = realloc(out->jobs, (size_t)capacity * sizeof *grown);
    if (!grown) return ep_fail_memory(error);
    out->jobs = grown;
    to->capacity = capacity;
  }
  out->jobs[out->count++] = *job;
  return EP_OK;
}

static const char *task_number(const char *at, int64_t *number) {
  if (!isdigit((unsigned char)*at)) return NULL;
  char *end;
  *number = strtol(at, &end, 10);
  return *number >= 0 && *number < (1LL << 31) ? end : NULL;
}

/* "1-3,7,10-20:5%2": the tasks of an array that are still one entry. */
static ep_status tasks_add(collection *to, ep_slurm_job *job, const char *tasks, ep_error *error) {
  for (const char *at = tasks; at;) {
    int64_t first, last, step = 1;
    at = task_number(at, &first);
    if (!at) break;
    last = first;
    if (*at == '-') at = task_number(at + 1, &last);
    if (at && *at == ':') at = task_number(at + 1, &step);
    if (!at || step < 1) break;
    for (job->task = first; job->task <= last; job->task += step) {
      ep_status status = job_add(to, job, error);
      if (status != EP_OK) return status;
    }
    if (*at++ != ',') break;
  }
  return EP_OK;
}

static ep_status job_take(void *context, int key, const json_t *entry, ep_error *error) {
  collection *to = context;
  ep_slurm_job job;
  int64_t user;
  (void)key;
  if (!job_read(entry, &job) || (to->name && strcmp(job.name, to->name) != 0)) return EP_OK;
  if (to->user >= 0 && ep_slurm_number(entry, "user_id", &user) && user != to->user) return EP_OK;
  const char *tasks = json_string_value(json_object_get(entry, "array_task_string"));
  return job.task < 0 && tasks && tasks[0] ? tasks_add(to, &job, tasks, error)
                                           : job_add(to, &job, error);
}

ep_status ep_slurm_jobs_parse(const char *text, size_t bytes, const char *name, int64_t user,
                              ep_slurm_jobs *out, ep_error *error) {
  static const char *const KEYS[] = {"jobs", NULL};
  *out = (ep_slurm_jobs){0};
  collection to = {.name = name, .user = user, .out = out};
  ep_status status = ep_slurm_list_walk(text, bytes, KEYS, job_take, &to, error);
  if (status != EP_OK) ep_slurm_jobs_free(out);
  return status;
}

void ep_slurm_jobs_free(ep_slurm_jobs *jobs) {
  free(jobs->jobs);
  *jobs = (ep_slurm_jobs){0};
}

/* The text up to `stop` or the line's end, without control characters; *at: behind it. False: it is
 * empty or too long. */
static bool column_read(const char **at, char stop, char *out, size_t bytes) {
  size_t length = strcspn(*at, (const char[]){stop, '\n', 0});
  if (length == 0 || length >= bytes || (stop != '\n' && (*at)[length] != stop)) return false;
  for (size_t i = 0; i < length; i++) out[i] = iscntrl((unsigned char)(*at)[i]) ? ' ' : (*at)[i];
  out[length] = 0;
  *at += length + ((*at)[length] == stop);
  return true;
}

bool ep_slurm_ending_parse(const char *text, ep_slurm_ending *out) {
  memset(out, 0, sizeof *out);
  if (!column_read(&text, '|', out->state, sizeof out->state) ||
      !column_read(&text, '|', out->code, sizeof out->code) ||
      !column_read(&text, '|', out->elapsed, sizeof out->elapsed) ||
      !column_read(&text, '\n', out->node, sizeof out->node))
    return false;
  for (size_t i = 0; i < sizeof PHASES / sizeof *PHASES; i++)
    if (strncmp(out->state, PHASES[i].state, strlen(PHASES[i].state)) == 0) return false;
  return true;
}

/* Digits, and then nothing or a cluster's name. */
bool ep_slurm_submitted_parse(const char *text, int64_t *job) {
  const char *end = task_number(text, job);
  return end && *job > 0 && (*end == 0 || *end == '\n' || *end == ';');
}

bool ep_slurm_start_parse(const char *text, int64_t *start_s) {
  static const char BEFORE[] = " to start at ";
  const char *at = strstr(text, BEFORE);
  if (!at) return false;
  char *end;
  *start_s = strtoll(at + sizeof BEFORE - 1, &end, 10);
  return *end == ' ' && *start_s > 0;
}
