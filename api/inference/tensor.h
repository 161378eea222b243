/* tensor.h: the numbers of an inference request, from JSON or from bytes. */
#ifndef EP_API_INFERENCE_TENSOR_H
#define EP_API_INFERENCE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"

/* X(code, name, bytes of an element) */
#define EP_TENSOR_TABLE(X) \
  X(FP32, "FP32", 4)       \
  X(FP64, "FP64", 8)       \
  X(UINT8, "UINT8", 1)     \
  X(INT32, "INT32", 4)     \
  X(INT64, "INT64", 8)

typedef enum {
#define EP_TENSOR_ENUM(code, name, bytes) EP_TENSOR_##code,
  EP_TENSOR_TABLE(EP_TENSOR_ENUM)
#undef EP_TENSOR_ENUM
      EP_TENSOR_COUNT
} ep_tensor_type;

/* The tensor that a request describes. */
typedef struct {
  ep_tensor_type type;
  int64_t shape[EP_LIMIT_ROW_DIMENSIONS + 1]; /* rows first */
  int dimensions;
  int64_t count; /* numbers in all, within EP_LIMIT_PREDICT_BYTES as float64 */
} ep_tensor_shape;

/* Numbers of a tensor, checked against its type. x: [shape->count], written. text: JSON, flat or
 * nested as the shape says. bytes: little-endian. EP_MALFORMED names the place. */
ep_status ep_tensor_read_json(const ep_tensor_shape *shape, const char *text, size_t text_bytes,
                              double *x, ep_error *error);
ep_status ep_tensor_read_bytes(const ep_tensor_shape *shape, const void *bytes, double *x,
                               ep_error *error);
/* Whether JSON's number is one of the type's; FP32 takes those that round to a finite one. */
bool ep_tensor_value_fits(ep_tensor_type type, double value);
/* bytes: [ep_tensor_element_bytes], little-endian; it may be no number. */
double ep_tensor_element(ep_tensor_type type, const void *bytes);
size_t ep_tensor_element_bytes(ep_tensor_type type);
const char *ep_tensor_type_name(ep_tensor_type type);
int ep_tensor_type_from_name(const char *name); /* -1 when it is not taken */
/* Writes the element little-endian: bytes: [ep_tensor_element_bytes]. FP32 and INT64 alone. */
void ep_tensor_write(ep_tensor_type type, double value, unsigned char *bytes);

#endif
