#include "engine/worker/replies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "engine/checkpoints/list.h"
#include "engine/files/path.h"
#include "engine/worker/exports.h"
#include "engine/worker/plots.h"

static ep_reply reply_begin(const ep_command *command) {
  ep_reply reply = {.kind = command->kind == EP_COMMAND_EXPORT ? EP_REPLY_EXPORTED
                            : command->kind == EP_COMMAND_PLOT ? EP_REPLY_PLOTTED
                                                               : EP_REPLY_PREDICTED,
                    .request = command->request};
  snprintf(reply.job, sizeof reply.job, "%s", command->job);
  return reply;
}

/* Where the weights are that a prediction is to be made by. */
static ep_status weights_find(const ep_replies *answers, const ep_command *command,
                              char weights[EP_PATH_BYTES], ep_error *error) {
  char folder[EP_PATH_BYTES];
  ep_status status = ep_path_join(folder, error, answers->data_dir, "jobs", command->job, NULL);
  if (status != EP_OK) return status;
  return command->checkpoint > 0 ? ep_checkpoint_path(folder, command->checkpoint, weights, error)
                                 : ep_path_join(weights, error, folder, EP_WEIGHTS_FILE, NULL);
}

static ep_status predict(ep_replies *answers, const ep_command *command, const double *x,
                         int64_t rows, double **output, int64_t *columns, ep_error *error) {
  char weights[EP_PATH_BYTES];
  ep_status status = weights_find(answers, command, weights, error);
  if (status != EP_OK) return status;
  return ep_predictor_answer(answers->predictor, weights, command->checkpoint > 0,
                             command->weights_sha256, x, rows, command->columns, command->windows,
                             output, columns, error);
}

/* The main thread sees a socket that has ended, and ends the process: not this one's affair. */
static void answer_send(ep_replies *answers, const ep_command *command) {
  ep_reply reply = reply_begin(command);
  if (command->kind == EP_COMMAND_EXPORT)
    ep_export_write(answers->data_dir, command, answers->predictor, &reply.error);
  else if (command->kind == EP_COMMAND_PLOT)
    ep_plots_write(answers->data_dir, command, answers->predictor, &reply.error);
  else if (predict(answers, command, command->x, command->rows, &reply.output, &reply.columns,
                   &reply.error) == EP_OK)
    reply.rows = command->rows;
  ep_link_send_reply(answers->link, &reply, NULL);
  ep_reply_deinit(&reply);
}

static int64_t values_bytes(const ep_command *command) {
  return command->x ? command->rows * command->columns * (int64_t)sizeof *command->x : 0;
}

/* The mutex is held, and the queue is not empty. */
static ep_command queue_take(ep_replies *answers) {
  ep_command command = answers->queue[answers->first];
  answers->first = (answers->first + 1) % EP_REPLIES_WAITING;
  answers->count--;
  answers->values_bytes -= values_bytes(&command);
  return command;
}

/* Whether a prediction may be made together with another one: of the same network, few rows. */
static bool joins(const ep_command *command, const ep_command *other) {
  return other->kind == EP_COMMAND_PREDICT && strcmp(command->job, other->job) == 0 &&
         command->checkpoint == other->checkpoint && command->columns == other->columns &&
         command->windows == other->windows &&
         strcmp(command->weights_sha256, other->weights_sha256) == 0;
}

/* Takes those that wait next and join the first of `joined`; how many there are then. *rows: of all
 * of them. */
static int joined_take(ep_replies *answers, int64_t *rows) {
  const ep_command *first = &answers->joined[0];
  char weights[EP_PATH_BYTES];
  int64_t most = 0;
  int count = 1;
  *rows = first->rows;
  if (first->kind != EP_COMMAND_PREDICT || first->rows >= EP_REPLIES_JOINED) return 1;
  if (weights_find(answers, first, weights, NULL) != EP_OK ||
      ep_predictor_hold(answers->predictor, weights, first->checkpoint > 0, first->weights_sha256,
                        &most, NULL) != EP_OK)
    return 1; /* what is wrong is said when it is answered */
  if (most > EP_REPLIES_JOINED) most = EP_REPLIES_JOINED;
  pthread_mutex_lock(&answers->mutex);
  while (answers->count > 0) {
    const ep_command *next = &answers->queue[answers->first];
    if (!joins(first, next) || *rows + next->rows > most) break;
    *rows += next->rows;
    answers->joined[count++] = queue_take(answers);
  }
  pthread_mutex_unlock(&answers->mutex);
  return count;
}

/* False: nothing was answered, and each is to be answered alone. */
static bool joined_answer(ep_replies *answers, int count, int64_t rows) {
  const ep_command *first = &answers->joined[0];
  int64_t columns = 0, at = 0;
  double *output = NULL, *x = malloc((size_t)(rows * first->columns) * sizeof *x);
  if (!x) return false;
  for (int i = 0; i < count; at += answers->joined[i++].rows)
    memcpy(x + at * first->columns, answers->joined[i].x,
           (size_t)values_bytes(&answers->joined[i]));
  ep_status status = predict(answers, first, x, rows, &output, &columns, NULL);
  free(x);
  at = 0;
  for (int i = 0; status == EP_OK && i < count; at += answers->joined[i++].rows) {
    ep_reply reply = reply_begin(&answers->joined[i]);
    reply.output = output + at * columns; /* lent: only encoded here */
    reply.rows = answers->joined[i].rows;
    reply.columns = columns;
    if (i == 0) answers->joined_calls++;
    ep_link_send_reply(answers->link, &reply, NULL);
  }
  free(output);
  return status == EP_OK;
}

static void *answers_thread(void *context) {
  ep_replies *answers = context;
  for (;;) {
    int64_t rows;
    pthread_mutex_lock(&answers->mutex);
    while (answers->count == 0) pthread_cond_wait(&answers->filled, &answers->mutex);
    answers->joined[0] = queue_take(answers);
    pthread_mutex_unlock(&answers->mutex);
    int count = joined_take(answers, &rows);
    bool answered = count > 1 && joined_answer(answers, count, rows);
    for (int i = 0; i < count; i++) {
      if (!answered) answer_send(answers, &answers->joined[i]);
      ep_command_deinit(&answers->joined[i]);
    }
  }
  return NULL;
}

ep_status ep_replies_start(ep_replies *answers, ep_link *link, const char *data_dir,
                           ep_error *error) {
  pthread_t thread;
  memset(answers, 0, sizeof *answers);
  answers->link = link;
  answers->data_dir = data_dir;
  answers->queue = calloc(EP_REPLIES_WAITING, sizeof *answers->queue);
  answers->joined = calloc(EP_REPLIES_JOINED, sizeof *answers->joined);
  if (!answers->queue || !answers->joined) return ep_fail_memory(error); /* the process ends */
  ep_status status = ep_predictor_create(&answers->predictor, error);
  if (status != EP_OK) return status;
  pthread_mutex_init(&answers->mutex, NULL);
  pthread_cond_init(&answers->filled, NULL);
  int failed = pthread_create(&thread, NULL, answers_thread, answers);
  if (failed) return ep_fail(error, EP_NO_MEMORY, "no thread for answers: %s", strerror(failed));
  pthread_detach(thread);
  return EP_OK;
}

ep_status ep_replies_take(ep_replies *answers, ep_command *command, ep_error *error) {
  const int64_t bytes = values_bytes(command);
  pthread_mutex_lock(&answers->mutex);
  int waiting = answers->count;
  bool room = waiting == 0 || (waiting < EP_REPLIES_WAITING &&
                               answers->values_bytes + bytes <= EP_LIMIT_FRAMES_BYTES);
  if (room) {
    answers->queue[(answers->first + answers->count++) % EP_REPLIES_WAITING] = *command;
    answers->values_bytes += bytes;
  }
  pthread_cond_signal(&answers->filled);
  pthread_mutex_unlock(&answers->mutex);
  if (room) return EP_OK;
  ep_reply reply = reply_begin(command);
  ep_fail(&reply.error, EP_BUSY, "%d predictions wait already", waiting);
  ep_command_deinit(command);
  return ep_link_send_reply(answers->link, &reply, error);
}
