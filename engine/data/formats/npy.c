/* npy.c: NumPy's array files, whatever their order, with their own type. */
#include <string.h>

#include "engine/data/arrays/npy_header.h"
#include "engine/data/formats/array.h"

static bool recognise(const uint8_t *bytes, size_t size) {
  return size >= sizeof ep_npy_magic && memcmp(bytes, ep_npy_magic, sizeof ep_npy_magic) == 0;
}

static ep_status read_npy(ep_ingest *ingest, ep_error *error) {
  ep_array_header array;
  ep_status status = ep_npy_header_parse(ingest->bytes, ingest->size, &array, error);
  if (status != EP_OK) return status;
  return ep_array_store(ingest, &array, ingest->bytes + array.values_offset, ingest->split,
                        ingest->role, error);
}

const ep_format ep_format_npy = {"npy", recognise, read_npy};
