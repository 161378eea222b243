#include "clients/epochctl/client/upload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"

typedef struct {
  const ep_client *client;
  const char *title;
  bool drawn;
} upload;

/* Draws only on a terminal, and only for a large upload. */
static bool progress_draw(void *context, int64_t sent, int64_t to_send, int64_t received,
                          int64_t to_receive) {
  upload *now = context;
  char a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES], title[64];
  (void)received, (void)to_receive;
  if (!now->client->terminal.live || now->client->json || to_send < (1 << 20)) return true;
  ep_text_copy(title, sizeof title, now->title);
  if (sent < to_send)
    printf("\r%s  %s  %s of %s\x1b[K", title, ep_human_percent((double)sent / (double)to_send, a),
           ep_human_bytes((double)sent, b), ep_human_bytes((double)to_send, a));
  else
    printf("\r%s  sent, being processed\x1b[K", title);
  fflush(stdout);
  now->drawn = true;
  return true;
}

static ep_status upload_send(ep_client *client, const ep_http_request *request, json_t **dataset,
                             ep_error *error) {
  ep_http_response response;
  ep_status status = ep_http_send(&client->session, request, &response, error);
  if (status == EP_OK) status = ep_http_response_parse(&client->session, &response, dataset, error);
  if (status == EP_OK && client->json) ep_client_print(&response);
  ep_http_response_deinit(&response);
  return status;
}

ep_status ep_file_upload(ep_client *client, const char *method, const char *path,
                         const char *file_name, json_t **dataset, ep_error *error) {
  struct stat about;
  ep_status status = EP_OK;
  *dataset = NULL;
  bool piped = strcmp(file_name, "-") == 0;
  FILE *file = piped ? stdin : fopen(file_name, "re");
  if (!file)
    return ep_fail(error, EP_INVALID, "%.300s cannot be read: %s", file_name, strerror(errno));
  if (fstat(fileno(file), &about) != 0 || S_ISDIR(about.st_mode)) {
    status = ep_fail(error, EP_INVALID, "%.300s is not a file", file_name);
  } else {
    upload now = {.client = client, .title = file_name};
    ep_http_request request = {.method = method,
                               .path = path,
                               .content_type = "application/octet-stream",
                               .upload = file,
                               .upload_bytes =
                                   S_ISREG(about.st_mode) && !piped ? (int64_t)about.st_size : -1,
                               .tick = progress_draw,
                               .context = &now,
                               .long_lasting = true};
    status = upload_send(client, &request, dataset, error);
    if (now.drawn) fputs("\r\x1b[K", stdout);
  }
  if (!piped) fclose(file);
  return status;
}
