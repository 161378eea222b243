#include "engine/data/arrays/idx_header.h"
#include "engine/data/formats/array.h"

static ep_status read_idx(ep_ingest *ingest, ep_error *error) {
  ep_array_header array;
  ep_status status = ep_idx_header_parse(ingest->bytes, ingest->size, &array, error);
  if (status != EP_OK) return status;
  if (ingest->role == EP_ROLE_TABLE && array.dimensions != 2)
    return ep_fail(error, EP_INVALID,
                   "IDX: an array of %d dimension%s is not a table with a target: upload x and y "
                   "as the parts train/x and train/y",
                   array.dimensions, array.dimensions == 1 ? "" : "s");
  return ep_array_store(ingest, &array, ingest->bytes + array.values_offset, ingest->split,
                        ingest->role, error);
}

const ep_format ep_format_idx = {"idx", ep_idx_recognise, read_idx};
