#include "engine/data/arrays/idx_header.h"

#include "engine/data/arrays/dtype.h"

/* The type's code is the third byte. */
static bool dtype_find(uint8_t code, ep_dtype *out) {
  static const struct {
    uint8_t code;
    ep_dtype dtype;
  } types[] = {{0x08, EP_DTYPE_U8},  {0x09, EP_DTYPE_I8},  {0x0B, EP_DTYPE_I16},
               {0x0C, EP_DTYPE_I32}, {0x0D, EP_DTYPE_F32}, {0x0E, EP_DTYPE_F64}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (types[i].code != code) continue;
    *out = types[i].dtype;
    return true;
  }
  return false;
}

/* No text starts with two zeros. */
bool ep_idx_recognise(const uint8_t *bytes, size_t size) {
  return size >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 0x08 && bytes[2] <= 0x0E;
}

ep_status ep_idx_header_parse(const uint8_t *bytes, size_t size, ep_array_header *out,
                              ep_error *error) {
  *out = (ep_array_header){.big_endian = true};
  if (!ep_idx_recognise(bytes, size)) return ep_fail(error, EP_INVALID, "not an IDX file");
  if (!dtype_find(bytes[2], &out->dtype))
    return ep_fail(error, EP_INVALID, "IDX: unknown type 0x%02X", bytes[2]);
  out->dimensions = bytes[3];
  if (out->dimensions < 1 || out->dimensions > EP_IDX_DIMENSIONS)
    return ep_fail(error, EP_INVALID, "IDX: %d dimensions: 1 to %d are supported", out->dimensions,
                   EP_IDX_DIMENSIONS);
  out->values_offset = 4 + 4 * (size_t)out->dimensions;
  if (size < out->values_offset)
    return ep_fail(error, EP_INVALID, "IDX: the file ends inside its header");
  for (int i = 0; i < out->dimensions; i++) {
    const uint8_t *at = bytes + 4 + 4 * (size_t)i;
    out->shape[i] =
        (int64_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
  }
  return ep_array_extent_find(out, "IDX", size - out->values_offset, error);
}
