/* png_reader.c: PNG by libpng, which jumps out of itself on a fault: everything that it is asked
 * for is asked within steps_run, and what must be known after a jump lies in `reader`. */
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/pictures/codec.h"
#include "engine/data/pictures/exif.h"
#include "engine/files/excerpt.h"

typedef struct {
  const uint8_t *bytes; /* [size], lent */
  size_t size, offset;
  uint8_t *pixels; /* lent; NULL: the header alone */
  ep_picture_depth depth;
  ep_picture_header header;
  ep_pixel pixel;
  bool no_memory;
  char why[EP_EXCERPT_BYTES];
} reader;

static bool recognise(const uint8_t *bytes, size_t size) {
  return size >= 8 && png_sig_cmp(bytes, 0, 8) == 0;
}

static void fault_take(png_structp png, png_const_charp text) {
  reader *in = png_get_error_ptr(png);
  ep_excerpt(in->why, text, strlen(text));
  png_longjmp(png, 1);
}

static void warning_ignore(png_structp png, png_const_charp text) {
  (void)png, (void)text;
}

static png_voidp memory_take(png_structp png, png_alloc_size_t bytes) {
  reader *in = png_get_mem_ptr(png);
  void *memory = malloc(bytes);
  if (!memory) in->no_memory = true;
  return memory;
}

static void memory_free(png_structp png, png_voidp memory) {
  (void)png;
  free(memory);
}

static void bytes_take(png_structp png, png_bytep out, size_t count) {
  reader *in = png_get_io_ptr(png);
  if (count > in->size - in->offset) png_error(png, "the file ends early");
  memcpy(out, in->bytes + in->offset, count);
  in->offset += count;
}

/* Whatever the file has becomes grey or RGB, with alpha or without, of 8 bits or 16. Rows of an
 * interlaced picture are filled in several passes. */
static void image_read(png_structp png, png_infop info, reader *in) {
  size_t value_bytes = in->header.deep && in->depth == EP_DEPTH_16 ? 2 : 1;
  png_set_expand(png);
  if (value_bytes == 1) png_set_scale_16(png);
  if (value_bytes == 2 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(png);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  int channels = png_get_channels(png, info);
  size_t row_bytes = png_get_rowbytes(png, info);
  if (channels < 1 || channels > 4 ||
      row_bytes != (size_t)in->header.width * (size_t)channels * value_bytes)
    png_error(png, "unknown pixel format");
  in->pixel = (ep_pixel)channels;
  for (int pass = 0; pass < passes; pass++)
    for (int y = 0; y < in->header.height; y++)
      png_read_row(png, in->pixels + (size_t)y * row_bytes, NULL);
  png_read_end(png, NULL);
}

/* By the chunk eXIf, which may stand before the pixels or behind them; 1: there is none. */
static int orientation_find(const uint8_t *bytes, size_t size) {
  enum { SIGNATURE_BYTES = 8, HEAD_BYTES = 8, CHECKSUM_BYTES = 4 };
  for (size_t at = SIGNATURE_BYTES; size - at >= HEAD_BYTES + CHECKSUM_BYTES;) {
    const uint8_t *chunk = bytes + at;
    size_t count = png_get_uint_32(chunk), left = size - at - HEAD_BYTES - CHECKSUM_BYTES;
    if (count > left) break;
    if (memcmp(chunk + 4, "eXIf", 4) == 0) {
      int found = ep_exif_orientation(chunk + HEAD_BYTES, count);
      return found > 0 ? found : 1;
    }
    at += HEAD_BYTES + count + CHECKSUM_BYTES;
  }
  return 1;
}

/* False after a fault. libpng does not look at chunks of text, of colour profiles and the like. */
static bool steps_run(png_structp png, png_infop info, reader *in) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_read_fn(png, in, bytes_take);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* the caller has a limit */
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_read_info(png, info);
  in->header = (ep_picture_header){
      .height = (int)png_get_image_height(png, info),
      .width = (int)png_get_image_width(png, info),
      .orientation = orientation_find(in->bytes, in->size),
      .grey = (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0,
      .deep = png_get_bit_depth(png, info) == 16,
  };
  if (in->pixels) image_read(png, info, in);
  return true;
}

static ep_status read_png(const uint8_t *bytes, size_t size, ep_picture_depth depth,
                          ep_picture_header *header, uint8_t *pixels, ep_pixel *pixel,
                          ep_error *error) {
  reader in = {.bytes = bytes, .size = size, .pixels = pixels, .depth = depth};
  png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &in, fault_take, warning_ignore,
                                             &in, memory_take, memory_free);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  bool done = info && steps_run(png, info, &in);
  png_destroy_read_struct(&png, &info, NULL);
  if (in.no_memory || (!done && !in.why[0])) return ep_fail_memory(error);
  if (!done) return ep_fail(error, EP_INVALID, "the PNG is damaged: %s", in.why);
  *header = in.header;
  *pixel = in.pixel;
  return EP_OK;
}

const ep_codec ep_codec_png = {recognise, read_png};
