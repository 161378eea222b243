/* slurm.c: workers by Slurm: tasks of an array, whose connection files lie in the shared folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/files/durable_file.h"
#include "server/slurm/gateway/scheduler.h"

static const char NAME[] = "epochd-worker";

static ep_status connection_write(const ep_order *order, int index, ep_error *error) {
  char text[EP_CONNECTION_BYTES], path[EP_LIMIT_PATH_BYTES + 128];
  ep_status status =
      ep_tickets_file(order->tickets, order->workers[index].worker, path, sizeof path, error);
  if (status == EP_OK)
    status = ep_order_connection(order, index, order->setup->address, order->setup->shared_dir,
                                 text, error);
  if (status != EP_OK) return status;
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  status = ep_file_write_all(file, text, strlen(text), error);
  if (close(file) != 0 && status == EP_OK)
    status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  return status;
}

static void text_add(char *script, size_t bytes, const char *text) {
  size_t used = strlen(script);
  snprintf(script + used, bytes - used, "%s", text);
}

/* 'it'\''s' */
static void quoted_add(char *script, size_t bytes, const char *text) {
  size_t used = strlen(script);
  if (used + 1 < bytes) script[used++] = '\'';
  for (; *text && used + 5 < bytes; text++) {
    if (*text == '\'') {
      memcpy(script + used, "'\\''", 4);
      used += 4;
    } else {
      script[used++] = *text;
    }
  }
  if (used + 1 < bytes) script[used++] = '\'';
  script[used < bytes ? used : bytes - 1] = 0;
}

/* A process on each further node. The shell's job, which then is the worker's child. */
static void nodes_start(const ep_order *order, char *script, size_t bytes) {
  const ep_gateway_setup *setup = order->setup;
  const int others = order->request->nodes - 1;
  char words[256];
  if (others < 1) return;
  snprintf(words, sizeof words,
           "srun --overlap --mpi=none --kill-on-bad-exit=0 --relative=1 --nodes=%d --ntasks=%d "
           "--ntasks-per-node=1 --cpus-per-task=%d ",
           others, others, order->request->cpus > 0 ? order->request->cpus : 1);
  text_add(script, bytes, words);
  quoted_add(script, bytes, setup->worker);
  text_add(script, bytes, " --join ");
  quoted_add(script, bytes, setup->shared_dir);
  text_add(script, bytes, "/workers/\"$worker\".nodes </dev/null &\n");
}

/* The batch script: task N of the array is the worker number N. It is replaced by the worker, so
 * that signals reach the worker. */
static ep_status script_write(const ep_order *order, char *script, size_t bytes, ep_error *error) {
  const ep_gateway_setup *setup = order->setup;
  snprintf(script, bytes, "#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n");
  for (int i = 0; i < order->count; i++) {
    char line[EP_ID_BYTES + 32];
    snprintf(line, sizeof line, "%d) worker=%s ;;\n", i, order->workers[i].worker);
    text_add(script, bytes, line);
  }
  text_add(script, bytes, "esac\n");
  nodes_start(order, script, bytes);
  text_add(script, bytes, "exec ");
  quoted_add(script, bytes, setup->worker);
  text_add(script, bytes, " --connect ");
  quoted_add(script, bytes, setup->shared_dir);
  text_add(script, bytes, "/workers/\"$worker\"");
  if (setup->plugin[0]) {
    text_add(script, bytes, " --plugin ");
    quoted_add(script, bytes, setup->plugin);
  }
  text_add(script, bytes, "\n");
  if (strlen(script) + 1 < bytes) return EP_OK;
  return ep_fail(error, EP_TOO_LARGE, "the batch script is too long");
}

static ep_status array_submit(const ep_order *order, int64_t *job, ep_error *error) {
  const ep_gateway_setup *setup = order->setup;
  char script[EP_LIMIT_SLURM_SCRIPT_BYTES], output[EP_LIMIT_PATH_BYTES + 64];
  ep_slurm_submission submission = {.request = *order->request,
                                    .workers = order->count,
                                    .name = NAME,
                                    .script = script,
                                    .output = output,
                                    .folder = setup->shared_dir,
                                    .options = setup->options[0] ? setup->options : NULL};
  snprintf(output, sizeof output, "%s/logs/worker-%%A_%%a.log", setup->shared_dir);
  snprintf(submission.request.partition, sizeof submission.request.partition, "%s", order->target);
  if (!order->request->partition[0]) { /* of a job without a request of its own */
    snprintf(submission.request.account, sizeof submission.request.account, "%s", setup->account);
    snprintf(submission.request.qos, sizeof submission.request.qos, "%s", setup->qos);
  }
  ep_status status = script_write(order, script, sizeof script, error);
  return status == EP_OK ? ep_slurm_submit(&submission, job, error) : status;
}

static ep_status submit(const ep_order *order, int64_t *job, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < order->count; i++)
    status = connection_write(order, i, error);
  return status == EP_OK ? array_submit(order, job, error) : status;
}

static ep_status list(const char *const *targets, int count, ep_slurm_jobs *out, ep_error *error) {
  (void)targets;
  (void)count;
  return ep_slurm_list(NAME, out, error);
}

static ep_status cancel(const ep_ticket *ticket, ep_error *error) {
  return ep_slurm_cancel(ticket->job, ticket->task, error);
}

static void words(const ep_ticket *ticket, char job[EP_WORKER_WORDS_BYTES],
                  char log[EP_WORKER_WORDS_BYTES]) {
  const long long number = (long long)ticket->job, task = (long long)ticket->task;
  snprintf(job, EP_WORKER_WORDS_BYTES, "Slurm's job %lld_%lld", number, task);
  snprintf(log, EP_WORKER_WORDS_BYTES, "logs/worker-%lld_%lld.log in the shared folder", number,
           task);
}

/* Of the accounting, where there is one. */
static bool ending(const ep_ticket *ticket, char text[EP_WORKER_WORDS_BYTES]) {
  ep_slurm_ending found;
  if (ep_slurm_ending_find(ticket->job, ticket->task, &found, NULL) != EP_OK) return false;
  snprintf(text, EP_WORKER_WORDS_BYTES, "%.40s, exit code %.16s, after %.16s on %.48s", found.state,
           found.code, found.elapsed, found.node);
  return true;
}

const ep_scheduler ep_scheduler_slurm = {.prefix = EP_SLURM_PREFIX,
                                         .name = "Slurm",
                                         .submit = submit,
                                         .list = list,
                                         .cancel = cancel,
                                         .ending = ending,
                                         .words = words};
