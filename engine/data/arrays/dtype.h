/* dtype.h: the types that numbers have in files. */
#ifndef EP_ENGINE_DATA_ARRAYS_DTYPE_H
#define EP_ENGINE_DATA_ARRAYS_DTYPE_H

#include <stddef.h>
#include <stdint.h>

/* X(code, NPY descr without byte order, bytes) */
#define EP_DTYPE_TABLE(X) \
  X(F32, "f4", 4)         \
  X(F64, "f8", 8)         \
  X(I8, "i1", 1)          \
  X(I16, "i2", 2)         \
  X(I32, "i4", 4)         \
  X(I64, "i8", 8)         \
  X(U8, "u1", 1)          \
  X(U16, "u2", 2)         \
  X(U32, "u4", 4)         \
  X(U64, "u8", 8)         \
  X(BOOL, "b1", 1)

typedef enum {
#define EP_DTYPE_ENUM(code, descr, bytes) EP_DTYPE_##code,
  EP_DTYPE_TABLE(EP_DTYPE_ENUM)
#undef EP_DTYPE_ENUM
      EP_DTYPE_COUNT
} ep_dtype;

const char *ep_dtype_name(ep_dtype dtype); /* "f8" */
int ep_dtype_from_name(const char *name);  /* -1 when there is none */
size_t ep_dtype_bytes(ep_dtype dtype);
/* One little-endian value, not necessarily aligned. */
double ep_dtype_value(ep_dtype dtype, const uint8_t *value);
/* The same of many, one after the other. out: [count], written. */
void ep_dtype_values(ep_dtype dtype, const uint8_t *values, int64_t count, double *out);

#endif
