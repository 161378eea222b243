/* Any lines as the target of a request and its headers: refused with a reason, or a decoded path
 * and query; a range lies within what there is. */
#include <string.h>

#include "api/json/utf8.h"
#include "server/http/access/guard.h"
#include "server/http/messages/range.h"
#include "server/http/messages/request.h"
#include "tests/fuzz/fuzz.h"

static void range_holds(const char *header) {
  static const int64_t sizes[] = {0, 1, 1000, INT64_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int64_t first = -1, count = -1;
    ep_range_kind kind = ep_range_read(header, sizes[i], &first, &count);
    FUZZ_HOLDS(first >= 0 && first <= sizes[i] && count >= 0 && count <= sizes[i] - first);
    FUZZ_HOLDS(kind != EP_RANGE_PART || count > 0);
  }
}

static void headers_hold(const ep_request *request) {
  static const char *const types[] = {"application/json", "text/event-stream", "image/svg+xml",
                                      NULL};
  int preferred = ep_request_accepts(request, types, 1);
  FUZZ_HOLDS(preferred >= 0 && preferred < 3);
  FUZZ_HOLDS(ep_request_coding(request) <= EP_CODING_UNKNOWN);
  ep_guard guard = {.listen_host = "127.0.0.1", .allow = "a.example,b.example"};
  ep_status status = ep_guard_origin(&guard, request, NULL);
  FUZZ_HOLDS(status == EP_OK || status == EP_FORBIDDEN);
  ep_request_has_type(request, "application/json");
  ep_request_matches(request, "\"a\"");
  range_holds(ep_request_header(request, "range"));
}

static void query_holds(const ep_request *request) {
  static const char *const words[] = {"asc", "desc", NULL};
  const char *values[EP_REQUEST_QUERY];
  int64_t number = 0;
  int word = 0;
  ep_error error = {0};
  FUZZ_HOLDS(ep_request_queries(request, "tag", values) <= EP_REQUEST_QUERY);
  if (ep_request_integer(request, "limit", 1, 1000, 7, &number, &error) == EP_OK)
    FUZZ_HOLDS(number >= 1 && number <= 1000);
  else
    FUZZ_HOLDS(error.message[0] && ep_utf8_valid(error.message, strlen(error.message)));
  if (ep_request_word(request, "order", words, 0, &word, &error) == EP_OK)
    FUZZ_HOLDS(word == 0 || word == 1);
}

static void path_holds(const ep_request *request) {
  FUZZ_HOLDS(request->path[0] == '/' && ep_utf8_valid(request->path, strlen(request->path)));
  for (const char *at = request->path; *at; at++)
    FUZZ_HOLDS((unsigned char)*at >= ' ' && *at != 0x7F);
  for (int i = 0; i < request->query_count; i++)
    FUZZ_HOLDS(ep_utf8_valid(request->query[i].name, strlen(request->query[i].name)) &&
               ep_utf8_valid(request->query[i].value, strlen(request->query[i].value)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_request request;
  ep_error error = {0};
  char *text = malloc(count + 1), *rest = text;
  FUZZ_HOLDS(text);
  memcpy(text, bytes, count);
  text[count] = 0;
  ep_request_init(&request);
  char *target = strsep(&rest, "\n");
  ep_status status = ep_request_start(&request, "GET", target, &error);
  FUZZ_HOLDS(status == EP_OK || (status == EP_MALFORMED && error.message[0]));
  for (char *line; status == EP_OK && (line = strsep(&rest, "\n"));) {
    char *name = strsep(&line, ":");
    status = ep_request_add_header(&request, name, line ? line : "", &error);
  }
  if (status == EP_OK) {
    path_holds(&request);
    query_holds(&request);
    headers_hold(&request);
    ep_request_strip(&request, "/base");
    FUZZ_HOLDS(request.path[0] == '/');
  }
  ep_request_deinit(&request);
  free(text);
  return 0;
}
