#include "api/inference/tensor.h"

#include <endian.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "api/json/scanner.h"
#include "api/responses/model.h"

typedef struct {
  const char *name;
  size_t bytes;
  ep_tensor_kind kind;
} tensor_type;

static const tensor_type types[EP_TENSOR_COUNT] = {
#define TENSOR_ROW(code, name, bytes, kind) {name, bytes, EP_TENSOR_##kind},
    EP_TENSOR_TABLE(TENSOR_ROW)
#undef TENSOR_ROW
};

size_t ep_tensor_element_bytes(ep_tensor_type type) {
  return types[type].bytes;
}

const char *ep_tensor_type_name(ep_tensor_type type) {
  return types[type].name;
}

int ep_tensor_type_from_name(const char *name) {
  for (int i = 0; i < EP_TENSOR_COUNT; i++)
    if (strcmp(types[i].name, name) == 0) return i;
  return -1;
}

ep_tensor_kind ep_tensor_type_kind(ep_tensor_type type) {
  return types[type].kind;
}

/* The nearest number of half precision (IEEE 754 binary16), of two the even one. */
static double half_round(double value) {
  enum { DIGITS = 10, EXPONENT_MIN = -14 };
  if (value == 0 || !isfinite(value)) return value;
  int exponent = ilogb(value);
  if (exponent < EXPONENT_MIN) exponent = EXPONENT_MIN;
  double rounded = ldexp(rint(ldexp(value, DIGITS - exponent)), exponent - DIGITS);
  return fabs(rounded) > 65504 ? copysign(INFINITY, value) : rounded;
}

static double half_read(uint32_t bits) {
  int exponent = (int)(bits >> 10 & 31);
  double fraction = bits & 1023;
  double size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                : exponent == 0 ? ldexp(fraction, -24)
                                : ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 ? -size : size;
}

bool ep_tensor_value_take(ep_tensor_type type, double *value) {
  const tensor_type *of = &types[type];
  int bits = (int)of->bytes * 8;
  if (type == EP_TENSOR_FP16) *value = half_round(*value);
  if (type == EP_TENSOR_FP32) *value = (float)*value;
  if (of->kind == EP_TENSOR_FLOAT) return isfinite(*value);
  if (trunc(*value) != *value || fabs(*value) >= 0x1p53) return false;
  switch (of->kind) {
  case EP_TENSOR_BOOLEAN: return *value == 0 || *value == 1;
  case EP_TENSOR_UNSIGNED: return *value >= 0 && *value < ldexp(1, bits);
  default: return *value >= -ldexp(1, bits - 1) && *value < ldexp(1, bits - 1);
  }
}

ep_status ep_tensor_value_refuse(const char *input, ep_tensor_type type, int64_t index,
                                 ep_error *error) {
  const char *reason = types[type].bytes == 8 && types[type].kind != EP_TENSOR_FLOAT
                           ? ", or is beyond 2^53 - 1, where whole numbers are not exact: give "
                             "identifiers as " EP_INFERENCE_TEXT
                           : "";
  return ep_fail(error, EP_MALFORMED, "value %lld of the input \"%.128s\" (from 0) is not of %s%s",
                 (long long)index, input, types[type].name, reason);
}

static ep_status value_refuse(const ep_tensor_shape *shape, int64_t index, ep_error *error) {
  return ep_tensor_value_refuse(EP_INFERENCE_INPUT, shape->type, index, error);
}

/* The text as far as it is read. */
typedef struct {
  const ep_tensor_shape *shape;
  ep_scanner scanner;
  double *x;
  int64_t used;
  int levels; /* 1: flat; else as many as the shape has dimensions */
  ep_error *error;
} data_reader;

/* true and false are taken for BOOL alone. */
static bool value_scan(data_reader *reader, double *value) {
  char first = ep_scan_peek(&reader->scanner);
  *value = first == 't';
  if (first != 't' && first != 'f') return ep_scan_number(&reader->scanner, value);
  return reader->shape->type == EP_TENSOR_BOOL &&
         ep_scan_word(&reader->scanner, first == 't' ? "true" : "false");
}

static ep_status number_read(data_reader *reader) {
  double value;
  if (!value_scan(reader, &value) || !ep_tensor_value_take(reader->shape->type, &value))
    return value_refuse(reader->shape, reader->used, reader->error);
  reader->x[reader->used++] = value;
  return EP_OK;
}

static ep_status length_refuse(data_reader *reader, const char *what, int64_t wanted) {
  return ep_fail(reader->error, EP_MALFORMED,
                 "a list in \"data\" has %s than the %lld values that \"shape\" gives", what,
                 (long long)wanted);
}

/* One list at `level`; those in it likewise. */
static ep_status list_read(data_reader *reader, int level) {
  const ep_tensor_shape *shape = reader->shape;
  int64_t wanted = reader->levels == 1 ? shape->count : shape->shape[level];
  int64_t found = 0;
  if (!ep_scan_token(&reader->scanner, '['))
    return ep_fail(reader->error, EP_MALFORMED,
                   "\"data\" must be a list of numbers, flat or nested as in \"shape\"");
  if (ep_scan_token(&reader->scanner, ']')) return length_refuse(reader, "less", wanted);
  do {
    if (found++ == wanted) return length_refuse(reader, "more", wanted);
    ep_status status =
        level + 1 < reader->levels ? list_read(reader, level + 1) : number_read(reader);
    if (status != EP_OK) return status;
  } while (ep_scan_token(&reader->scanner, ','));
  if (!ep_scan_token(&reader->scanner, ']'))
    return ep_fail(reader->error, EP_MALFORMED, "\"data\" must contain only numbers");
  return found == wanted ? EP_OK : length_refuse(reader, "less", wanted);
}

ep_status ep_tensor_read_json(const ep_tensor_shape *shape, const char *text, size_t text_bytes,
                              double *x, ep_error *error) {
  data_reader reader = {
      .shape = shape, .scanner = {text, text + text_bytes}, .x = x, .error = error};
  ep_scanner ahead = reader.scanner;
  bool nested = ep_scan_token(&ahead, '[') && ep_scan_peek(&ahead) == '[';
  reader.levels = nested ? shape->dimensions : 1;
  return list_read(&reader, 0);
}

static uint64_t little_endian_read(const unsigned char *bytes, size_t count) {
  uint64_t bits = 0;
  for (size_t i = count; i-- > 0;) bits = bits << 8 | bytes[i];
  return bits;
}

double ep_tensor_element(ep_tensor_type type, const void *bytes) {
  uint64_t bits = little_endian_read(bytes, types[type].bytes);
  uint32_t low = (uint32_t)bits;
  int unused = 64 - (int)types[type].bytes * 8;
  float single;
  double value;
  switch (type) {
  case EP_TENSOR_FP16: return half_read(low);
  case EP_TENSOR_FP32: memcpy(&single, &low, sizeof single); return single;
  case EP_TENSOR_FP64: memcpy(&value, &bits, sizeof value); return value;
  default: break;
  }
  /* the sign moves to the top, and back with its copies */
  if (types[type].kind == EP_TENSOR_SIGNED) return (double)((int64_t)(bits << unused) >> unused);
  return (double)bits;
}

/* As ep_tensor_element of each, at the speed of memory; the place of the first that is no number,
 * or the count. */
static int64_t singles_read(const unsigned char *at, int64_t count, double *x) {
  const uint32_t exponent = UINT32_C(0x7F800000);
  bool finite = true;
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    float value;
    memcpy(&bits, at + i * (int64_t)sizeof bits, sizeof bits);
    bits = le32toh(bits);
    memcpy(&value, &bits, sizeof value);
    finite &= (bits & exponent) != exponent;
    x[i] = value;
  }
  int64_t first = finite ? count : 0;
  while (first < count && isfinite(x[first])) first++;
  return first;
}

ep_status ep_tensor_read_bytes(const ep_tensor_shape *shape, const void *bytes, double *x,
                               ep_error *error) {
  const unsigned char *at = bytes;
  if (shape->type == EP_TENSOR_FP32) {
    int64_t first = singles_read(at, shape->count, x);
    return first == shape->count ? EP_OK : value_refuse(shape, first, error);
  }
  for (int64_t i = 0; i < shape->count; i++, at += types[shape->type].bytes) {
    x[i] = ep_tensor_element(shape->type, at);
    if (!ep_tensor_value_take(shape->type, &x[i])) return value_refuse(shape, i, error);
  }
  return EP_OK;
}

void ep_tensor_write(ep_tensor_type type, double value, unsigned char *bytes) {
  uint64_t bits = (uint64_t)(int64_t)(type == EP_TENSOR_INT64 ? value : 0);
  float single = (float)value;
  uint32_t low;
  memcpy(&low, &single, sizeof low);
  if (type == EP_TENSOR_FP32) bits = low;
  for (size_t i = 0; i < types[type].bytes; i++) bytes[i] = (unsigned char)(bits >> 8 * i);
}
