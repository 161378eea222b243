/* command_models.c: models publish, ls, rm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/commands.h"
#include "clients/epochctl/fields.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/job_name.h"
#include "clients/epochctl/listing.h"
#include "clients/epochctl/table.h"

enum { TEXT_BYTES = 512 };

ep_status ep_command_models_publish(ep_session *session, const ep_arguments *arguments,
                                    ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_PATH_MAX_BYTES], body[EP_JOB_ID_BYTES + 16];
  char name[TEXT_BYTES], infer[TEXT_BYTES];
  json_t *model = NULL;
  ep_status status = ep_job_find(session, arguments->words[1], id, error);
  if (status) return status;
  snprintf(body, sizeof body, "{\"job\":\"%s\"}", id); /* an id is letters and digits */
  ep_path_make(path, "/v1/models/", arguments->words[0], "");
  ep_call call = {.method = "PUT",
                  .path = path,
                  .body = body,
                  .body_bytes = strlen(body),
                  .content_type = "application/json"};
  status = ep_call_ask(session, &call, &model, error);
  if (!status && model) {
    ep_text_copy(name, sizeof name, ep_field_text(model, "name"));
    ep_text_copy(infer, sizeof infer, ep_field_text(model, "infer"));
    printf("%s is %s; ask it at %s%s\n", name, id, session->server, infer);
  }
  json_decref(model);
  return status;
}

/* "x float32 [-1, 784]" of the first tensor. */
static void tensor_write(const json_t *tensors, char text[TEXT_BYTES]) {
  const json_t *first = json_array_get(tensors, 0), *shape = ep_field(first, "shape"), *side;
  size_t index;
  size_t used = (size_t)snprintf(text, TEXT_BYTES, "%.64s [", ep_field_text(first, "datatype"));
  json_array_foreach(shape, index, side) {
    if (used + 32 < TEXT_BYTES)
      used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%lld", index ? ", " : "",
                               (long long)json_integer_value(side));
  }
  snprintf(text + used, TEXT_BYTES - used, "]");
}

static void cells_add(ep_table *table, const json_t *item) {
  char text[TEXT_BYTES];
  ep_table_cell(table, ep_field_text(item, "job"), EP_COLOUR_PLAIN);
  tensor_write(ep_field(item, "inputs"), text);
  ep_table_cell(table, text, EP_COLOUR_PLAIN);
  tensor_write(ep_field(item, "outputs"), text);
  ep_table_cell(table, text, EP_COLOUR_PLAIN);
  ep_table_cell(table, ep_figure_age(ep_field_text(item, "published_at"), text), EP_COLOUR_DIM);
}

ep_status ep_command_models_ls(ep_session *session, const ep_arguments *arguments,
                               ep_error *error) {
  static const ep_column COLUMNS[] = {{"model", false, true},
                                      {"job", false, false},
                                      {"input", false, true},
                                      {"output", false, true},
                                      {"published", false, true}};
  static const ep_listing LISTING = {"/v1/models", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS,
                                     cells_add,
                                     "no models; epochctl models publish NAME JOB publishes one"};
  return ep_listing_print(session, arguments, &LISTING, error);
}

ep_status ep_command_models_rm(ep_session *session, const ep_arguments *arguments,
                               ep_error *error) {
  return ep_listing_remove(session, arguments, "/v1/models", "taken back", error);
}
