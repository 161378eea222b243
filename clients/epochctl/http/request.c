#include "clients/epochctl/http/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <curl/curl.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "clients/epochctl/http/path.h"

enum { CONNECT_SECONDS = 10, SILENT_SECONDS = 60, HEADER_BYTES = 1536 };

/* A request and its response in transit. */
typedef struct {
  const ep_http_request *request;
  ep_http_response *response;
  CURL *handle;
  size_t capacity; /* of response->text */
  bool stopped, silent;
  time_t received_s;     /* steady clock at the last byte from the server */
  size_t exceeded_bytes; /* the limit that the response is over; 0 while it is not */
} transfer;

static time_t clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

static bool is_success(CURL *handle) {
  long code = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  return code >= 200 && code < 300;
}

/* Appends to the response; false over `limit`, or when memory is short. */
static bool bytes_store(transfer *now, const char *bytes, size_t count, size_t limit) {
  ep_http_response *response = now->response;
  if (count > limit || response->bytes > limit - count) {
    now->exceeded_bytes = limit;
    return false;
  }
  if (response->bytes + count + 1 > now->capacity) {
    size_t capacity = (response->bytes + count + 1) * 2;
    char *text = realloc(response->text, capacity);
    if (!text) return false;
    response->text = text;
    now->capacity = capacity;
  }
  memcpy(response->text + response->bytes, bytes, count);
  response->bytes += count;
  response->text[response->bytes] = 0;
  return true;
}

static size_t body_receive(char *bytes, size_t size, size_t count, void *context) {
  transfer *now = context;
  size_t total = size * count; /* CURLOPT_WRITEFUNCTION(3): size is always 1 */
  bool success = is_success(now->handle), good;
  now->received_s = clock_s();
  if (now->request->take && success) {
    good = now->request->take(now->request->context, bytes, total);
    now->stopped = !good;
  } else {
    good = bytes_store(now, bytes, total,
                       success ? EP_LIMIT_CLIENT_RESPONSE_BYTES : EP_LIMIT_CLIENT_REFUSAL_BYTES);
  }
  return good ? total : 0;
}

/* Copies the value of a header that begins with `name`, if it fits. */
static void header_copy(const char *bytes, size_t total, const char *name, char *out, size_t size) {
  size_t from = strlen(name), until = total;
  if (total <= from || strncasecmp(bytes, name, from) != 0) return;
  while (from < until && bytes[from] == ' ') from++;
  while (until > from && (bytes[until - 1] == '\r' || bytes[until - 1] == '\n')) until--;
  if (until - from < size) {
    memcpy(out, bytes + from, until - from);
    out[until - from] = 0;
  }
}

static size_t header_receive(char *bytes, size_t size, size_t count, void *context) {
  transfer *now = context;
  ep_http_response *response = now->response;
  size_t total = size * count;
  now->received_s = clock_s();
  header_copy(bytes, total, "etag:", response->etag, sizeof response->etag);
  header_copy(bytes, total, "epochd-warnings:", response->warnings, sizeof response->warnings);
  return total;
}

static size_t upload_send(char *bytes, size_t size, size_t count, void *context) {
  transfer *now = context;
  size_t read = fread(bytes, size, count, now->request->upload);
  return read == 0 && ferror(now->request->upload) ? CURL_READFUNC_ABORT : read * size;
}

static int progress_tick(void *context, curl_off_t to_receive, curl_off_t received,
                         curl_off_t to_send, curl_off_t sent) {
  transfer *now = context;
  if (now->request->tick &&
      !now->request->tick(now->request->context, sent, to_send, received, to_receive))
    now->stopped = true;
  /* Not by CURLOPT_LOW_SPEED_TIME, which takes a heartbeat of one byte in 15 s for silence. A
   * server digests an upload before it responds, however long that takes. */
  bool listens = now->request->long_lasting && !now->request->upload;
  now->silent = listens && clock_s() - now->received_s > SILENT_SECONDS;
  return now->stopped || now->silent;
}

/* No proxy is used for this machine. */
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

static bool headers_make(const ep_session *session, const ep_http_request *request,
                         struct curl_slist **list) {
  char bearer[EP_TOKEN_BYTES + 16];
  snprintf(bearer, sizeof bearer, "Bearer %s", session->token);
  return header_add(list, "Accept", request->accept ? request->accept : "application/json") &&
         (!request->content_type || header_add(list, "Content-Type", request->content_type)) &&
         (!request->key || header_add(list, "Idempotency-Key", request->key)) &&
         (!request->if_range || header_add(list, "If-Range", request->if_range)) &&
         (!*session->token || header_add(list, "Authorization", bearer));
}

static void times_set(CURL *handle, const ep_session *session, const ep_http_request *request) {
  long connect_s = session->timeout_s < CONNECT_SECONDS ? session->timeout_s : CONNECT_SECONDS;
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, connect_s);
  if (!request->long_lasting) curl_easy_setopt(handle, CURLOPT_TIMEOUT, session->timeout_s);
}

static void body_set(CURL *handle, transfer *now) {
  const ep_http_request *request = now->request;
  if (request->upload) {
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, upload_send);
    curl_easy_setopt(handle, CURLOPT_READDATA, now);
    curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->upload_bytes);
  } else if (request->body) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request->body);
  } else if (strcmp(request->method, "POST") == 0) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, "");
  }
  if (strcmp(request->method, "GET") != 0)
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method);
}

/* Without a CA file libcurl has the system's. */
static void tls_set(CURL *handle, const ep_session *session) {
  if (session->ca_file) curl_easy_setopt(handle, CURLOPT_CAINFO, session->ca_file);
  if (!session->certificate) return;
  curl_easy_setopt(handle, CURLOPT_SSLCERT, session->certificate);
  curl_easy_setopt(handle, CURLOPT_SSLKEY, session->key);
}

static void options_set(CURL *handle, const ep_session *session, transfer *now) {
  const ep_http_request *request = now->request;
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85 */
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "epochctl/" EP_VERSION);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body_receive);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, now);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, header_receive);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, now);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress_tick);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, now);
  if (request->from > 0)
    curl_easy_setopt(handle, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)request->from);
  if (is_loopback(session->server)) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  tls_set(handle, session);
  times_set(handle, session, request);
  body_set(handle, now);
}

/* The rows that a server sends stand together in the table of statuses. */
static ep_status status_from_code(long code) {
  for (ep_status status = EP_MALFORMED; status <= EP_UNAVAILABLE; status++)
    if (ep_status_http(status) == code) return status;
  return EP_INTERNAL;
}

/* Stores the problem of a refusal in the session. Its texts are the server's: main.c escapes them.
 */
static ep_status refusal_read(ep_session *session, ep_http_response *response, ep_error *error) {
  ep_status status = status_from_code(response->code);
  json_t *root = NULL, *item;
  char detail[EP_MESSAGE_BYTES] = "", pointer[EP_POINTER_BYTES];
  size_t index;
  if (response->text)
    ep_json_load(response->text, response->bytes, EP_LIMIT_CLIENT_REFUSAL_BYTES, &root, NULL);
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
  session->refusal = root ? response->text : NULL;
  if (root) response->text = NULL;
  json_decref(root);
  if (status == EP_UNAUTHORIZED)
    return ep_fail(error, status,
                   *session->token
                       ? "%s rejected the token from --token-file or EPOCHD_TOKEN"
                       : "%s requires a token: use --token-file FILE, or set EPOCHD_TOKEN",
                   session->server);
  return *detail ? ep_fail(error, status, "%s", detail)
                 : ep_fail(error, status, "%s responded with status %ld", session->server,
                           response->code);
}

/* The message for a transfer without a response. */
static ep_status failure_describe(const ep_session *session, const transfer *now, CURLcode code,
                                  ep_error *error) {
  if (now->stopped) return ep_fail(error, EP_CANCELLED, "interrupted");
  if (now->exceeded_bytes > 0)
    return ep_fail(error, EP_INTERNAL, "the response of %s is larger than %zu MiB", session->server,
                   now->exceeded_bytes >> 20);
  if (now->silent)
    return ep_fail(error, EP_UNAVAILABLE, "%s sent nothing for %d s", session->server,
                   SILENT_SECONDS);
  switch (code) {
  case CURLE_COULDNT_CONNECT:
    return ep_fail(error, EP_UNAVAILABLE,
                   "cannot connect to %s. Is epochd running? Start it with \"epochd --data-dir "
                   "DIR\", or give its address: --server URL",
                   session->server);
  case CURLE_COULDNT_RESOLVE_HOST:
    return ep_fail(error, EP_UNAVAILABLE, "%s: unknown host; see --server", session->server);
  case CURLE_OPERATION_TIMEDOUT:
    return ep_fail(error, EP_UNAVAILABLE, "%s did not respond in time; see --timeout",
                   session->server);
  case CURLE_PEER_FAILED_VERIFICATION:
    return ep_fail(error, EP_UNAVAILABLE,
                   "the certificate of %s is not signed by a trusted authority, or is for another "
                   "host; see --ca-file",
                   session->server);
  case CURLE_SSL_CACERT_BADFILE:
    return ep_fail(error, EP_INVALID, "the CA file %.300s cannot be read as PEM",
                   session->ca_file ? session->ca_file : "of the system");
  case CURLE_SSL_CERTPROBLEM:
    return ep_fail(error, EP_INVALID, "the certificate %.300s and its key cannot be read as PEM",
                   session->certificate ? session->certificate : "of the client");
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
    return ep_fail(error, EP_IO,
                   "%s closed the connection. If this persists, it may require https://, or a "
                   "client certificate: --certificate, --key",
                   session->server);
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
    return ep_fail(error, EP_INVALID, "%s is not a valid server address", session->server);
  case CURLE_WRITE_ERROR:
  case CURLE_OUT_OF_MEMORY: return ep_fail_memory(error);
  default: return ep_fail(error, EP_IO, "%s: %s", session->server, curl_easy_strerror(code));
  }
}

ep_status ep_http_send(ep_session *session, const ep_http_request *request,
                       ep_http_response *response, ep_error *error) {
  char address[EP_SERVER_BYTES + EP_REQUEST_PATH_BYTES];
  struct curl_slist *headers = NULL;
  ep_status status = EP_OK;
  *response = (ep_http_response){0};
  if (!session->handle) session->handle = curl_easy_init();
  if (!session->handle) return ep_fail_memory(error);
  transfer now = {
      .request = request, .response = response, .handle = session->handle, .received_s = clock_s()};
  curl_easy_reset(session->handle); /* keeps the connection */
  snprintf(address, sizeof address, "%s%s", session->server, request->path);
  options_set(session->handle, session, &now);
  if (!headers_make(session, request, &headers) ||
      curl_easy_setopt(session->handle, CURLOPT_HTTPHEADER, headers) ||
      curl_easy_setopt(session->handle, CURLOPT_URL, address)) {
    status = ep_fail_memory(error);
  } else {
    CURLcode code = curl_easy_perform(session->handle);
    curl_easy_getinfo(session->handle, CURLINFO_RESPONSE_CODE, &response->code);
    bool refused = response->code >= 300 && response->bytes > 0; /* refused before all was sent */
    if (code != CURLE_OK && !(refused && now.exceeded_bytes == 0 && !now.stopped && !now.silent))
      status = failure_describe(session, &now, code, error);
    else if (response->code < 200 || response->code >= 300)
      status = refusal_read(session, response, error);
  }
  curl_slist_free_all(headers);
  return status;
}

void ep_http_response_deinit(ep_http_response *response) {
  free(response->text);
  *response = (ep_http_response){0};
}

ep_status ep_http_response_parse(const ep_session *session, const ep_http_response *response,
                                 json_t **out, ep_error *error) {
  ep_error fault = {0};
  if (ep_json_load(response->text ? response->text : "", response->bytes,
                   EP_LIMIT_CLIENT_RESPONSE_BYTES, out, &fault) != EP_OK)
    return ep_fail(error, EP_INTERNAL, "unexpected response from %.200s, is it epochd? %.200s",
                   session->server, fault.message);
  return EP_OK;
}

ep_status ep_http_get(ep_session *session, const char *path, json_t **out, ep_error *error) {
  ep_http_request request = {.method = "GET", .path = path};
  ep_http_response response;
  *out = NULL;
  ep_status status = ep_http_send(session, &request, &response, error);
  if (status == EP_OK) status = ep_http_response_parse(session, &response, out, error);
  ep_http_response_deinit(&response);
  return status;
}
