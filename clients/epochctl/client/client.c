#include "clients/epochctl/client/client.h"

#include <stdio.h>

#include "clients/epochctl/terminal/text.h"

enum { CODE_NO_CONTENT = 204, WARNING_BYTES = 4096 };

void ep_client_print(const ep_http_response *response) {
  fwrite(response->text, 1, response->bytes, stdout);
  if (response->text[response->bytes - 1] != '\n') putchar('\n');
}

ep_status ep_client_send(ep_client *client, const ep_http_request *request, json_t **out,
                         ep_error *error) {
  ep_http_response response;
  *out = NULL;
  ep_status status = ep_http_send(&client->session, request, &response, error);
  if (status == EP_OK && response.warnings[0]) {
    char text[WARNING_BYTES];
    ep_text_copy(text, sizeof text, response.warnings);
    fprintf(stderr, "warning: %s\n", text);
  }
  if (status == EP_OK && client->json && response.bytes > 0) {
    ep_client_print(&response);
  } else if (status == EP_OK && !client->json && response.code != CODE_NO_CONTENT) {
    status = ep_http_response_parse(&client->session, &response, out, error);
  }
  ep_http_response_deinit(&response);
  return status;
}

void ep_client_warn(const json_t *document) {
  char text[WARNING_BYTES];
  const json_t *warning;
  size_t index;
  json_array_foreach(json_object_get(document, "warnings"), index, warning) {
    ep_text_copy(text, sizeof text, json_is_string(warning) ? json_string_value(warning) : "");
    fprintf(stderr, "warning: %s\n", text);
  }
}

ep_status ep_client_get(ep_client *client, const char *path, json_t **out, ep_error *error) {
  ep_http_request request = {.method = "GET", .path = path};
  return ep_client_send(client, &request, out, error);
}
