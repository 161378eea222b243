#include "server/webhooks/courier/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transfer {
  CURL *handle;
  struct curl_slist *headers;
  const ep_allowed_addresses *allowed;
  char host[EP_HOST_BYTES];            /* as libcurl reads it, so that both mean the same */
  char refused[EP_ADDRESS_TEXT_BYTES]; /* the last address that was; "" = none */
  bool reached;                        /* an address that may be called */
  char fault[CURL_ERROR_SIZE];
  size_t received;
  ep_courier_request request;
};

/* Each address is looked at when it is about to be connected to. A name that resolved to another
 * one a moment ago (DNS rebinding) gains nothing. */
static curl_socket_t socket_open(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
  transfer *job = context;
  (void)purpose;
  if (ep_address_is_allowed(job->allowed, job->host, &address->addr)) {
    job->reached = true;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
  ep_address_text(&address->addr, job->refused);
  return CURL_SOCKET_BAD;
}

/* Of a response only the status counts. A longer body than anybody sends ends the transfer. */
static size_t body_drop(char *bytes, size_t size, size_t count, void *context) {
  transfer *job = context;
  (void)bytes;
  job->received += size * count;
  return job->received <= EP_LIMIT_DELIVERY_BYTES ? size * count : 0;
}

static bool header_add(transfer *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool header_add(transfer *job, const char *format, ...) {
  char text[64 + EP_MESSAGE_SIGNATURE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  struct curl_slist *longer = curl_slist_append(job->headers, text);
  if (longer) job->headers = longer;
  return longer != NULL;
}

/* The names of https://github.com/standard-webhooks/standard-webhooks. */
static bool headers_fill(transfer *job) {
  return header_add(job, "Content-Type: application/json") && header_add(job, "Expect:") &&
         header_add(job, "webhook-id: %s", job->request.id) &&
         header_add(job, "webhook-timestamp: %lld", (long long)job->request.time_s) &&
         header_add(job, "webhook-signature: %s", job->request.signature);
}

/* "" where the URL has none that libcurl reads: it then refuses the URL. */
static void host_read(transfer *job) {
  CURLU *url = curl_url();
  char *host = NULL;
  if (url && curl_url_set(url, CURLUPART_URL, job->request.url, 0) == CURLUE_OK &&
      curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK)
    snprintf(job->host, sizeof job->host, "%s", host);
  curl_free(host);
  curl_url_cleanup(url);
}

static bool options_set(transfer *job) {
  CURL *handle = job->handle;
  bool set = true;
#define SET(option, value) set = curl_easy_setopt(handle, option, value) == CURLE_OK && set
  SET(CURLOPT_URL, job->request.url);
  SET(CURLOPT_PRIVATE, job);
  SET(CURLOPT_ERRORBUFFER, job->fault);
  SET(CURLOPT_USERAGENT, "epochd/" EP_VERSION);
  SET(CURLOPT_POSTFIELDS, job->request.body);
  SET(CURLOPT_POSTFIELDSIZE, (long)job->request.body_bytes);
  SET(CURLOPT_HTTPHEADER, job->headers);
  SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
#if LIBCURL_VERSION_NUM >= 0x075700 /* 7.87 */
  SET(CURLOPT_PROTOCOLS_STR, "http,https");
  SET(CURLOPT_QUICK_EXIT, 1L); /* no wait for a name that is still being resolved: all would wait */
#else
  SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  SET(CURLOPT_FOLLOWLOCATION, 0L); /* a redirect is a failure: it could lead anywhere */
  SET(CURLOPT_PROXY, "");          /* nor is a proxy's address looked at in place of the host's */
  SET(CURLOPT_TIMEOUT, (long)EP_LIMIT_DELIVERY_SECONDS);
  SET(CURLOPT_CONNECTTIMEOUT, (long)EP_LIMIT_DELIVERY_SECONDS);
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_FORBID_REUSE, 1L); /* each connection's address is looked at */
  SET(CURLOPT_OPENSOCKETFUNCTION, socket_open);
  SET(CURLOPT_OPENSOCKETDATA, job);
  SET(CURLOPT_WRITEFUNCTION, body_drop);
  SET(CURLOPT_WRITEDATA, job);
#undef SET
  return set;
}

static void transfer_destroy(transfer *job) {
  curl_easy_cleanup(job->handle);
  curl_slist_free_all(job->headers);
  free(job);
}

bool transfer_start(CURLM *multi, const ep_allowed_addresses *allowed,
                    const ep_courier_request *request) {
  transfer *job = calloc(1, sizeof *job);
  if (!job) return false;
  memcpy(&job->request, request, ep_courier_request_bytes(request));
  job->allowed = allowed;
  host_read(job);
  job->handle = curl_easy_init();
  if (job->handle && headers_fill(job) && options_set(job) &&
      curl_multi_add_handle(multi, job->handle) == CURLM_OK)
    return true;
  transfer_destroy(job);
  return false;
}

/* Who submits a job must not learn what names mean where epochd runs, not even whether there are
 * such names. So one that does not resolve, one that resolves too slowly and one that resolves to
 * what may not be called have the same fault. */
static void fault_fill(const transfer *job, CURLcode code, ep_courier_reply *reply) {
  const char *why = job->fault[0] ? job->fault : curl_easy_strerror(code);
  bool of_the_name = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
                     code == CURLE_OPERATION_TIMEDOUT;
  if (job->reached || !of_the_name) {
    snprintf(reply->fault, sizeof reply->fault, "%s", why);
    return;
  }
  snprintf(reply->fault, sizeof reply->fault, "%.100s has no permitted address", job->host);
  if (job->refused[0])
    snprintf(reply->detail, sizeof reply->detail,
             "%.100s resolves to %s, which is not a public address, and --webhook-allow does not "
             "allow it",
             job->host, job->refused);
  else
    snprintf(reply->detail, sizeof reply->detail, "%s", why);
}

void transfer_end(CURLM *multi, CURL *handle, CURLcode code, ep_courier_reply *reply) {
  transfer *job = NULL;
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)&job);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  *reply = (ep_courier_reply){.number = job->request.number};
  bool answered = code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0);
  if (answered)
    reply->status = (int32_t)status;
  else
    fault_fill(job, code, reply);
  curl_multi_remove_handle(multi, handle);
  transfer_destroy(job);
}
