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
  bool none = threshold && strcmp(threshold, "none") == 0;
  const char *quote = !threshold || none ? "" : "\"";
  if (threshold && strpbrk(threshold, "\"\\\n"))
    return ep_fail(error, EP_INVALID, "--threshold must be a probability, f1, fp:A,fn:B, or none");
  /* an id is letters and digits */
  snprintf(body, sizeof body, "{\"job\":\"%s\"%s%s%s%s%s%.64s%s}", id,
           visibility ? ",\"visibility\":\"" : "", visibility ? visibility : "",
           visibility ? "\"" : "", threshold ? ",\"threshold\":" : "", quote,
           none        ? "null"
           : threshold ? threshold
                       : "",
           quote);
  ep_path_make(path, "/v1/models/", arguments->words[0], "");
  ep_http_request request = {.method = "PUT",
                             .path = path,
                             .body = body,
                             .body_bytes = strlen(body),
                             .content_type = "application/json"};
  status = ep_client_send(client, &request, &model, error);
  if (status == EP_OK && model) {
    ep_client_warn(model);
    ep_text_copy(name, sizeof name, ep_json_text_at(model, "name"));
    printf("%s is %s; it answers at %s/v2/models/%s/infer\n", name, id, client->session.server,
           name);
    if (json_is_number(json_object_get(model, "threshold"))) {
      ep_text_copy(positive, sizeof positive, ep_json_text_at(model, "positive"));
      printf("a row is %s if its probability is at least %.4g\n", positive,
             ep_json_number_at(model, "threshold"));
    }
  }
  json_decref(model);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE,
   .doc = "private: visible only to its owner and admins (that of its job; unchanged on replacement)"},
  {.name = "threshold", .kind = EP_OPTION_TEXT, .value = "P|f1|fp:A,fn:B|none",
   .doc = "for two classes: the probability at which the positive class is predicted, or that of the best F1 (f1) or the lowest cost (fp:A,fn:B); none: the more probable class (unchanged on replacement)"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_models_publish = {
  .name = "models publish", .words = "NAME JOB", .kind = EP_WORD_JOB, .least = 2, .most = 2,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "publish a job's weights under a name",
  .details =
    "The model answers KServe V2 requests at /v2/models/NAME/infer. A name already in use moves to the new job, and "
    "keeps its threshold if that job has the same target and classes; --threshold none removes it.",
  .examples = "epochctl models publish digits last"};
/* clang-format on */
