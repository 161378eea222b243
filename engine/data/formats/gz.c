#include "engine/data/formats/gz.h"

#include "api/limits.h"
#include "engine/files/durable_file.h"
#include "engine/files/gunzip.h"

enum { RATIO_FREE_BYTES = 1 << 20 /* a ratio says nothing of small things */ };

bool ep_gz_recognise(const uint8_t *bytes, size_t size) {
  return size >= 3 && bytes[0] == 0x1F && bytes[1] == 0x8B && bytes[2] == 8;
}

typedef struct {
  const ep_gunzip *gunzip;
  int file;
  int64_t written, *budget_bytes;
} gz_output;

static ep_status piece_write(void *context, const void *piece, size_t count, ep_error *error) {
  gz_output *output = context;
  if ((int64_t)count > *output->budget_bytes)
    return ep_fail(error, EP_TOO_LARGE, "gzip: the uncompressed data exceeds the limit");
  *output->budget_bytes -= (int64_t)count;
  output->written += (int64_t)count;
  if (output->written > RATIO_FREE_BYTES &&
      output->written / EP_LIMIT_GZ_RATIO > ep_gunzip_packed_bytes(output->gunzip))
    return ep_fail(error, EP_TOO_LARGE, "gzip: expands to more than %d times its size",
                   EP_LIMIT_GZ_RATIO);
  return ep_file_write_all(output->file, piece, count, error);
}

ep_status ep_gz_unpack(const uint8_t *bytes, size_t size, int file, int64_t *budget_bytes,
                       ep_error *error) {
  ep_gunzip *gunzip;
  ep_status status = ep_gunzip_create(&gunzip, error);
  if (status != EP_OK) return status;
  gz_output output = {.gunzip = gunzip, .file = file, .budget_bytes = budget_bytes};
  status = ep_gunzip_add(gunzip, bytes, size, piece_write, &output, error);
  if (status == EP_OK) status = ep_gunzip_finish(gunzip, error);
  ep_gunzip_destroy(gunzip);
  return status;
}
