#include "engine/worker/replies.h"

#include <stdio.h>
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

static void predict(ep_replies *answers, const ep_command *command, ep_reply *reply) {
  char folder[EP_PATH_BYTES], weights[EP_PATH_BYTES];
  bool checkpoint = command->checkpoint > 0;
  ep_status status =
      ep_path_join(folder, &reply->error, answers->data_dir, "jobs", command->job, NULL);
  if (status == EP_OK)
    status = checkpoint ? ep_checkpoint_path(folder, command->checkpoint, weights, &reply->error)
                        : ep_path_join(weights, &reply->error, folder, EP_WEIGHTS_FILE, NULL);
  if (status == EP_OK)
    status = ep_predictor_answer(answers->predictor, weights, checkpoint, command->weights_sha256,
                                 command->x, command->rows, command->columns, command->windows,
                                 &reply->output, &reply->columns, &reply->error);
  if (status == EP_OK) reply->rows = command->rows;
}

/* The main thread sees a socket that has ended, and ends the process: not this one's affair. */
static void answer_send(ep_replies *answers, const ep_command *command) {
  ep_reply reply = reply_begin(command);
  if (command->kind == EP_COMMAND_EXPORT)
    ep_export_write(answers->data_dir, command, answers->predictor, &reply.error);
  else if (command->kind == EP_COMMAND_PLOT)
    ep_plots_write(answers->data_dir, command, answers->predictor, &reply.error);
  else
    predict(answers, command, &reply);
  ep_link_send_reply(answers->link, &reply, NULL);
  ep_reply_deinit(&reply);
}

static void *answers_thread(void *context) {
  ep_replies *answers = context;
  for (;;) {
    pthread_mutex_lock(&answers->mutex);
    while (answers->count == 0) pthread_cond_wait(&answers->filled, &answers->mutex);
    ep_command command = answers->queue[answers->first];
    answers->first = (answers->first + 1) % EP_ANSWERS_WAITING;
    answers->count--;
    pthread_mutex_unlock(&answers->mutex);
    answer_send(answers, &command);
    ep_command_deinit(&command);
  }
  return NULL;
}

ep_status ep_replies_start(ep_replies *answers, ep_link *link, const char *data_dir,
                           ep_error *error) {
  pthread_t thread;
  memset(answers, 0, sizeof *answers);
  answers->link = link;
  answers->data_dir = data_dir;
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
  pthread_mutex_lock(&answers->mutex);
  bool room = answers->count < EP_ANSWERS_WAITING;
  if (room) answers->queue[(answers->first + answers->count++) % EP_ANSWERS_WAITING] = *command;
  pthread_cond_signal(&answers->filled);
  pthread_mutex_unlock(&answers->mutex);
  if (room) return EP_OK;
  ep_reply reply = reply_begin(command);
  ep_fail(&reply.error, EP_BUSY, "%d predictions wait already", EP_ANSWERS_WAITING);
  ep_command_deinit(command);
  return ep_link_send_reply(answers->link, &reply, error);
}
