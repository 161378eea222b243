#include "clients/epochctl/jobs/follow.h"

#include <stdio.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "clients/epochctl/http/event_stream.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/progress_bar.h"
#include "clients/epochctl/terminal/text.h"

enum { MESSAGE_BYTES = 1024, NAME_BYTES = 512 };

typedef struct {
  const ep_client *client;
  ep_progress_bar bar;
  ep_state state; /* of the last event */
} viewer;

/* The device and executor of a started event, the epoch of a paused or resumed one, the message of
 * another; escaped. */
static bool message_read(const char *line, size_t bytes, ep_event_type type,
                         char text[MESSAGE_BYTES]) {
  json_t *root = NULL;
  char raw[MESSAGE_BYTES], epoch[EP_HUMAN_BYTES], epochs[EP_HUMAN_BYTES];
  if (ep_json_load(line, bytes, EP_LIMIT_EVENT_BYTES, &root, NULL) != EP_OK) return false;
  const char *message = ep_json_text_at(root, "message");
  if (type == EP_EVENT_STARTED)
    snprintf(raw, sizeof raw, "started on %s, %s", ep_json_text_at(root, "device"),
             ep_json_text_at(root, "executor"));
  else if (type == EP_EVENT_PAUSED || type == EP_EVENT_RESUMED)
    snprintf(raw, sizeof raw, "at epoch %s of %s",
             ep_human_count(ep_json_integer_at(root, "epoch"), epoch),
             ep_human_count(ep_json_integer_at(root, "epochs"), epochs));
  else
    snprintf(raw, sizeof raw, "%s", message);
  ep_text_copy(text, MESSAGE_BYTES, raw);
  json_decref(root);
  return *text != 0;
}

static bool event_show(void *context, const char *line, size_t bytes, const ep_event *event) {
  viewer *view = context;
  char message[MESSAGE_BYTES];
  if (event->type == EP_EVENT_END) view->state = event->state;
  if (view->client->json) {
    fwrite(line, 1, bytes, stdout);
    putchar('\n');
    fflush(stdout);
    return !ferror(stdout);
  }
  if (event->type == EP_EVENT_END) return true;
  bool has_message =
      event->type != EP_EVENT_EPOCH && message_read(line, bytes, event->type, message);
  ep_progress_bar_event(&view->bar, event, has_message ? message : NULL);
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
  snprintf(text, sizeof text, "the connection is gone, trying again in %d s", seconds);
  ep_progress_bar_note(&view->bar, EP_COLOUR_YELLOW, text);
}

static ep_status summary_print(ep_client *client, const char *id, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  ep_path_make(path, "/v1/jobs/", id, "");
  ep_status status = ep_http_get(&client->session, path, &job, error);
  if (status == EP_OK) ep_job_summary_print(client, job, false);
  json_decref(job);
  return status;
}

static void detach_print(ep_client *client, const char *id) {
  fprintf(stderr,
          "epochctl: no longer watching; %s goes on\n"
          "  epochctl watch %s    to watch it again\n"
          "  epochctl cancel %s   to stop it\n",
          id, id, id);
  client->outcome = EP_EXIT_DETACHED;
}

ep_status ep_job_follow(ep_client *client, const char *id, const char *name, ep_error *error) {
  char safe[NAME_BYTES];
  ep_text_copy(safe, sizeof safe, name);
  viewer view = {.client = client, .bar = {.terminal = &client->terminal, .name = safe}};
  ep_event_follower follower = {
      .event = event_show, .idle = idle_show, .cut = cut_show, .context = &view};
  ep_error fault = {0};
  ep_event_stream_guard();
  ep_status status = ep_event_stream_follow(&client->session, id, 0, &follower, &fault);
  if (!client->json) ep_progress_bar_end(&view.bar);
  fflush(stdout);
  if (status == EP_CANCELLED && ep_event_stream_interrupted()) {
    detach_print(client, id);
    return EP_OK;
  }
  if (status != EP_OK)
    return ep_fail(error, status, "%s (%s goes on; epochctl watch %s)", fault.message, id, id);
  client->outcome = view.state == EP_STATE_SUCCEEDED ? EP_EXIT_GOOD : EP_EXIT_JOB;
  return client->json ? EP_OK : summary_print(client, id, error);
}
