#include "clients/epochctl/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <curl/curl.h>

#include "api/json/json.h"
#include "api/limits.h"

enum { CONNECT_SECONDS = 10, SILENT_SECONDS = 60, HEADER_BYTES = 1536 };

/* A call while it lasts. */
typedef struct {
  const ep_call *call;
  ep_answer *answer;
  CURL *handle;
  size_t capacity;
  bool stopped, silent;
  time_t heard_s;  /* when the server last said something, by the clock that is never set */
  size_t exceeded; /* what the answer was too large for; 0 = nothing */
} transfer;

static time_t clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

static bool is_good(CURL *handle) {
  long code = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  return code >= 200 && code < 300;
}

static bool keep(transfer *now, const char *bytes, size_t count, size_t limit) {
  ep_answer *answer = now->answer;
  if (count > limit || answer->bytes > limit - count) {
    now->exceeded = limit;
    return false;
  }
  if (answer->bytes + count + 1 > now->capacity) {
    size_t capacity = (answer->bytes + count + 1) * 2;
    char *text = realloc(answer->text, capacity);
    if (!text) return false;
    answer->text = text;
    now->capacity = capacity;
  }
  memcpy(answer->text + answer->bytes, bytes, count);
  answer->bytes += count;
  answer->text[answer->bytes] = 0;
  return true;
}

static size_t body_arrives(char *bytes, size_t size, size_t count, void *context) {
  transfer *now = context;
  size_t total = size * count; /* size is 1, says the library */
  bool good = is_good(now->handle), well;
  now->heard_s = clock_s();
  if (now->call->take && good) {
    well = now->call->take(now->call->context, bytes, total);
    now->stopped = !well;
  } else {
    well = keep(now, bytes, total,
                good ? EP_LIMIT_CLIENT_ANSWER_BYTES : EP_LIMIT_CLIENT_REFUSAL_BYTES);
  }
  return well ? total : 0;
}

static size_t header_arrives(char *bytes, size_t size, size_t count, void *context) {
  transfer *now = context;
  size_t total = size * count;
  now->heard_s = clock_s();
  if (total > 5 && strncasecmp(bytes, "etag:", 5) == 0) {
    size_t from = 5, until = total;
    while (from < until && bytes[from] == ' ') from++;
    while (until > from && (bytes[until - 1] == '\r' || bytes[until - 1] == '\n')) until--;
    if (until - from < sizeof now->answer->etag) {
      memcpy(now->answer->etag, bytes + from, until - from);
      now->answer->etag[until - from] = 0;
    }
  }
  return total;
}

static size_t upload_leaves(char *bytes, size_t size, size_t count, void *context) {
  transfer *now = context;
  size_t read = fread(bytes, size, count, now->call->upload);
  return read == 0 && ferror(now->call->upload) ? CURL_READFUNC_ABORT : read * size;
}

static int tick_comes(void *context, curl_off_t to_receive, curl_off_t received, curl_off_t to_send,
                      curl_off_t sent) {
  transfer *now = context;
  if (now->call->tick && !now->call->tick(now->call->context, sent, to_send, received, to_receive))
    now->stopped = true;
  /* Not by CURLOPT_LOW_SPEED_TIME: for that a heartbeat of one byte in 15 s is silence. An upload
   * is also digested, and takes as long as that does. */
  bool listens = now->call->long_lasting && !now->call->upload;
  now->silent = listens && clock_s() - now->heard_s > SILENT_SECONDS;
  return now->stopped || now->silent;
}

/* Proxies are for the world outside. */
static bool is_loopback(const char *server) {
  const char *host = strstr(server, "://") + 3;
  return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost", 9) == 0 ||
         strncmp(host, "[::1]", 5) == 0;
}

static bool header_add(struct curl_slist **list, const char *name, const char *value) {
  char line[HEADER_BYTES];
  int bytes = snprintf(line, sizeof line, "%s: %s", name, value);
  if (bytes < 0 || (size_t)bytes >= sizeof line) return false;
  struct curl_slist *more = curl_slist_append(*list, line);
  if (more) *list = more;
  return more != NULL;
}

static bool headers_set(const ep_session *session, const ep_call *call, struct curl_slist **list) {
  char bearer[EP_TOKEN_BYTES + 16];
  snprintf(bearer, sizeof bearer, "Bearer %s", session->token);
  return header_add(list, "Accept", call->accept ? call->accept : "application/json") &&
         (!call->content_type || header_add(list, "Content-Type", call->content_type)) &&
         (!call->key || header_add(list, "Idempotency-Key", call->key)) &&
         (!call->if_range || header_add(list, "If-Range", call->if_range)) &&
         (!*session->token || header_add(list, "Authorization", bearer));
}

static void times_set(CURL *handle, const ep_session *session, const ep_call *call) {
  long connect_s = session->timeout_s < CONNECT_SECONDS ? session->timeout_s : CONNECT_SECONDS;
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, connect_s);
  if (!call->long_lasting) curl_easy_setopt(handle, CURLOPT_TIMEOUT, session->timeout_s);
}

static void body_set(CURL *handle, transfer *now) {
  const ep_call *call = now->call;
  if (call->upload) {
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, upload_leaves);
    curl_easy_setopt(handle, CURLOPT_READDATA, now);
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->upload_bytes);
  } else if (call->body) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_bytes);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call->body);
  } else if (strcmp(call->method, "POST") == 0) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, "");
  }
  if (strcmp(call->method, "GET") != 0)
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call->method);
}

static void options_set(CURL *handle, const ep_session *session, transfer *now) {
  const ep_call *call = now->call;
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "epochctl/" EP_VERSION);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body_arrives);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, now);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, header_arrives);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, now);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, tick_comes);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, now);
  if (call->from > 0) curl_easy_setopt(handle, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)call->from);
  if (is_loopback(session->server)) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  times_set(handle, session, call);
  body_set(handle, now);
}

static ep_status from_code(long code) {
  switch (code) {
  case 400: return EP_MALFORMED;
  case 401: return EP_UNAUTHORIZED;
  case 403: return EP_FORBIDDEN;
  case 404: return EP_NOT_FOUND;
  case 405: return EP_METHOD;
  case 409: return EP_CONFLICT;
  case 413: return EP_TOO_LARGE;
  case 415: return EP_MEDIA_TYPE;
  case 416: return EP_RANGE;
  case 422: return EP_INVALID;
  case 429: return EP_BUSY;
  case 503: return EP_UNAVAILABLE;
  default: return EP_INTERNAL;
  }
}

/* The texts of a refusal are the server's: escaped before they reach a terminal, by main.c. */
static ep_status refused(ep_session *session, ep_answer *answer, ep_error *error) {
  ep_status status = from_code(answer->code);
  json_t *root = NULL, *item;
  char detail[EP_MESSAGE_BYTES] = "", pointer[EP_POINTER_BYTES];
  size_t index;
  if (answer->text)
    ep_json_load(answer->text, answer->bytes, EP_LIMIT_CLIENT_REFUSAL_BYTES, &root, NULL);
  if (root) ep_json_cut_text(root, "detail", detail, sizeof detail);
  session->problem = (ep_problem){.status = status};
  json_array_foreach(json_object_get(root, "errors"), index, item) {
    char what[EP_MESSAGE_BYTES] = "";
    *pointer = 0;
    ep_json_cut_text(item, "pointer", pointer, sizeof pointer);
    ep_json_cut_text(item, "detail", what, sizeof what);
    ep_problem_add(&session->problem, status, pointer, "%s", what);
  }
  free(session->refusal);
  session->refusal = root ? answer->text : NULL;
  if (root) answer->text = NULL;
  json_decref(root);
  if (status == EP_UNAUTHORIZED)
    return ep_fail(error, status,
                   *session->token
                       ? "%s does not know the token that --token-file or EPOCHD_TOKEN gives"
                       : "%s wants a token: use --token-file FILE, or set EPOCHD_TOKEN",
                   session->server);
  return *detail
             ? ep_fail(error, status, "%s", detail)
             : ep_fail(error, status, "%s answered with status %ld", session->server, answer->code);
}

static ep_status failed(const ep_session *session, const transfer *now, CURLcode code,
                        ep_error *error) {
  if (now->stopped) return ep_fail(error, EP_CANCELLED, "interrupted");
  if (now->exceeded > 0)
    return ep_fail(error, EP_INTERNAL, "%s answered with more than %zu MiB", session->server,
                   now->exceeded >> 20);
  if (now->silent)
    return ep_fail(error, EP_UNAVAILABLE, "%s said nothing for %d s", session->server,
                   SILENT_SECONDS);
  switch (code) {
  case CURLE_COULDNT_CONNECT:
    return ep_fail(error, EP_UNAVAILABLE,
                   "nothing answers at %s. Is epochd running there? Start it with "
                   "\"epochd --data-dir DIR\", or say where it is: --server URL",
                   session->server);
  case CURLE_COULDNT_RESOLVE_HOST:
    return ep_fail(error, EP_UNAVAILABLE, "%s: there is no such host; see --server",
                   session->server);
  case CURLE_OPERATION_TIMEDOUT:
    return ep_fail(error, EP_UNAVAILABLE, "%s did not answer in time; see --timeout",
                   session->server);
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
    return ep_fail(error, EP_INVALID, "%s is no address of a server", session->server);
  case CURLE_WRITE_ERROR:
  case CURLE_OUT_OF_MEMORY: return ep_fail(error, EP_NO_MEMORY, "not enough memory");
  default: return ep_fail(error, EP_IO, "%s: %s", session->server, curl_easy_strerror(code));
  }
}

ep_status ep_call_send(ep_session *session, const ep_call *call, ep_answer *answer,
                       ep_error *error) {
  char address[EP_SERVER_BYTES + EP_PATH_MAX_BYTES];
  struct curl_slist *headers = NULL;
  ep_status status = EP_OK;
  *answer = (ep_answer){0};
  if (!session->handle) session->handle = curl_easy_init();
  if (!session->handle) return ep_fail(error, EP_NO_MEMORY, "not enough memory");
  transfer now = {.call = call, .answer = answer, .handle = session->handle, .heard_s = clock_s()};
  curl_easy_reset(session->handle); /* the connection stays */
  snprintf(address, sizeof address, "%s%s", session->server, call->path);
  options_set(session->handle, session, &now);
  if (!headers_set(session, call, &headers) ||
      curl_easy_setopt(session->handle, CURLOPT_HTTPHEADER, headers) ||
      curl_easy_setopt(session->handle, CURLOPT_URL, address)) {
    status = ep_fail(error, EP_NO_MEMORY, "not enough memory for a request");
  } else {
    CURLcode code = curl_easy_perform(session->handle);
    curl_easy_getinfo(session->handle, CURLINFO_RESPONSE_CODE, &answer->code);
    bool spoken = answer->code >= 300 && answer->bytes > 0; /* refused before all was sent */
    if (code != CURLE_OK && !(spoken && now.exceeded == 0 && !now.stopped && !now.silent))
      status = failed(session, &now, code, error);
    else if (answer->code < 200 || answer->code >= 300)
      status = refused(session, answer, error);
  }
  curl_slist_free_all(headers);
  return status;
}

void ep_answer_deinit(ep_answer *answer) {
  free(answer->text);
  *answer = (ep_answer){0};
}

static ep_status parse(const ep_session *session, const ep_answer *answer, json_t **out,
                       ep_error *error) {
  ep_error fault = {0};
  if (ep_json_load(answer->text ? answer->text : "", answer->bytes, EP_LIMIT_CLIENT_ANSWER_BYTES,
                   out, &fault))
    return ep_fail(error, EP_INTERNAL, "%.200s does not answer as epochd does: %.200s",
                   session->server, fault.message);
  return EP_OK;
}

ep_status ep_call_ask(ep_session *session, const ep_call *call, json_t **out, ep_error *error) {
  ep_answer answer;
  *out = NULL;
  ep_status status = ep_call_send(session, call, &answer, error);
  if (!status && session->json) {
    if (answer.bytes > 0) fwrite(answer.text, 1, answer.bytes, stdout);
    if (answer.bytes > 0 && answer.text[answer.bytes - 1] != '\n') putchar('\n');
  } else if (!status && answer.bytes > 0) {
    status = parse(session, &answer, out, error);
  } else if (!status && answer.code != 204) {
    status = parse(session, &answer, out, error); /* says that it is empty */
  }
  ep_answer_deinit(&answer);
  return status;
}

ep_status ep_get_ask(ep_session *session, const char *path, json_t **out, ep_error *error) {
  ep_call call = {.method = "GET", .path = path};
  return ep_call_ask(session, &call, out, error);
}

ep_status ep_get_json(ep_session *session, const char *path, json_t **out, ep_error *error) {
  ep_call call = {.method = "GET", .path = path};
  ep_answer answer;
  *out = NULL;
  ep_status status = ep_call_send(session, &call, &answer, error);
  if (!status) status = parse(session, &answer, out, error);
  ep_answer_deinit(&answer);
  return status;
}

static void append(char path[EP_PATH_MAX_BYTES], const char *text, bool encode) {
  static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  size_t used = strlen(path);
  for (; *text; text++) {
    if (used + 4 > EP_PATH_MAX_BYTES) {
      *path = 0;
      return;
    }
    if (!encode || strchr(PLAIN, *text))
      path[used++] = *text;
    else
      used += (size_t)snprintf(path + used, 4, "%%%02X", (unsigned char)*text);
    path[used] = 0;
  }
}

void ep_path_make(char path[EP_PATH_MAX_BYTES], const char *before, const char *name,
                  const char *after) {
  *path = 0;
  append(path, before, false);
  append(path, name, true);
  if (*path) append(path, after, false);
}

void ep_path_query(char path[EP_PATH_MAX_BYTES], const char *name, const char *value) {
  if (!*path) return;
  append(path, strchr(path, '?') ? "&" : "?", false);
  if (*path) append(path, name, false);
  if (*path) append(path, "=", false);
  if (*path) append(path, value, true);
}
