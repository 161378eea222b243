#include "engine/worker/outbox.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

ep_status ep_outbox_init(ep_outbox *outbox, ep_error *error) {
  memset(outbox, 0, sizeof *outbox);
  outbox->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (outbox->wake < 0) return ep_fail(error, EP_IO, "eventfd: %s", strerror(errno));
  pthread_mutex_init(&outbox->mutex, NULL);
  pthread_cond_init(&outbox->room, NULL);
  return EP_OK;
}

static void main_thread_wake(ep_outbox *outbox) {
  uint64_t one = 1;
  ssize_t written = write(outbox->wake, &one, sizeof one);
  (void)written; /* it only fails when the counter is full, and then the reader is awake already */
}

void ep_outbox_start(ep_outbox *outbox, const ep_reply *start) {
  pthread_mutex_lock(&outbox->mutex);
  outbox->start = *start;
  outbox->started = true;
  pthread_mutex_unlock(&outbox->mutex);
  main_thread_wake(outbox);
}

void ep_outbox_checkpoint(ep_outbox *outbox, const ep_reply *checkpoint) {
  pthread_mutex_lock(&outbox->mutex);
  outbox->checkpoint = *checkpoint;
  outbox->checkpointed = outbox->due = true;
  pthread_mutex_unlock(&outbox->mutex);
  main_thread_wake(outbox);
}

void ep_outbox_wait(ep_outbox *outbox, const ep_reply *wait) {
  pthread_mutex_lock(&outbox->mutex);
  outbox->wait = *wait;
  outbox->waiting = outbox->due = true;
  pthread_mutex_unlock(&outbox->mutex);
  main_thread_wake(outbox);
}

void ep_outbox_put(ep_outbox *outbox, const ep_progress_record *records, int count) {
  pthread_mutex_lock(&outbox->mutex);
  while (outbox->count + count > EP_OUTBOX_RECORDS)
    pthread_cond_wait(&outbox->room, &outbox->mutex);
  memcpy(outbox->records + outbox->count, records, (size_t)count * sizeof *records);
  bool half = outbox->count < EP_OUTBOX_RECORDS / 2;
  outbox->count += count;
  half = half && outbox->count >= EP_OUTBOX_RECORDS / 2;
  if (half) outbox->due = true;
  pthread_mutex_unlock(&outbox->mutex);
  if (half) main_thread_wake(outbox);
}

void ep_outbox_put_trials(ep_outbox *outbox, const ep_trial_record *trials, int64_t count) {
  while (count > 0) {
    pthread_mutex_lock(&outbox->mutex);
    while (outbox->trials_count == EP_OUTBOX_TRIALS)
      pthread_cond_wait(&outbox->room, &outbox->mutex);
    int64_t room = EP_OUTBOX_TRIALS - outbox->trials_count, part = count < room ? count : room;
    memcpy(outbox->trials + outbox->trials_count, trials, (size_t)part * sizeof *trials);
    outbox->trials_count += (int)part;
    outbox->due = true;
    pthread_mutex_unlock(&outbox->mutex);
    main_thread_wake(outbox);
    trials += part;
    count -= part;
  }
}

void ep_outbox_flush(ep_outbox *outbox) {
  pthread_mutex_lock(&outbox->mutex);
  bool any = outbox->count > 0;
  outbox->due = any;
  pthread_mutex_unlock(&outbox->mutex);
  if (any) main_thread_wake(outbox);
}

void ep_outbox_alive(ep_outbox *outbox) {
  pthread_mutex_lock(&outbox->mutex);
  outbox->alive = true;
  pthread_mutex_unlock(&outbox->mutex);
  main_thread_wake(outbox);
}

void ep_outbox_finish(ep_outbox *outbox) {
  pthread_mutex_lock(&outbox->mutex);
  outbox->finished = outbox->due = true;
  pthread_mutex_unlock(&outbox->mutex);
  main_thread_wake(outbox);
}

void ep_outbox_take(ep_outbox *outbox, ep_outbox_content *content, ep_progress_record *records,
                    ep_trial_record *trials) {
  uint64_t ignored;
  ssize_t got = read(outbox->wake, &ignored, sizeof ignored);
  (void)got; /* nothing to read means that someone looked in unasked, which is fine */
  pthread_mutex_lock(&outbox->mutex);
  *content = (ep_outbox_content){
      outbox->started,     outbox->checkpointed, outbox->waiting,
      outbox->alive,       outbox->finished,     outbox->start,
      outbox->checkpoint,  outbox->wait,         outbox->due ? outbox->count : 0,
      outbox->trials_count};
  memcpy(records, outbox->records, (size_t)content->count * sizeof *records);
  memcpy(trials, outbox->trials, (size_t)content->trials_count * sizeof *trials);
  if (outbox->due) outbox->count = 0;
  outbox->trials_count = 0;
  outbox->started = outbox->checkpointed = outbox->waiting = false;
  outbox->alive = outbox->finished = outbox->due = false;
  pthread_cond_signal(&outbox->room);
  pthread_mutex_unlock(&outbox->mutex);
}
