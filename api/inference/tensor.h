/* tensor.h: the numbers of an inference request, from JSON or from bytes. */
#ifndef EP_API_INFERENCE_TENSOR_H
#define EP_API_INFERENCE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/responses/model.h"
#include "api/status.h"

typedef enum {
  EP_TENSOR_BOOLEAN,
  EP_TENSOR_UNSIGNED,
  EP_TENSOR_SIGNED,
  EP_TENSOR_FLOAT
} ep_tensor_kind;

typedef enum {
#define EP_TENSOR_ENUM(code, name, bytes, kind) EP_TENSOR_##code,
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

/* Numbers of a tensor, checked against its type. x: [shape->count], written; of BOOL 0 and 1. text:
 * JSON, flat or nested as the shape says. bytes: little-endian. EP_MALFORMED names the place. */
ep_status ep_tensor_read_json(const ep_tensor_shape *shape, const char *text, size_t text_bytes,
                              double *x, ep_error *error);
ep_status ep_tensor_read_bytes(const ep_tensor_shape *shape, const void *bytes, double *x,
                               ep_error *error);
/* Whether *value is one of the type's; FP16 and FP32 take those that round to a finite one, which
 * is written. Whole numbers beyond ±(2^53 - 1) are refused: a double may have merged them with
 * their neighbours. */
bool ep_tensor_value_take(ep_tensor_type type, double *value);
/* EP_MALFORMED: value `index` of the input is not one of the type's. */
ep_status ep_tensor_value_refuse(const char *input, ep_tensor_type type, int64_t index,
                                 ep_error *error);
ep_tensor_kind ep_tensor_type_kind(ep_tensor_type type);
/* bytes: [ep_tensor_element_bytes], little-endian. The result may not be finite, and of BOOL
 * neither 0 nor 1. */
double ep_tensor_element(ep_tensor_type type, const void *bytes);
size_t ep_tensor_element_bytes(ep_tensor_type type);
const char *ep_tensor_type_name(ep_tensor_type type);
int ep_tensor_type_from_name(const char *name); /* -1 when it is not taken */
/* Writes the element little-endian: bytes: [ep_tensor_element_bytes]. FP32 and INT64 alone. */
void ep_tensor_write(ep_tensor_type type, double value, unsigned char *bytes);

#endif
