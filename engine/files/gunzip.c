#include "engine/files/gunzip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

enum {
  PIECE_BYTES = 32 << 10,
  INPUT_BYTES = 1 << 30, /* at a time: zlib counts in 32 bits */
  GZIP_WINDOW = 15 + 16  /* the largest window, and gzip alone */
};

struct ep_gunzip {
  z_stream stream;
  bool within; /* a member, which is not whole yet */
  int64_t packed_bytes;
  unsigned char piece[PIECE_BYTES];
};

ep_status ep_gunzip_create(ep_gunzip **out, ep_error *error) {
  *out = calloc(1, sizeof **out);
  if (!*out) return ep_fail_memory(error);
  if (inflateInit2(&(*out)->stream, GZIP_WINDOW) == Z_OK) {
    (*out)->within = true;
    return EP_OK;
  }
  free(*out);
  *out = NULL;
  return ep_fail_memory(error);
}

void ep_gunzip_destroy(ep_gunzip *gunzip) {
  if (!gunzip) return;
  inflateEnd(&gunzip->stream);
  free(gunzip);
}

/* One piece of output, or as much input as gives less than one. */
static ep_status piece_unpack(ep_gunzip *gunzip, ep_gunzip_take *take, void *context,
                              ep_error *error) {
  z_stream *stream = &gunzip->stream;
  if (!gunzip->within) inflateReset(stream); /* the next member */
  uInt before = stream->avail_in;
  stream->next_out = gunzip->piece;
  stream->avail_out = PIECE_BYTES;
  int code = inflate(stream, Z_NO_FLUSH);
  gunzip->packed_bytes += before - stream->avail_in;
  gunzip->within = code != Z_STREAM_END;
  if (code == Z_MEM_ERROR) return ep_fail_memory(error);
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
    return ep_fail(error, EP_INVALID, "gzip: damaged after byte %lld%s%s",
                   (long long)gunzip->packed_bytes, stream->msg ? ": " : "",
                   stream->msg ? stream->msg : "");
  size_t made = PIECE_BYTES - stream->avail_out;
  return made > 0 ? take(context, gunzip->piece, made, error) : EP_OK;
}

ep_status ep_gunzip_add(ep_gunzip *gunzip, const void *bytes, size_t count, ep_gunzip_take *take,
                        void *context, ep_error *error) {
  z_stream *stream = &gunzip->stream;
  ep_status status = EP_OK;
  stream->next_in = (Bytef *)(uintptr_t)bytes; /* zlib only reads it */
  while (count > 0 && status == EP_OK) {
    stream->avail_in = (uInt)(count < INPUT_BYTES ? count : INPUT_BYTES);
    count -= stream->avail_in;
    do status = piece_unpack(gunzip, take, context, error);
    while (status == EP_OK && (stream->avail_in > 0 || (gunzip->within && stream->avail_out == 0)));
  }
  return status;
}

ep_status ep_gunzip_finish(const ep_gunzip *gunzip, ep_error *error) {
  if (!gunzip->within) return EP_OK;
  return ep_fail(error, EP_INVALID, "gzip: unexpected end after byte %lld",
                 (long long)gunzip->packed_bytes);
}

int64_t ep_gunzip_packed_bytes(const ep_gunzip *gunzip) {
  return gunzip->packed_bytes;
}
