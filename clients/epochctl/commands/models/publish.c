/* publish.c: epochctl models publish. */
#include <stdio.h>
#include <string.h>

#include "api/visibility.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/text.h"

enum { TEXT_BYTES = 512 };

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_REQUEST_PATH_BYTES], body[TEXT_BYTES];
  char name[TEXT_BYTES], positive[TEXT_BYTES];
  json_t *model = NULL;
  ep_status status = ep_job_id_find(&client->session, arguments->words[1], id, error);
  if (status != EP_OK) return status;
  const char *visibility = ep_arguments_value(arguments, "visibility");
  const char *threshold = ep_arguments_value(arguments, "threshold");
  if (threshold && strpbrk(threshold, "\"\\\n"))
    return ep_fail(error, EP_INVALID, "--threshold is a probability, f1, or fp:A,fn:B");
  /* an id is letters and digits */
  snprintf(body, sizeof body, "{\"job\":\"%s\"%s%s%s%s%.64s%s}", id,
           visibility ? ",\"visibility\":\"" : "", visibility ? visibility : "",
           visibility ? "\"" : "", threshold ? ",\"threshold\":\"" : "", threshold ? threshold : "",
           threshold ? "\"" : "");
  ep_path_make(path, "/v1/models/", arguments->words[0], "");
  ep_http_request request = {.method = "PUT",
                             .path = path,
                             .body = body,
                             .body_bytes = strlen(body),
                             .content_type = "application/json"};
  status = ep_client_send(client, &request, &model, error);
  if (status == EP_OK && model) {
    ep_text_copy(name, sizeof name, ep_json_text_at(model, "name"));
    printf("%s is %s; ask it at %s/v2/models/%s/infer\n", name, id, client->session.server, name);
    if (json_is_number(json_object_get(model, "threshold"))) {
      ep_text_copy(positive, sizeof positive, ep_json_text_at(model, "positive"));
      printf("a row is %s from a probability of %.4g on\n", positive,
             ep_json_number_at(model, "threshold"));
    }
  }
  json_decref(model);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE,
   .doc = "private: its owner alone sees it, and admins (as its job; as it was)"},
  {.name = "threshold", .kind = EP_OPTION_TEXT, .value = "P|f1|fp:A,fn:B",
   .doc = "of two classes: the positive one from this probability on, or from that of the best F1 or the least cost"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_models_publish = {
  .name = "models publish", .words = "NAME JOB", .kind = EP_WORD_JOB, .least = 2, .most = 2,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "publish a job's weights under a name",
  .details =
    "The model then answers KServe V2 requests at /v2/models/NAME/infer. A name that is in use moves to "
    "the new job.",
  .examples = "epochctl models publish digits last"};
/* clang-format on */
