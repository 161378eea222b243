#include "clients/epochctl/jobs/follow.h"

#include <stdio.h>
#include <time.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "clients/epochctl/http/event_stream.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/jobs/sweep_summary.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/progress_bar.h"
#include "clients/epochctl/terminal/text.h"

enum { MESSAGE_BYTES = 1024, NAME_BYTES = 512, VALUES_BYTES = 96 };
enum { BEST_TRIALS = 10 }; /* of a sweep, printed at its end */

typedef struct {
  const ep_client *client;
  const char *id;
  ep_progress_bar bar;
  ep_state state; /* of the last event */
  /* of a sweep */
  ep_session beside; /* asks for the best trial while the stream is open */
  char best[EP_HUMAN_BYTES], values[VALUES_BYTES];
  int best_tenths;    /* of the sweep, when it was asked for last */
  time_t best_time_s; /* the same in seconds */
} viewer;

/* The device and executor of a started event, the epoch of a paused or resumed one, the message of
 * another; escaped. */
static bool message_read(const viewer *view, const json_t *root, ep_event_type type,
                         char text[MESSAGE_BYTES]) {
  char raw[MESSAGE_BYTES], epoch[EP_HUMAN_BYTES], epochs[EP_HUMAN_BYTES];
  const char *message = ep_json_text_at(root, "message"),
             *executor = ep_json_text_at(root, "executor");
  if (type == EP_EVENT_STARTED)
    snprintf(raw, sizeof raw, "started on %s%s%s", ep_json_text_at(root, "device"),
             *executor ? ", " : "", executor);
  else if (type == EP_EVENT_PAUSED || type == EP_EVENT_RESUMED)
    snprintf(raw, sizeof raw, "at %s %s of %s",
             ep_submission_is_sweep(view->id) ? "training" : "epoch",
             ep_human_count(ep_json_integer_at(root, "epoch"), epoch),
             ep_human_count(ep_json_integer_at(root, "epochs"), epochs));
  else
    snprintf(raw, sizeof raw, "%s", message);
  ep_text_copy(text, MESSAGE_BYTES, raw);
  return *text != 0;
}

/* Asks for the best trial, at each tenth of the sweep and once a second between. A request that
 * fails changes nothing: the stream tells what is wrong. */
static void best_read(viewer *view, const ep_event *event) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *sweep = NULL;
  int tenths = event->epochs > 0 ? (int)(event->progress.epoch * 10 / event->epochs) : 0;
  time_t now_s = time(NULL);
  if (tenths == view->best_tenths && now_s == view->best_time_s) return;
  view->best_tenths = tenths;
  view->best_time_s = now_s;
  ep_submission_path(path, view->id, "");
  if (ep_http_get(&view->beside, path, &sweep, NULL) != EP_OK) return;
  const json_t *best = ep_json_at(sweep, "best");
  if (json_is_object(best)) {
    ep_human_number(ep_json_number_at(best, "metric"), view->best);
    ep_trial_values_text(best, view->values, sizeof view->values);
  }
  json_decref(sweep);
}

/* An event on the terminal. */
static void event_draw(viewer *view, const char *line, size_t bytes, const ep_event *event) {
  char message[MESSAGE_BYTES];
  json_t *root = NULL;
  ep_event shown = *event;
  /* these have all in `event` already */
  bool is_epoch = event->type == EP_EVENT_EPOCH || event->type == EP_EVENT_BATCH;
  if (event->type == EP_EVENT_LAYERS) return; /* epochctl layers shows them */
  if (!is_epoch && ep_json_load(line, bytes, EP_LIMIT_EVENT_BYTES, &root, NULL) != EP_OK) return;
  if (event->type == EP_EVENT_TRIAL) {
    shown.epochs = ep_json_integer_at(root, "numbers");
    best_read(view, &shown);
  }
  bool has_message = !is_epoch && message_read(view, root, event->type, message);
  ep_progress_bar_event(&view->bar, &shown, has_message ? message : NULL);
  json_decref(root);
}

static bool event_show(void *context, const char *line, size_t bytes, const ep_event *event) {
  viewer *view = context;
  if (event->type == EP_EVENT_END) view->state = event->state;
  if (view->client->json) {
    fwrite(line, 1, bytes, stdout);
    putchar('\n');
    fflush(stdout);
    return !ferror(stdout);
  }
  if (event->type != EP_EVENT_END) event_draw(view, line, bytes, event);
  return true;
}

static void idle_show(void *context) {
  viewer *view = context;
  if (!view->client->json) ep_progress_bar_idle(&view->bar);
}

static void cut_show(void *context, int seconds) {
  viewer *view = context;
  char text[MESSAGE_BYTES];
  if (view->client->json) return;
  snprintf(text, sizeof text, "connection lost, retrying in %d s", seconds);
  ep_progress_bar_note(&view->bar, EP_COLOUR_YELLOW, text);
}

static ep_status summary_print(ep_client *client, const char *id, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  if (ep_submission_is_sweep(id))
    return ep_sweep_report_print(client, id, NULL, BEST_TRIALS, error);
  ep_submission_path(path, id, "");
  ep_status status = ep_http_get(&client->session, path, &job, error);
  if (status == EP_OK) ep_job_summary_print(client, job, false);
  json_decref(job);
  return status;
}

static void detach_print(ep_client *client, const char *id) {
  fprintf(stderr,
          "epochctl: stopped watching; %s continues\n"
          "  epochctl watch %s    to watch it again\n"
          "  epochctl cancel %s   to stop it\n",
          id, id, id);
  client->outcome = EP_EXIT_DETACHED;
}

/* The stream, to its end or to an interrupt. */
static ep_status stream_follow(ep_client *client, viewer *view, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  ep_event_follower follower = {
      .event = event_show, .idle = idle_show, .cut = cut_show, .context = view};
  view->beside = client->session;
  view->beside.handle = NULL, view->beside.refusal = NULL; /* a connection of its own */
  ep_submission_path(path, view->id, "/events");
  ep_event_stream_guard();
  ep_status status = ep_event_stream_follow(&client->session, path, 0, &follower, error);
  ep_session_close(&view->beside);
  if (!client->json) ep_progress_bar_end(&view->bar);
  fflush(stdout);
  return status;
}

ep_status ep_job_follow(ep_client *client, const char *id, const char *name, ep_error *error) {
  char safe[NAME_BYTES];
  ep_text_copy(safe, sizeof safe, name);
  viewer view = {.client = client, .id = id, .bar = {.terminal = &client->terminal, .name = safe}};
  view.bar.best = view.best, view.bar.values = view.values;
  ep_error fault = {0};
  ep_status status = stream_follow(client, &view, &fault);
  if (status == EP_CANCELLED && ep_event_stream_interrupted()) {
    detach_print(client, id);
    return EP_OK;
  }
  if (status != EP_OK)
    return ep_fail(error, status, "%s (%s continues; epochctl watch %s)", fault.message, id, id);
  client->outcome = view.state == EP_STATE_SUCCEEDED ? EP_EXIT_GOOD : EP_EXIT_JOB;
  return client->json ? EP_OK : summary_print(client, id, error);
}
