#include "engine/data/formats/gz.h"

#include <string.h>
#include <zlib.h>

#include "api/limits.h"
#include "engine/files/durable_file.h"

enum {
  CHUNK_BYTES = 1 << 16,
  INPUT_BYTES = 1 << 20,
  RATIO_FREE_BYTES = 1 << 20 /* a ratio says nothing of small things */
};

bool ep_gz_recognise(const uint8_t *bytes, size_t size) {
  return size >= 3 && bytes[0] == 0x1F && bytes[1] == 0x8B && bytes[2] == 8;
}

static ep_status chunk_write(const uint8_t *chunk, size_t count, size_t taken, int64_t *written,
                             int file, int64_t *budget_bytes, ep_error *error) {
  if ((int64_t)count > *budget_bytes)
    return ep_fail(error, EP_TOO_LARGE, "gz: unpacked, this is larger than the limit");
  *budget_bytes -= (int64_t)count;
  *written += (int64_t)count;
  if (*written > RATIO_FREE_BYTES && *written / EP_LIMIT_GZ_RATIO > (int64_t)taken)
    return ep_fail(error, EP_TOO_LARGE, "gz: unpacks to more than %d times its size",
                   EP_LIMIT_GZ_RATIO);
  return ep_file_write_all(file, chunk, count, error);
}

ep_status ep_gz_unpack(const uint8_t *bytes, size_t size, int file, int64_t *budget_bytes,
                       ep_error *error) {
  uint8_t chunk[CHUNK_BYTES];
  z_stream stream = {0};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return ep_fail_memory(error);
  ep_status status = EP_OK;
  size_t taken = 0;
  int64_t written = 0;
  int code = Z_OK;
  while (status == EP_OK && (code != Z_STREAM_END || taken < size)) {
    if (code == Z_STREAM_END) inflateReset(&stream); /* the next member */
    size_t left = size - taken;
    stream.next_in = (Bytef *)(bytes + taken);
    stream.avail_in = (uInt)(left < INPUT_BYTES ? left : INPUT_BYTES);
    uInt offered = stream.avail_in;
    stream.next_out = chunk;
    stream.avail_out = sizeof chunk;
    code = inflate(&stream, Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    size_t made = sizeof chunk - stream.avail_out;
    if (code == Z_MEM_ERROR)
      status = ep_fail_memory(error);
    else if (code == Z_BUF_ERROR)
      status = ep_fail(error, EP_INVALID, "gz: the file ends too early");
    else if (code != Z_OK && code != Z_STREAM_END)
      status = ep_fail(error, EP_INVALID, "gz: damaged after byte %zu%s%s", taken,
                       stream.msg ? ": " : "", stream.msg ? stream.msg : "");
    else
      status = chunk_write(chunk, made, taken, &written, file, budget_bytes, error);
  }
  inflateEnd(&stream);
  return status;
}
