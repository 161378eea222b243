#include "server/slurm/commands.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/limits.h"
#include "server/slurm/child.h"

static const char *const COMMANDS[] = {"sbatch", "squeue", "scancel", "sinfo", "scontrol"};

enum { WORD_BYTES = 4352, WORDS = 100 }; /* a path, and the option's name before it */

/* A command line that is being written. */
typedef struct {
  const char *words[WORDS + 1];
  char *texts[WORDS]; /* those to free */
  int count, texts_count;
  bool short_of_memory;
} command_line;

static void line_add(command_line *line, const char *word) {
  if (line->count < WORDS) line->words[line->count++] = word;
}

__attribute__((format(printf, 2, 3))) static void line_print(command_line *line, const char *format,
                                                             ...) {
  char text[WORD_BYTES];
  va_list values;
  va_start(values, format);
  int length = vsnprintf(text, sizeof text, format, values);
  va_end(values);
  char *copy = length >= 0 && (size_t)length < sizeof text ? strdup(text) : NULL;
  if (!copy || line->texts_count == WORDS) {
    line->short_of_memory = true;
    free(copy);
    return;
  }
  line->texts[line->texts_count++] = copy;
  line_add(line, copy);
}

static void line_option(command_line *line, const char *name, const char *value) {
  if (value && value[0]) line_print(line, "--%s=%s", name, value);
}

static void line_number(command_line *line, const char *name, int64_t value, const char *unit) {
  if (value > 0) line_print(line, "--%s=%" PRId64 "%s", name, value, unit);
}

static ep_status line_words(command_line *line, const char *options, ep_error *error) {
  int count = 0;
  for (const char *at = options ? options : ""; *(at += strspn(at, " \t"));) {
    size_t length = strcspn(at, " \t");
    if (++count > EP_LIMIT_SLURM_OPTIONS || length >= WORD_BYTES)
      return ep_fail(error, EP_INVALID, "--slurm-options has %d words at most",
                     EP_LIMIT_SLURM_OPTIONS);
    line_print(line, "%.*s", (int)length, at);
    at += length;
  }
  return EP_OK;
}

static void line_deinit(command_line *line) {
  for (int i = 0; i < line->texts_count; i++) free(line->texts[i]);
}

static ep_status refused(const char *command, const ep_slurm_child *child, ep_error *error) {
  static const char *const UNREACHABLE[] = {"Unable to contact",  "Connection refused",
                                            "timed out",          "Could not establish",
                                            "temporarily unable", NULL};
  return ep_slurm_child_refused(command, child, UNREACHABLE, error);
}

/* Runs the line; an exit code that is not 0 is a refusal. */
static ep_status line_run(const command_line *line, const char *input, ep_slurm_child *out,
                          ep_error *error) {
  if (line->short_of_memory) return ep_fail_memory(error);
  ep_status status = ep_slurm_child_run(line->words, input, EP_LIMIT_SLURM_COMMAND_MS, out, error);
  if (status != EP_OK || out->exit_code == 0) return status;
  status = refused(line->words[0], out, error);
  ep_slurm_child_deinit(out);
  return status;
}

static ep_status submission_line(command_line *line, const ep_slurm_submission *submission,
                                 ep_error *error) {
  const ep_slurm_request *request = &submission->request;
  const int nodes = request->nodes > 1 ? request->nodes : 1;
  if (submission->workers < 1 || submission->workers > EP_LIMIT_SLURM_ARRAY)
    return ep_fail(error, EP_INVALID, "an array has 1 to %d workers", EP_LIMIT_SLURM_ARRAY);
  line_add(line, "sbatch");
  ep_status status = line_words(line, submission->options, error);
  if (status != EP_OK) return status;
  line_add(line, "--parsable");
  line_add(line, "--export=ALL"); /* of child.c's environment; all else loads a login shell's */
  line_add(line, "--no-requeue");
  line_print(line, "--nodes=%d", nodes);
  line_print(line, "--ntasks=%d", nodes);
  if (nodes > 1) line_add(line, "--ntasks-per-node=1");
  line_print(line, "--signal=B:TERM@%d", EP_SLURM_WARNING_SECONDS);
  line_print(line, "--array=0-%d", submission->workers - 1);
  line_option(line, "job-name", submission->name);
  line_option(line, "output", submission->output ? submission->output : "/dev/null");
  line_option(line, "chdir", submission->folder);
  line_option(line, "partition", request->partition);
  line_option(line, "account", request->account);
  line_option(line, "qos", request->qos);
  line_option(line, "constraint", request->constraint);
  line_option(line, "gres", request->gres);
  line_number(line, "gpus", request->gpus, "");
  line_number(line, "cpus-per-task", request->cpus, "");
  line_number(line, "mem", (request->memory_bytes + (1 << 20) - 1) >> 20, "M");
  line_number(line, "time", request->minutes, "");
  return EP_OK;
}

ep_status ep_slurm_submit(const ep_slurm_submission *submission, int64_t *job, ep_error *error) {
  command_line line = {0};
  ep_slurm_child child = {0};
  ep_status status = submission_line(&line, submission, error);
  if (status == EP_OK) status = line_run(&line, submission->script, &child, error);
  if (status == EP_OK && !ep_slurm_submitted_parse(child.output ? child.output : "", job))
    status = ep_fail(error, EP_UNKNOWN, "sbatch printed no job id: \"%.200s\"",
                     child.output ? child.output : "");
  ep_slurm_child_deinit(&child);
  line_deinit(&line);
  return status;
}

ep_status ep_slurm_predict(const ep_slurm_submission *submission, int64_t *start_s,
                           ep_error *error) {
  command_line line = {0};
  ep_slurm_child child = {0};
  ep_status status = submission_line(&line, submission, error);
  line_add(&line, "--test-only");
  if (status == EP_OK) status = line_run(&line, submission->script, &child, error);
  /* It prints to standard error. */
  if (status == EP_OK && !ep_slurm_start_parse(child.words, start_s))
    status = refused("sbatch", &child, error);
  ep_slurm_child_deinit(&child);
  line_deinit(&line);
  return status;
}

ep_status ep_slurm_list(const char *name, ep_slurm_jobs *out, ep_error *error) {
  /* 22.05 prints all users' jobs as JSON whatever it is told, newer versions those named here. */
  command_line line = {.words = {"squeue", "--json", "--me", "--states=all"}, .count = 4};
  ep_slurm_child child = {0};
  *out = (ep_slurm_jobs){0};
  line_option(&line, "name", name);
  ep_status status = line_run(&line, NULL, &child, error);
  if (status == EP_OK)
    status =
        ep_slurm_jobs_parse(child.output, child.output_bytes, name, (int64_t)geteuid(), out, error);
  ep_slurm_child_deinit(&child);
  line_deinit(&line);
  return status;
}

ep_status ep_slurm_cancel(int64_t job, int64_t task, ep_error *error) {
  command_line line = {.words = {"scancel"}, .count = 1};
  ep_slurm_child child = {0};
  ep_error why = {0};
  if (task >= 0)
    line_print(&line, "%" PRId64 "_%" PRId64, job, task);
  else
    line_print(&line, "%" PRId64, job);
  ep_status status = line_run(&line, NULL, &child, &why);
  if (status == EP_INVALID &&
      (strstr(why.message, "Invalid job id") || strstr(why.message, "already completing")))
    status = EP_OK;
  if (status != EP_OK && error) *error = why;
  ep_slurm_child_deinit(&child);
  line_deinit(&line);
  return status;
}

ep_status ep_slurm_ending_find(int64_t job, int64_t task, ep_slurm_ending *out, ep_error *error) {
  command_line line = {.words = {"sacct", "--parsable2", "--noheader", "--allocations",
                                 "--format=State,ExitCode,Elapsed,NodeList"},
                       .count = 5};
  ep_slurm_child child = {0};
  ep_error why = {0};
  if (task >= 0)
    line_print(&line, "--jobs=%" PRId64 "_%" PRId64, job, task);
  else
    line_print(&line, "--jobs=%" PRId64, job);
  ep_status status = line_run(&line, NULL, &child, &why);
  if (status == EP_INVALID && strstr(why.message, "accounting")) status = EP_UNAVAILABLE;
  if (status != EP_OK)
    ep_fail(error, status, "%s", why.message);
  else if (!ep_slurm_ending_parse(child.output, out))
    status = ep_fail(error, EP_NOT_FOUND, "the accounting has no end of job %" PRId64, job);
  ep_slurm_child_deinit(&child);
  line_deinit(&line);
  return status;
}

ep_status ep_slurm_look(ep_slurm_cluster *out, ep_error *error) {
  const command_line partitions = {.words = {"scontrol", "--oneliner", "show", "partition"}};
  const command_line nodes = {.words = {"sinfo", "--json", "--Node", "--all"}};
  ep_slurm_child limits = {0}, states = {0};
  *out = (ep_slurm_cluster){0};
  ep_status status = line_run(&partitions, NULL, &limits, error);
  if (status == EP_OK) status = line_run(&nodes, NULL, &states, error);
  if (status == EP_OK)
    status = ep_slurm_cluster_parse(limits.output, limits.output_bytes, states.output,
                                    states.output_bytes, out, error);
  ep_slurm_child_deinit(&limits);
  ep_slurm_child_deinit(&states);
  return status;
}

static bool on_path(const char *command) {
  char file[4096 + 64];
  const char *path = getenv("PATH");
  for (const char *at = path ? path : ""; *at;) {
    size_t length = strcspn(at, ":");
    if (length > 0 && length < 4096) {
      snprintf(file, sizeof file, "%.*s/%s", (int)length, at, command);
      if (access(file, X_OK) == 0) return true;
    }
    at += length + (at[length] == ':');
  }
  return false;
}

ep_status ep_slurm_commands_check(ep_error *error) {
  for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
    if (!on_path(COMMANDS[i]))
      return ep_fail(error, EP_UNAVAILABLE,
                     "%s not found on the PATH: install Slurm's commands (Debian: slurm-client)",
                     COMMANDS[i]);
  return EP_OK;
}
