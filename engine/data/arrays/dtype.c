#include "engine/data/arrays/dtype.h"

#include <assert.h>
#include <string.h>

static const struct {
  const char *name;
  size_t bytes;
} dtypes[EP_DTYPE_COUNT] = {
#define EP_DTYPE_ROW(code, descr, bytes) {descr, bytes},
    EP_DTYPE_TABLE(EP_DTYPE_ROW)
#undef EP_DTYPE_ROW
};

const char *ep_dtype_name(ep_dtype dtype) {
  assert(dtype < EP_DTYPE_COUNT);
  return dtypes[dtype].name;
}

int ep_dtype_from_name(const char *name) {
  for (int i = 0; i < EP_DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) return i;
  return -1;
}

size_t ep_dtype_bytes(ep_dtype dtype) {
  assert(dtype < EP_DTYPE_COUNT);
  return dtypes[dtype].bytes;
}

/* X(code, C type): the types whose bytes are a C number's. */
#define NUMBERS(X) \
  X(F32, float)    \
  X(F64, double)   \
  X(I8, int8_t)    \
  X(I16, int16_t)  \
  X(I32, int32_t)  \
  X(I64, int64_t)  \
  X(U8, uint8_t)   \
  X(U16, uint16_t) \
  X(U32, uint32_t) \
  X(U64, uint64_t)

double ep_dtype_value(ep_dtype dtype, const uint8_t *value) {
#define VALUE_CASE(code, type)             \
  case EP_DTYPE_##code: {                  \
    type number;                           \
    memcpy(&number, value, sizeof number); \
    return (double)number;                 \
  }
  switch (dtype) {
    NUMBERS(VALUE_CASE)
  case EP_DTYPE_BOOL: return *value != 0;
  case EP_DTYPE_COUNT: break;
  }
#undef VALUE_CASE
  assert(!"a dtype of the table");
  return 0;
}

void ep_dtype_values(ep_dtype dtype, const uint8_t *values, int64_t count, double *out) {
#define VALUES_CASE(code, type)                                           \
  case EP_DTYPE_##code:                                                   \
    for (int64_t i = 0; i < count; i++) {                                 \
      type number;                                                        \
      memcpy(&number, values + (size_t)i * sizeof number, sizeof number); \
      out[i] = (double)number;                                            \
    }                                                                     \
    return;
  switch (dtype) {
    NUMBERS(VALUES_CASE)
  case EP_DTYPE_BOOL:
    for (int64_t i = 0; i < count; i++) out[i] = values[i] != 0;
    return;
  case EP_DTYPE_COUNT: break;
  }
#undef VALUES_CASE
  assert(!"a dtype of the table");
}
