/* safetensors.h: named float32 tensors and texts in one file. Whole numbers (I64) are read too, for
 * the counters that PyTorch keeps among its weights, and never written.
 *
 * Format: https://huggingface.co/docs/safetensors: 8 bytes of header length (little-endian), a JSON
 * header {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets"}}, the values. */
#ifndef EP_ENGINE_WEIGHTS_SAFETENSORS_H
#define EP_ENGINE_WEIGHTS_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/status.h"
#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"

enum { EP_TENSOR_DIMENSIONS = 4 }; /* a convolution's weight has most */

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
  bool whole;                          /* int64 values, else float32 */
  int dimensions;                      /* 0 (one value) to EP_TENSOR_DIMENSIONS */
  int64_t shape[EP_TENSOR_DIMENSIONS]; /* each at least 1 */
  int64_t values_count;                /* their product */
  const uint8_t *bytes; /* [values_count], little-endian, aligned to 8 only in our files; lent */
} ep_tensor;

typedef struct {
  char *key, *text; /* owned */
} ep_tensor_note;

/* An open file, or one to be written. */
typedef struct {
  ep_tensor *tensor; /* [tensors_count], in the order of their values; owned */
  size_t tensors_count;
  ep_tensor_note *note; /* [notes_count], "__metadata__"; owned */
  size_t notes_count;
  ep_mapping mapping; /* of an open file */
} ep_tensors;

/* Opens a file that nobody vouches for: the header's length within
 * EP_LIMIT_SAFETENSORS_HEADER_BYTES and the file, F32 and I64 alone, at most four dimensions, each
 * tensor's bytes exactly its shape's, and all of them together exactly the rest of the file,
 * without overlap or gap. */
ep_status ep_tensors_open(const char *path, ep_tensors *out, ep_error *error);
/* The same of bytes in memory, which are lent until close. */
ep_status ep_tensors_read(const uint8_t *bytes, size_t size, ep_tensors *out, ep_error *error);
void ep_tensors_close(ep_tensors *tensors);

/* "[6, 1, 5, 5]" into text: [EP_TENSOR_SHAPE_BYTES], which is returned. */
enum { EP_TENSOR_SHAPE_BYTES = 96 };
char *ep_tensor_shape_format(const ep_tensor *tensor, char text[EP_TENSOR_SHAPE_BYTES]);
bool ep_tensor_shape_same(const ep_tensor *a, const ep_tensor *b);

/* NULL when there is none; lent. */
const ep_tensor *ep_tensors_find(const ep_tensors *tensors, const char *name);
const char *ep_tensors_note(const ep_tensors *tensors, const char *key);

/* Writes tensors (float32) and notes to path, atomically (durable_file.h): at once, or, where there
 * is a group, with it. Names are distinct and not "__metadata__", texts UTF-8. sha256:
 * [EP_SHA256_HEX_BYTES] hex of the file, bytes: its size. */
ep_status ep_tensors_write(const char *path, const ep_tensors *tensors, ep_durable_group *group,
                           char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error);
/* What ep_tensors_write would answer of the same file, which is not written. */
ep_status ep_tensors_measure(const ep_tensors *tensors, char sha256[EP_SHA256_HEX_BYTES],
                             int64_t *bytes, ep_error *error);

#endif
