/* command_run.c: run, validate, watch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/arguments/input.h"
#include "api/json/json.h"
#include "clients/epochctl/change.h"
#include "clients/epochctl/commands.h"
#include "clients/epochctl/fields.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/job_name.h"
#include "clients/epochctl/progress.h"
#include "clients/epochctl/stream.h"
#include "clients/epochctl/summary.h"
#include "clients/epochctl/table.h"

enum { KEY_BYTES = 40, TRIES = 4, MESSAGE_BYTES = 1024, NAME_BYTES = 512 };

/* What is being followed. */
typedef struct {
  ep_session *session;
  ep_progress progress;
  ep_state state; /* of the job's end */
} viewer;

/* Of a started event device and executor, of others the message; all escaped. */
static bool message_find(const char *line, size_t bytes, ep_event_type type,
                         char text[MESSAGE_BYTES]) {
  json_t *root = NULL;
  char raw[MESSAGE_BYTES];
  if (ep_json_load(line, bytes, EP_LIMIT_EVENT_BYTES, &root, NULL)) return false;
  const char *message = ep_field_text(root, "message");
  if (type == EP_EVENT_STARTED)
    snprintf(raw, sizeof raw, "started on %s, %s", ep_field_text(root, "device"),
             ep_field_text(root, "executor"));
  else
    snprintf(raw, sizeof raw, "%s", message);
  ep_text_copy(text, MESSAGE_BYTES, raw);
  json_decref(root);
  return *text != 0;
}

static bool event_comes(void *context, const char *line, size_t bytes, const ep_event *event) {
  viewer *view = context;
  char message[MESSAGE_BYTES];
  if (event->type == EP_EVENT_END) view->state = event->state;
  if (view->session->json) {
    fwrite(line, 1, bytes, stdout);
    putchar('\n');
    fflush(stdout);
    return !ferror(stdout);
  }
  if (event->type == EP_EVENT_END) return true;
  bool said = event->type != EP_EVENT_EPOCH && message_find(line, bytes, event->type, message);
  ep_progress_event(&view->progress, event, said ? message : NULL);
  return true;
}

static void idle(void *context) {
  viewer *view = context;
  if (!view->session->json) ep_progress_idle(&view->progress);
}

static void cut(void *context, int seconds) {
  viewer *view = context;
  char text[MESSAGE_BYTES];
  if (view->session->json) return;
  snprintf(text, sizeof text, "the connection is gone, trying again in %d s", seconds);
  ep_progress_note(&view->progress, EP_COLOUR_YELLOW, text);
}

static ep_status summarize(ep_session *session, const char *id, ep_error *error) {
  char path[EP_PATH_MAX_BYTES];
  json_t *job = NULL;
  ep_path_make(path, "/v1/jobs/", id, "");
  ep_status status = ep_get_json(session, path, &job, error);
  if (!status) ep_summary_print(session, job, false);
  json_decref(job);
  return status;
}

/* The job goes on without us. */
static void detach(ep_session *session, const char *id) {
  fprintf(stderr,
          "epochctl: no longer watching; %s goes on\n"
          "  epochctl watch %s    to watch it again\n"
          "  epochctl cancel %s   to stop it\n",
          id, id, id);
  session->outcome = EP_EXIT_DETACHED;
}

static ep_status follow(ep_session *session, const char *id, const char *name, ep_error *error) {
  char safe[NAME_BYTES];
  ep_text_copy(safe, sizeof safe, name);
  viewer view = {.session = session, .progress = {.terminal = &session->terminal, .name = safe}};
  ep_follower follower = {.event = event_comes, .idle = idle, .cut = cut, .context = &view};
  ep_error fault = {0};
  ep_status status = ep_follow(session, id, 0, &follower, &fault);
  if (!session->json) ep_progress_end(&view.progress);
  fflush(stdout);
  if (status == EP_CANCELLED && ep_follow_interrupted) {
    detach(session, id);
    return EP_OK;
  }
  if (status)
    return ep_fail(error, status, "%s (%s goes on; epochctl watch %s)", fault.message, id, id);
  session->outcome = view.state == EP_STATE_SUCCEEDED ? EP_EXIT_GOOD : EP_EXIT_JOB;
  return session->json ? EP_OK : summarize(session, id, error);
}

static ep_status list_add(json_t *spec, const char *key, const char *text, ep_error *error) {
  json_t *list = json_object_get(spec, key);
  if (!list && json_object_set_new(spec, key, json_array()) == 0) list = json_object_get(spec, key);
  if (json_is_array(list) && json_array_append_new(list, json_string(text)) == 0) return EP_OK;
  return ep_fail(error, EP_INVALID, "\"%.100s\" cannot be added to \"%s\"", text, key);
}

/* --set, --name and --tag, in the order in which they stand. */
static ep_status options_apply(json_t *spec, const ep_arguments *arguments, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < arguments->given_count && !status; i++) {
    const char *option = arguments->given[i].option->name, *value = arguments->given[i].value;
    if (strcmp(option, "set") == 0)
      status = ep_change_apply(spec, value, error);
    else if (strcmp(option, "name") == 0 && json_object_set_new(spec, "name", json_string(value)))
      status = ep_fail(error, EP_INVALID, "--name: this is no UTF-8");
    else if (strcmp(option, "tag") == 0)
      status = list_add(spec, "tags", value, error);
  }
  return status;
}

static bool changes(const ep_arguments *arguments) {
  return ep_arguments_has(arguments, "set") || ep_arguments_has(arguments, "name") ||
         ep_arguments_has(arguments, "tag");
}

/* The job's text as it is sent: as it is, where nothing is changed, so that the server's messages
 * fit the file. The caller's (free). */
static ep_status spec_read(const ep_arguments *arguments, char **out, size_t *out_bytes,
                           ep_error *error) {
  const char *path = arguments->words[0];
  json_t *spec = NULL;
  ep_error fault = {0};
  ep_status status = ep_input_read(path, EP_LIMIT_SPEC_BYTES, out, out_bytes, error);
  if (status) return status;
  if (ep_json_load(*out, *out_bytes, EP_LIMIT_SPEC_BYTES, &spec, &fault))
    status = ep_fail(error, EP_INVALID, "%.200s: %.300s", path, fault.message);
  else if (!json_is_object(spec))
    status = ep_fail(error, EP_INVALID, "%.300s is no JSON object", path);
  else if (changes(arguments))
    status = options_apply(spec, arguments, error);
  if (!status && changes(arguments)) {
    free(*out);
    *out = json_dumps(spec, JSON_COMPACT);
    if (!*out) status = ep_fail(error, EP_NO_MEMORY, "not enough memory");
    *out_bytes = *out ? strlen(*out) : 0;
  }
  json_decref(spec);
  if (!status) return EP_OK;
  free(*out);
  *out = NULL;
  return status;
}

static ep_status key_make(char key[KEY_BYTES], ep_error *error) {
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return ep_fail(error, EP_IO, "the system gives no random bytes: %s", strerror(errno));
  for (size_t i = 0; i < sizeof random; i++) snprintf(key + i * 2, 3, "%02x", random[i]);
  return EP_OK;
}

/* An answer that was lost is asked for again, with the same key: the server knows the job then. A
 * connection that was never made is not tried again. */
static ep_status submit(ep_session *session, const char *body, size_t bytes, ep_answer *answer,
                        ep_error *error) {
  char key[KEY_BYTES];
  ep_status status = key_make(key, error);
  if (status) return status;
  ep_call call = {.method = "POST",
                  .path = "/v1/jobs",
                  .body = body,
                  .body_bytes = bytes,
                  .content_type = "application/json",
                  .key = key};
  for (int i = 0; i < TRIES; i++) {
    ep_error fault = {0};
    ep_answer_deinit(answer);
    status = ep_call_send(session, &call, answer, &fault);
    if (!status) return EP_OK;
    ep_fail(error, status, "%s", fault.message);
    if (status != EP_IO) return status;
  }
  return status;
}

ep_status ep_command_run_job(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char *body = NULL, id[EP_JOB_ID_BYTES], name[NAME_BYTES];
  size_t bytes = 0;
  ep_answer answer = {0};
  json_t *job = NULL;
  ep_status status = spec_read(arguments, &body, &bytes, error);
  if (!status) status = submit(session, body, bytes, &answer, error);
  if (!status)
    status = ep_json_load(answer.text ? answer.text : "", answer.bytes,
                          EP_LIMIT_CLIENT_ANSWER_BYTES, &job, error);
  if (status) goto done;
  snprintf(id, sizeof id, "%.*s",
           (int)strspn(ep_field_text(job, "id"), "abcdefghijklmnopqrstuvwxyz_0123456789"),
           ep_field_text(job, "id"));
  snprintf(name, sizeof name, "%s", ep_field_text(job, "name"));
  if (session->json)
    printf("%s%s", answer.text, answer.text[answer.bytes - 1] == '\n' ? "" : "\n");
  else
    puts(id);
  fflush(stdout);
  if (!ep_arguments_has(arguments, "detach")) {
    ep_follow_guard();
    status = follow(session, id, name, error);
  }
done:
  json_decref(job);
  ep_answer_deinit(&answer);
  free(body);
  return status;
}

ep_status ep_command_watch(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_PATH_MAX_BYTES], name[NAME_BYTES];
  json_t *job = NULL;
  ep_status status = ep_job_find(session, arguments->words[0], id, error);
  if (status) return status;
  ep_path_make(path, "/v1/jobs/", id, "");
  status = ep_get_json(session, path, &job, error);
  if (status) return status;
  snprintf(name, sizeof name, "%s", ep_field_text(job, "name"));
  json_decref(job);
  ep_follow_guard();
  return follow(session, id, name, error);
}

static void shape_write(const json_t *layer, const char *shape_key, const char *features_key,
                        char *text, size_t bytes) {
  const json_t *shape = json_object_get(layer, shape_key), *side;
  size_t index, used = 0;
  if (!json_is_array(shape)) {
    snprintf(text, bytes, "%lld", (long long)ep_field_integer(layer, features_key));
    return;
  }
  *text = 0;
  json_array_foreach(shape, index, side) {
    if (used + 24 > bytes) break;
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld", used ? "x" : "",
                             (long long)json_integer_value(side));
  }
}

static void layers_print(const ep_session *session, const json_t *layers) {
  char text[128], figure[EP_FIGURE_BYTES];
  const json_t *layer;
  size_t index;
  ep_table table = {0};
  ep_table_column(&table, "layer", false, false);
  ep_table_column(&table, "in", true, false);
  ep_table_column(&table, "out", true, false);
  ep_table_column(&table, "parameters", true, false);
  json_array_foreach(layers, index, layer) {
    ep_table_cell(&table, ep_field_text(layer, "type"), EP_COLOUR_PLAIN);
    shape_write(layer, "in_shape", "in_features", text, sizeof text);
    ep_table_cell(&table, text, EP_COLOUR_PLAIN);
    shape_write(layer, "out_shape", "out_features", text, sizeof text);
    ep_table_cell(&table, text, EP_COLOUR_PLAIN);
    ep_table_cell(&table, ep_figure_count(ep_field_integer(layer, "parameters"), figure),
                  EP_COLOUR_PLAIN);
  }
  ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
}

static void estimates_print(const json_t *root) {
  char a[EP_FIGURE_BYTES], b[EP_FIGURE_BYTES], c[EP_FIGURE_BYTES];
  const json_t *item;
  size_t index;
  printf("\n%s parameters, %s; rows: %s to train",
         ep_figure_count(ep_field_integer(root, "parameters"), a),
         ep_figure_bytes(ep_field_number(root, "bytes"), b),
         ep_figure_count(ep_field_integer(root, "rows.train"), c));
  printf(", %s to validate, %s to test\n",
         ep_figure_count(ep_field_integer(root, "rows.validation"), a),
         ep_figure_count(ep_field_integer(root, "rows.test"), b));
  json_array_foreach(ep_field(root, "estimates"), index, item) {
    char device[128], executor[128];
    ep_text_copy(device, sizeof device, ep_field_text(item, "device"));
    ep_text_copy(executor, sizeof executor, ep_field_text(item, "executor"));
    printf("about %s on %s, %s\n", ep_figure_seconds(ep_field_number(item, "seconds"), a), device,
           executor);
  }
}

ep_status ep_command_validate(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char *body = NULL;
  size_t bytes = 0;
  json_t *root = NULL;
  ep_status status = spec_read(arguments, &body, &bytes, error);
  if (status) return status;
  ep_call call = {.method = "POST",
                  .path = "/v1/jobs?validate=only",
                  .body = body,
                  .body_bytes = bytes,
                  .content_type = "application/json"};
  status = ep_call_ask(session, &call, &root, error);
  free(body);
  if (status || !root) return status;
  layers_print(session, ep_field(root, "layers"));
  estimates_print(root);
  json_decref(root);
  return EP_OK;
}
