#include "clients/epochctl/client/client.h"

#include <stdio.h>

enum { CODE_NO_CONTENT = 204 };

ep_status ep_client_send(ep_client *client, const ep_http_request *request, json_t **out,
                         ep_error *error) {
  ep_http_response response;
  *out = NULL;
  ep_status status = ep_http_send(&client->session, request, &response, error);
  if (status == EP_OK && client->json && response.bytes > 0) {
    fwrite(response.text, 1, response.bytes, stdout);
    if (response.text[response.bytes - 1] != '\n') putchar('\n');
  } else if (status == EP_OK && !client->json && response.code != CODE_NO_CONTENT) {
    status = ep_http_response_parse(&client->session, &response, out, error);
  }
  ep_http_response_deinit(&response);
  return status;
}

ep_status ep_client_get(ep_client *client, const char *path, json_t **out, ep_error *error) {
  ep_http_request request = {.method = "GET", .path = path};
  return ep_client_send(client, &request, out, error);
}
