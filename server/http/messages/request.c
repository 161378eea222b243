#include "server/http/messages/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/utf8.h"

static int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

/* A decoded copy of bytes [0, count) of text; NULL with *error set. `query`: + is a space; else
 * %2F stays, which divides no segments, and so does %25, which begins no %2F. */
static char *text_decode(const char *text, size_t count, bool query, ep_error *error) {
  char *out = malloc(count + 1);
  if (!out) {
    ep_fail_memory(error);
    return NULL;
  }
  size_t length = 0;
  for (size_t i = 0; i < count; i++) {
    int byte = (unsigned char)text[i];
    if (byte == '%') {
      int high = i + 2 < count ? digit_value(text[i + 1]) : -1;
      int low = high >= 0 ? digit_value(text[i + 2]) : -1;
      byte = low < 0 ? 0 : high * 16 + low;
      if ((byte == '/' || byte == '%') && !query)
        byte = '%'; /* of the escape */
      else
        i += 2;
    } else if (byte == '+' && query) {
      byte = ' ';
    }
    if (byte < 0x20 || byte == 0x7f) {
      ep_fail(error, EP_MALFORMED, "the target has a bad escape or a control character");
      free(out);
      return NULL;
    }
    out[length++] = (char)byte;
  }
  out[length] = 0;
  if (ep_utf8_valid(out, length)) return out;
  ep_fail(error, EP_MALFORMED, "the target is not UTF-8");
  free(out);
  return NULL;
}

static ep_status query_add(ep_request *request, const char *text, size_t count, ep_error *error) {
  if (count == 0) return EP_OK;
  if (request->query_count == EP_REQUEST_QUERY)
    return ep_fail(error, EP_MALFORMED, "more than %d query parameters", EP_REQUEST_QUERY);
  const char *equals = memchr(text, '=', count);
  size_t name_bytes = equals ? (size_t)(equals - text) : count;
  ep_pair *pair = &request->query[request->query_count];
  pair->name = text_decode(text, name_bytes, true, error);
  if (!pair->name) return EP_MALFORMED;
  pair->value = equals ? text_decode(equals + 1, count - name_bytes - 1, true, error)
                       : text_decode("", 0, true, error);
  if (!pair->value) {
    free(pair->name);
    return EP_MALFORMED;
  }
  request->query_count++;
  return EP_OK;
}

static bool is_token(const char *text) {
  for (; *text; text++)
    if (!strchr("!#$%&'*+-.^_`|~", *text) && !(*text >= '0' && *text <= '9') &&
        !((*text | 0x20) >= 'a' && (*text | 0x20) <= 'z'))
      return false;
  return true;
}

ep_status ep_request_start(ep_request *request, const char *method, const char *target,
                           ep_error *error) {
  if (strlen(method) < sizeof request->method && is_token(method))
    snprintf(request->method, sizeof request->method, "%s", method);
  if (target[0] != '/')
    return ep_fail(error, EP_MALFORMED, "the target must be a path that begins with /");
  if (strlen(target) >= EP_REQUEST_TARGET_BYTES)
    return ep_fail(error, EP_MALFORMED, "the target is longer than %d bytes",
                   EP_REQUEST_TARGET_BYTES - 1);
  size_t path_bytes = strcspn(target, "?");
  request->path = text_decode(target, path_bytes, false, error);
  if (!request->path) return EP_MALFORMED;
  const char *at = target + path_bytes;
  ep_status status = EP_OK;
  while (*at && status == EP_OK) {
    size_t bytes = strcspn(at + 1, "&");
    status = query_add(request, at + 1, bytes, error);
    at += 1 + bytes;
  }
  return status;
}

void ep_request_strip(ep_request *request, const char *base) {
  size_t bytes = strlen(base);
  if (bytes == 0 || strncmp(request->path, base, bytes) != 0) return;
  char *rest = request->path + bytes;
  request->bare = *rest == 0;
  if (request->bare)
    memcpy(request->path, "/", 2);
  else if (*rest == '/')
    memmove(request->path, rest, strlen(rest) + 1);
}

ep_status ep_request_add_header(ep_request *request, const char *name, const char *value,
                                ep_error *error) {
  if (request->headers_count == EP_REQUEST_HEADERS)
    return ep_fail(error, EP_MALFORMED, "more than %d header lines", EP_REQUEST_HEADERS);
  if (!*name || !is_token(name))
    return ep_fail(error, EP_MALFORMED, "invalid character in a header name");
  ep_pair *pair = &request->headers[request->headers_count];
  pair->name = strdup(name);
  pair->value = strdup(value);
  if (!pair->name || !pair->value) {
    free(pair->name);
    free(pair->value);
    *pair = (ep_pair){0};
    return ep_fail_memory(error);
  }
  request->headers_count++;
  size_t bytes = strlen(pair->value);
  while (bytes > 0 && (pair->value[bytes - 1] == ' ' || pair->value[bytes - 1] == '\t'))
    pair->value[--bytes] = 0;
  return EP_OK;
}

void ep_request_init(ep_request *request) {
  *request = (ep_request){.upload = {.file = -1}};
}

void ep_request_deinit(ep_request *request) {
  ep_upload_discard(&request->upload);
  free(request->path);
  free(request->body);
  for (int i = 0; i < request->query_count; i++) {
    free(request->query[i].name);
    free(request->query[i].value);
  }
  for (int i = 0; i < request->headers_count; i++) {
    free(request->headers[i].name);
    free(request->headers[i].value);
  }
  ep_request_init(request);
}

const char *ep_request_header(const ep_request *request, const char *name) {
  for (int i = 0; i < request->headers_count; i++)
    if (strcasecmp(request->headers[i].name, name) == 0) return request->headers[i].value;
  return NULL;
}

int ep_request_header_count(const ep_request *request, const char *name) {
  int count = 0;
  for (int i = 0; i < request->headers_count; i++)
    count += strcasecmp(request->headers[i].name, name) == 0;
  return count;
}

bool ep_request_has_type(const ep_request *request, const char *type) {
  const char *value = ep_request_header(request, "Content-Type");
  if (!value || ep_request_header_count(request, "Content-Type") != 1) return false;
  value += strspn(value, " \t");
  size_t bytes = strlen(type);
  if (strncasecmp(value, type, bytes) != 0) return false;
  value += bytes;
  value += strspn(value, " \t");
  return (*value == ';' || *value == 0) && !strchr(value, ',');
}

ep_coding ep_request_coding(const ep_request *request) {
  static const char HEADER[] = "Content-Encoding";
  const char *coding = ep_request_header(request, HEADER);
  if (!coding || !*coding) return EP_CODING_IDENTITY;
  if (ep_request_header_count(request, HEADER) != 1) return EP_CODING_UNKNOWN;
  if (strcasecmp(coding, "identity") == 0) return EP_CODING_IDENTITY;
  /* x-gzip is the same (RFC 9110, 8.4.1.3) */
  bool gzip = strcasecmp(coding, "gzip") == 0 || strcasecmp(coding, "x-gzip") == 0;
  return gzip ? EP_CODING_GZIP : EP_CODING_UNKNOWN;
}

/* The q of a media range, in thousandths; at: behind its name. */
static int quality_read(const char *at) {
  while (*(at += strspn(at, " \t")) == ';') {
    at += 1 + strspn(at + 1, " \t");
    if ((*at == 'q' || *at == 'Q') && at[1] == '=') {
      int quality = at[2] == '1' ? 1000 : 0;
      if (at[2] == '0' && at[3] == '.')
        for (int i = 4, unit = 100; unit > 0 && at[i] >= '0' && at[i] <= '9'; i++, unit /= 10)
          quality += unit * (at[i] - '0');
      return quality;
    }
    at += strcspn(at, ";,");
  }
  return 1000;
}

int ep_request_accepts(const ep_request *request, const char *const *types, int fallback) {
  const char *at = ep_request_header(request, "Accept");
  int best = fallback, best_quality = 0, wildcard = 0;
  while (at && *at) {
    at += strspn(at, " \t,");
    size_t bytes = strcspn(at, " \t,;");
    int quality = bytes > 0 ? quality_read(at + bytes) : 0;
    if (bytes == 3 && memcmp(at, "*/*", 3) == 0) wildcard = quality;
    for (int i = 0; types[i]; i++) {
      if (bytes != strlen(types[i]) || strncasecmp(at, types[i], bytes) != 0) continue;
      if (quality > best_quality || (quality == best_quality && quality > 0 && i < best)) {
        best = i;
        best_quality = quality;
      }
    }
    at += strcspn(at, ",");
  }
  return wildcard > best_quality ? fallback : best;
}

const char *ep_request_query(const ep_request *request, const char *name) {
  for (int i = 0; i < request->query_count; i++)
    if (strcmp(request->query[i].name, name) == 0) return request->query[i].value;
  return NULL;
}

int ep_request_queries(const ep_request *request, const char *name,
                       const char *values[EP_REQUEST_QUERY]) {
  int count = 0;
  for (int i = 0; i < request->query_count; i++)
    if (strcmp(request->query[i].name, name) == 0) values[count++] = request->query[i].value;
  return count;
}

ep_status ep_request_integer(const ep_request *request, const char *name, int64_t min, int64_t max,
                             int64_t fallback, int64_t *out, ep_error *error) {
  *out = fallback;
  const char *text = ep_request_query(request, name);
  if (!text) return EP_OK;
  char *stop;
  errno = 0;
  long long value = strtoll(text, &stop, 10);
  if (errno || *text < '-' || *text > '9' || stop == text || *stop || value < min || value > max)
    return ep_fail(error, EP_MALFORMED, "?%s= must be a whole number from %lld to %lld", name,
                   (long long)min, (long long)max);
  *out = value;
  return EP_OK;
}

ep_status ep_request_word(const ep_request *request, const char *name, const char *const *words,
                          int fallback, int *out, ep_error *error) {
  *out = fallback;
  const char *text = ep_request_query(request, name);
  if (!text) return EP_OK;
  char known[256] = "";
  for (int i = 0; words[i]; i++) {
    if (strcmp(words[i], text) == 0) {
      *out = i;
      return EP_OK;
    }
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i]);
  }
  return ep_fail(error, EP_MALFORMED, "?%s= must be one of: %s", name, known);
}

bool ep_request_matches(const ep_request *request, const char *etag) {
  const char *at = ep_request_header(request, "If-None-Match");
  size_t bytes = strlen(etag);
  while (at && *at) {
    at += strspn(at, " \t,");
    if (*at == '*') return true;
    if (strncmp(at, "W/", 2) == 0) at += 2; /* If-None-Match compares weakly (RFC 9110, 13.1.2) */
    if (strncmp(at, etag, bytes) == 0) return true;
    at += strcspn(at, ",");
  }
  return false;
}
