/* input.h: one element of "inputs": what it says of its tensor, whose values are read elsewhere. */
#ifndef EP_API_INFERENCE_INPUT_H
#define EP_API_INFERENCE_INPUT_H

#include "api/inference/slice.h"
#include "api/inference/tensor.h"

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 2]; /* cut where it is longer than any column's */
  char type[64];                      /* "datatype", cut */
  ep_tensor_shape shape;              /* without its type; of no dimensions: there are too many */
  ep_slice data;                      /* at NULL: the values are `bytes` of those behind the JSON */
  int64_t bytes;                      /* -1: they are in the JSON */
} ep_inference_input;

/* EP_MALFORMED, EP_TOO_LARGE: the shape has more values than can be counted. */
ep_status ep_inference_input_read(ep_slice text, ep_inference_input *out, ep_error *error);

#endif
