#include "server/http/framing/framing.h"

#include <string.h>
#include <strings.h>

#include "api/limits.h"

typedef enum {
  BETWEEN,      /* requests */
  BETWEEN_LF,   /* an empty line before a request */
  METHOD,       /* the first byte was read */
  TARGET_FIRST, /* behind the method's space */
  TARGET,       /* at least a byte */
  VERSION,      /* digits: so many bytes of it */
  START_LF,     /* of the request's line */
  LINE,         /* the first byte of a header's line */
  NAME,         /* at least a byte */
  VALUE,        /* behind the colon */
  LINE_LF,      /* of a header's line */
  HEAD_LF,      /* of the line that ends the head */
  BODY,         /* of left_bytes */
  CHUNK,        /* its size's digits */
  CHUNK_LF,     /* behind its size */
  CHUNK_DATA,   /* left_bytes of it */
  CHUNK_END,    /* CR behind its data */
  CHUNK_END_LF, /* LF behind that */
  LAST,         /* CR behind the last chunk's line */
  LAST_LF       /* LF behind that */
} framing_state;

static const char VERSION_TEXT[] = "HTTP/1.";
enum { VERSION_BYTES = sizeof VERSION_TEXT - 1, LENGTH_DIGITS = 18, CHUNK_DIGITS = 15 };

static ep_status refuse(ep_error *error, const char *why) {
  return ep_fail(error, EP_MALFORMED, "%s", why);
}

static bool is_token(unsigned char byte) {
  return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') ||
         (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

/* As all methods are that there are. */
static bool is_method(unsigned char byte) {
  return (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '_';
}

static bool is_control(unsigned char byte) {
  return byte < 0x20 || byte == 0x7f;
}

/* --- the request's line --------------------------------------------------------------------- */

static ep_status start_read(ep_framing *framing, unsigned char byte, ep_error *error) {
  switch ((framing_state)framing->state) {
  case BETWEEN:
    if (byte == '\r') {
      framing->state = BETWEEN_LF;
      return EP_OK;
    }
    *framing = (ep_framing){.state = METHOD, .head_bytes = framing->head_bytes};
    return is_method(byte) ? EP_OK : refuse(error, "a request must begin with its method");
  case BETWEEN_LF:
    framing->state = BETWEEN;
    return byte == '\n' ? EP_OK : refuse(error, "a request must begin with its method");
  case METHOD:
    if (byte == ' ') framing->state = TARGET_FIRST;
    return byte == ' ' || is_method(byte) ? EP_OK
                                          : refuse(error, "a method must be in capital letters");
  case TARGET_FIRST:
  case TARGET:
    if (byte == ' ' && framing->state == TARGET)
      framing->state = VERSION;
    else if (byte == ' ' || is_control(byte))
      return refuse(error, "the request line must be: method, space, target, space, version");
    else
      framing->state = TARGET;
    framing->fields += byte == '&' || byte == '?';
    return EP_OK;
  case VERSION:
    if (framing->digits < VERSION_BYTES) {
      if (byte == (unsigned char)VERSION_TEXT[framing->digits++]) return EP_OK;
    } else if (framing->digits++ == VERSION_BYTES) {
      framing->http10 = byte == '0';
      if (byte == '0' || byte == '1') return EP_OK;
    } else if (byte == '\r') {
      framing->state = START_LF;
      return EP_OK;
    }
    return refuse(error, "the version must be HTTP/1.1 or HTTP/1.0");
  default: /* START_LF */
    framing->state = LINE;
    return byte == '\n' ? EP_OK : refuse(error, "a line must end in CR LF");
  }
}

/* --- the head's lines ----------------------------------------------------------------------- */

static ep_status length_take(ep_framing *framing, ep_error *error) {
  if (framing->has_length) return refuse(error, "Content-Length is given more than once");
  framing->has_length = true;
  if (framing->value_bytes == 0 || framing->value_bytes > LENGTH_DIGITS)
    return refuse(error, "Content-Length is not a number");
  for (int i = 0; i < framing->value_bytes; i++) {
    if (framing->value[i] < '0' || framing->value[i] > '9')
      return refuse(error, "Content-Length is not a number");
    framing->left_bytes = 10 * framing->left_bytes + (framing->value[i] - '0');
  }
  return EP_OK;
}

/* A header's line has ended. Blanks behind a value belong to it: the library does not know
 * "chunked ". */
static ep_status header_take(ep_framing *framing, ep_error *error) {
  if (strcmp(framing->name, "content-length") == 0) return length_take(framing, error);
  if (strcmp(framing->name, "host") == 0) {
    if (framing->has_host) return refuse(error, "Host is given more than once");
    framing->has_host = true;
  }
  if (strcmp(framing->name, "authorization") == 0) {
    if (framing->has_authorization) return refuse(error, "Authorization is there more than once");
    framing->has_authorization = true;
  }
  if (strcmp(framing->name, "transfer-encoding") != 0) return EP_OK;
  if (framing->has_encoding || strcasecmp(framing->value, "chunked") != 0)
    return refuse(error, "the only supported Transfer-Encoding is chunked");
  framing->has_encoding = true;
  return EP_OK;
}

static ep_status head_end(ep_framing *framing, ep_error *error) {
  if (framing->has_encoding && framing->has_length)
    return refuse(error, "Content-Length and Transfer-Encoding exclude each other");
  if (framing->has_encoding && framing->http10)
    return refuse(error, "HTTP/1.0 has no Transfer-Encoding");
  if (!framing->has_host && !framing->http10) return refuse(error, "Host is missing");
  framing->digits = 0;
  framing->head_bytes = 0;
  framing->state = framing->has_encoding ? CHUNK : framing->left_bytes > 0 ? BODY : BETWEEN;
  return EP_OK;
}

static ep_status name_add(ep_framing *framing, unsigned char byte, ep_error *error) {
  if (byte == ':' && framing->state == NAME) {
    framing->name[framing->name_bytes < EP_FRAMING_NAME_BYTES ? framing->name_bytes
                                                              : EP_FRAMING_NAME_BYTES] = 0;
    framing->state = VALUE;
    return EP_OK;
  }
  if (framing->state == LINE && (byte == ' ' || byte == '\t'))
    return refuse(error, "folded header lines are obsolete and not supported");
  if (!is_token(byte)) return refuse(error, "invalid character in a header name");
  if (framing->state == LINE && ++framing->headers_count > EP_LIMIT_HEADERS)
    return ep_fail(error, EP_HEAD_TOO_LARGE, "a request can have at most %d headers",
                   EP_LIMIT_HEADERS);
  if (framing->state == LINE) {
    framing->name_bytes = framing->value_bytes = 0;
    framing->fields++;
  }
  if (framing->name_bytes < EP_FRAMING_NAME_BYTES)
    framing->name[framing->name_bytes] =
        byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : (char)byte;
  framing->name_bytes++;
  framing->state = NAME;
  return EP_OK;
}

static ep_status value_add(ep_framing *framing, unsigned char byte, ep_error *error) {
  if (byte == '\r') {
    framing->state = LINE_LF;
    return EP_OK;
  }
  if (is_control(byte))
    return refuse(error, "a header has a control character, or a line that does not end in CR LF");
  if ((byte == ';' || byte == ',') && strcmp(framing->name, "cookie") == 0) framing->fields++;
  if (framing->value_bytes == 0 && byte == ' ') return EP_OK;
  if (framing->value_bytes < EP_FRAMING_VALUE_BYTES) {
    framing->value[framing->value_bytes] = (char)byte;
    framing->value[framing->value_bytes + 1] = 0;
  }
  framing->value_bytes++;
  return EP_OK;
}

static ep_status line_read(ep_framing *framing, unsigned char byte, ep_error *error) {
  switch ((framing_state)framing->state) {
  case LINE:
    framing->value[0] = 0;
    if (byte != '\r') return name_add(framing, byte, error);
    framing->state = HEAD_LF;
    return EP_OK;
  case NAME: return name_add(framing, byte, error);
  case VALUE: return value_add(framing, byte, error);
  case LINE_LF:
    framing->state = LINE;
    return byte == '\n' ? header_take(framing, error) : refuse(error, "a line must end in CR LF");
  default: /* HEAD_LF */
    return byte == '\n' ? head_end(framing, error) : refuse(error, "a line must end in CR LF");
  }
}

/* --- the body ------------------------------------------------------------------------------- */

static int hex_value(unsigned char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f') return (byte | 0x20) - 'a' + 10;
  return -1;
}

static ep_status size_add(ep_framing *framing, unsigned char byte, ep_error *error) {
  if (byte == '\r' && framing->digits > 0) {
    framing->state = CHUNK_LF;
    return EP_OK;
  }
  if (framing->digits == 0) framing->left_bytes = 0;
  const int value = hex_value(byte);
  if (value < 0 || ++framing->digits > CHUNK_DIGITS)
    return refuse(error, "a chunk must begin with its size in hexadecimal digits");
  framing->left_bytes = 16 * framing->left_bytes + value;
  return EP_OK;
}

static ep_status chunk_read(ep_framing *framing, unsigned char byte, ep_error *error) {
  static const struct {
    unsigned char byte;
    framing_state then;
  } fixed[] = {[CHUNK_LF] = {'\n', CHUNK_DATA},
               [CHUNK_END] = {'\r', CHUNK_END_LF},
               [CHUNK_END_LF] = {'\n', CHUNK},
               [LAST] = {'\r', LAST_LF},
               [LAST_LF] = {'\n', BETWEEN}};
  if (framing->state == CHUNK) return size_add(framing, byte, error);
  if (byte != fixed[framing->state].byte)
    return refuse(error, framing->state == LAST
                             ? "trailers are not supported"
                             : "a chunk's size line and its data must end in CR LF");
  if (framing->state == CHUNK_LF && framing->left_bytes == 0)
    framing->state = LAST;
  else
    framing->state = (int)fixed[framing->state].then;
  framing->digits = 0;
  return EP_OK;
}

/* Passes over the data that is there; returns how many bytes. */
static size_t data_skip(ep_framing *framing, size_t count) {
  const size_t bytes = (uint64_t)framing->left_bytes < count ? (size_t)framing->left_bytes : count;
  framing->left_bytes -= (int64_t)bytes;
  if (framing->left_bytes == 0) framing->state = framing->state == BODY ? BETWEEN : CHUNK_END;
  return bytes;
}

/* --- all of it ------------------------------------------------------------------------------ */

static ep_status byte_read(ep_framing *framing, unsigned char byte, ep_error *error) {
  if (framing->state > HEAD_LF) return chunk_read(framing, byte, error);
  if (++framing->head_bytes > EP_LIMIT_HEAD_BYTES)
    return ep_fail(error, EP_HEAD_TOO_LARGE, "request headers can have at most %d bytes",
                   EP_LIMIT_HEAD_BYTES);
  if (framing->head_bytes + framing->fields * EP_LIMIT_FIELD_BYTES > EP_LIMIT_HEAD_MEMORY_BYTES)
    return ep_fail(error, EP_HEAD_TOO_LARGE,
                   "a request's head has %d headers, query parameters and cookies: send fewer",
                   framing->fields);
  return framing->state < LINE ? start_read(framing, byte, error) : line_read(framing, byte, error);
}

ep_status ep_framing_read(ep_framing *framing, const char *bytes, size_t count, size_t *whole_bytes,
                          ep_error *error) {
  size_t at = 0;
  ep_status status = EP_OK;
  *whole_bytes = 0;
  while (at < count && status == EP_OK) {
    if (framing->state == BODY || framing->state == CHUNK_DATA)
      at += data_skip(framing, count - at);
    else
      status = byte_read(framing, (unsigned char)bytes[at++], error);
    if (status == EP_OK && framing->state == BETWEEN && framing->head_bytes == 0) *whole_bytes = at;
  }
  return status;
}
