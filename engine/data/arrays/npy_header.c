#include "engine/data/arrays/npy_header.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/json/scanner.h"
#include "engine/files/excerpt.h"

const uint8_t ep_npy_magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The header's text is a Python dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (3,
 * 4), }. This reads just what such a dictionary can hold, by the marks that JSON has, too. */

/* 'text' or "text", without escapes; the span is lent. */
static bool string_take(ep_scanner *text, const char **string, size_t *length) {
  char quote = ep_scan_peek(text);
  if (quote != '\'' && quote != '"') return false;
  const char *start = text->at + 1;
  const char *stop = memchr(start, quote, (size_t)(text->end - start));
  if (!stop) return false;
  *string = start;
  *length = (size_t)(stop - start);
  text->at = stop + 1;
  return true;
}

static bool integer_take(ep_scanner *text, int64_t *value) {
  ep_scan_peek(text);
  const char *start = text->at;
  *value = 0;
  for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
    if (__builtin_mul_overflow(*value, 10, value) ||
        __builtin_add_overflow(*value, *text->at - '0', value))
      return false;
  bool any = text->at > start;
  if (any && text->at < text->end && *text->at == 'L') text->at++; /* Python 2 */
  return any;
}

static ep_status descr_take(ep_scanner *text, ep_array_header *out, ep_error *error) {
  const char *string;
  size_t length;
  if (!string_take(text, &string, &length))
    return ep_fail(error, EP_INVALID,
                   "NPY: structured types are not supported, only plain numbers (float32, float64, "
                   "int8 to int64, uint8 to uint64, bool)");
  char shown[EP_EXCERPT_BYTES], name[3] = {0};
  ep_excerpt(shown, string, length);
  int dtype = -1;
  if (length == 3 && memchr("<>|=", string[0], 4)) {
    memcpy(name, string + 1, 2);
    dtype = ep_dtype_from_name(name);
  }
  if (dtype < 0)
    return ep_fail(
        error, EP_INVALID,
        "NPY: type \"%s\" is not supported; store it as float32, float64, an integer type "
        "or bool",
        shown);
  out->dtype = (ep_dtype)dtype;
  out->big_endian = string[0] == '>';
  return EP_OK;
}

static ep_status shape_take(ep_scanner *text, ep_array_header *out, ep_error *error) {
  out->dimensions = 0;
  bool closed = false, comma = true;
  if (!ep_scan_token(text, '('))
    return ep_fail(error, EP_INVALID, "NPY: the header's shape is not a tuple");
  while (!(closed = ep_scan_token(text, ')')) && comma) {
    if (out->dimensions == EP_LIMIT_NPY_DIMENSIONS)
      return ep_fail(error, EP_TOO_LARGE, "NPY: more than %d dimensions", EP_LIMIT_NPY_DIMENSIONS);
    if (!integer_take(text, &out->shape[out->dimensions]))
      return ep_fail(error, EP_INVALID, "NPY: a dimension of the shape is not a 64-bit integer");
    out->dimensions++;
    comma = ep_scan_token(text, ',');
  }
  return closed ? EP_OK : ep_fail(error, EP_INVALID, "NPY: the header's shape is not closed");
}

static ep_status dictionary_read(ep_scanner *text, ep_array_header *out, ep_error *error) {
  enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
  int seen = 0;
  bool closed = false, comma = true;
  ep_status status = EP_OK;
  if (!ep_scan_token(text, '{'))
    return ep_fail(error, EP_INVALID, "NPY: the header is not a dictionary");
  while (!(closed = ep_scan_token(text, '}')) && comma && status == EP_OK) {
    const char *key;
    size_t length;
    if (!string_take(text, &key, &length) || !ep_scan_token(text, ':')) break;
    int field = 0;
    if (length == 5 && memcmp(key, "descr", 5) == 0) {
      field = DESCR;
      status = descr_take(text, out, error);
    } else if (length == 13 && memcmp(key, "fortran_order", 13) == 0) {
      field = ORDER;
      out->fortran_order = ep_scan_word(text, "True");
      if (!out->fortran_order && !ep_scan_word(text, "False")) break;
    } else if (length == 5 && memcmp(key, "shape", 5) == 0) {
      field = SHAPE;
      status = shape_take(text, out, error);
    }
    if (!field || seen & field) break;
    seen |= field;
    comma = ep_scan_token(text, ',');
  }
  if (status != EP_OK) return status;
  ep_scan_peek(text);
  if (!closed || seen != ALL || text->at != text->end)
    return ep_fail(error, EP_INVALID,
                   "NPY: the header must be a dictionary of descr, fortran_order and shape");
  return EP_OK;
}

ep_status ep_npy_header_parse(const uint8_t *bytes, size_t size, ep_array_header *out,
                              ep_error *error) {
  *out = (ep_array_header){0};
  if (size < 10 || memcmp(bytes, ep_npy_magic, sizeof ep_npy_magic) != 0)
    return ep_fail(error, EP_INVALID, "not an NPY file");
  int version = bytes[6];
  if (version < 1 || version > 3)
    return ep_fail(error, EP_INVALID, "NPY: unsupported version %d, only 1 to 3 are supported",
                   version);
  size_t prefix = version == 1 ? 10 : 12;
  if (size < prefix) return ep_fail(error, EP_INVALID, "NPY: the file ends inside its header");
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > EP_LIMIT_NPY_HEADER_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "NPY: a header of %zu bytes: the limit is %d", length,
                   EP_LIMIT_NPY_HEADER_BYTES);
  if (length > size - prefix)
    return ep_fail(error, EP_INVALID, "NPY: the file ends inside its header");
  ep_scanner text = {(const char *)bytes + prefix, (const char *)bytes + prefix + length};
  ep_status status = dictionary_read(&text, out, error);
  if (status != EP_OK) return status;
  out->values_offset = prefix + length;
  return ep_array_extent_find(out, "NPY", size - out->values_offset, error);
}

void ep_npy_header_format(ep_dtype dtype, int64_t rows, int dimensions, const int64_t *shape,
                          uint8_t out[EP_NPY_CANONICAL_BYTES]) {
  char text[EP_NPY_CANONICAL_BYTES];
  bool byte_order = ep_dtype_bytes(dtype) > 1;
  assert(dimensions >= 0 && dimensions <= EP_LIMIT_ROW_DIMENSIONS);
  int length = snprintf(
      text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%lld%s",
      byte_order ? '<' : '|', ep_dtype_name(dtype), (long long)rows, dimensions == 0 ? "," : "");
  for (int i = 0; i < dimensions; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, ", %lld", (long long)shape[i]);
  length += snprintf(text + length, sizeof text - (size_t)length, "), }");
  assert(length > 0 && length < EP_NPY_CANONICAL_BYTES - 11); /* columns are 65536 at most */
  memset(out, ' ', EP_NPY_CANONICAL_BYTES);
  memcpy(out, ep_npy_magic, sizeof ep_npy_magic);
  out[6] = 1;
  out[7] = 0;
  out[8] = EP_NPY_CANONICAL_BYTES - 10;
  out[9] = 0;
  memcpy(out + 10, text, (size_t)length);
  out[EP_NPY_CANONICAL_BYTES - 1] = '\n';
}
