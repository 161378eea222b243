/* jpeg_reader.c: JPEG by libjpeg. Its faults jump: everything that it is asked for is asked within
 * steps_run, and what must be known after a jump lies in `reader`. */
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "api/limits.h"
#include "engine/data/pictures/codec.h"
#include "engine/data/pictures/exif.h"
#include "engine/files/excerpt.h"

typedef struct {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf fault;
  const uint8_t *bytes; /* [size], lent */
  size_t size;
  uint8_t *pixels; /* lent; NULL: the header alone */
  ep_picture_header header;
  ep_pixel pixel;
  bool no_memory;
  char why[EP_EXCERPT_BYTES];
} reader;

static bool recognise(const uint8_t *bytes, size_t size) {
  return size >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0;
}

static void fault_take(j_common_ptr jpeg) {
  reader *in = jpeg->client_data;
  char text[JMSG_LENGTH_MAX];
  in->no_memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
  jpeg->err->format_message(jpeg, text);
  ep_excerpt(in->why, text, strlen(text));
  longjmp(in->fault, 1);
}

static void why_take(reader *in, const char *why) {
  ep_excerpt(in->why, why, strlen(why));
  longjmp(in->fault, 1);
}

/* libjpeg fills what is damaged or missing with grey, and warns: that is a fault here. The other
 * warnings are of files that every viewer shows. */
static void message_take(j_common_ptr jpeg, int level) {
  int code = jpeg->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM &&
      code != JWRN_JFIF_MAJOR)
    fault_take(jpeg);
}

/* A small file can ask for a pass over all pixels thousands of times. */
static void scans_limit(j_common_ptr jpeg) {
  reader *in = jpeg->client_data;
  if (in->jpeg.input_scan_number > EP_LIMIT_PICTURE_SCANS) why_take(in, "too many scans");
}

/* Of the first segment that says it; others of APP1 are XMP. 1: none does. */
static int orientation_find(jpeg_saved_marker_ptr marker) {
  for (; marker; marker = marker->next) {
    int found = ep_exif_orientation(marker->data, marker->data_length);
    if (found > 0) return found;
  }
  return 1;
}

static void header_read(reader *in) {
  enum { SEGMENT_BYTES = 65533 };
  jpeg_mem_src(&in->jpeg, in->bytes, in->size);
  jpeg_save_markers(&in->jpeg, JPEG_APP0 + 1, SEGMENT_BYTES);
  jpeg_read_header(&in->jpeg, TRUE);
  in->header = (ep_picture_header){.height = (int)in->jpeg.image_height,
                                   .width = (int)in->jpeg.image_width,
                                   .orientation = orientation_find(in->jpeg.marker_list),
                                   .grey = in->jpeg.jpeg_color_space == JCS_GRAYSCALE};
}

static void colours_set(reader *in) {
  switch (in->jpeg.jpeg_color_space) {
  case JCS_GRAYSCALE:
    in->jpeg.out_color_space = JCS_GRAYSCALE;
    in->pixel = EP_PIXEL_GREY;
    break;
  case JCS_RGB:
  case JCS_YCbCr:
    in->jpeg.out_color_space = JCS_RGB;
    in->pixel = EP_PIXEL_RGB;
    break;
  case JCS_CMYK:
  case JCS_YCCK:
    in->jpeg.out_color_space = JCS_CMYK;
    in->pixel = EP_PIXEL_CMYK;
    break;
  default: why_take(in, "unknown colour space");
  }
}

static void image_read(reader *in) {
  colours_set(in);
  jpeg_start_decompress(&in->jpeg);
  size_t row_bytes = in->jpeg.output_width * (size_t)in->jpeg.output_components;
  while (in->jpeg.output_scanline < in->jpeg.output_height) {
    JSAMPROW row = in->pixels + in->jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&in->jpeg, &row, 1);
  }
  jpeg_finish_decompress(&in->jpeg);
  /* Adobe's programs store the light that an ink leaves, others how much of it there is. */
  if (in->pixel == EP_PIXEL_CMYK && !in->jpeg.saw_Adobe_marker)
    for (size_t i = 0; i < row_bytes * in->jpeg.output_height; i++)
      in->pixels[i] = (uint8_t)(255 - in->pixels[i]);
}

/* False after a fault. */
static bool steps_run(reader *in) {
  if (setjmp(in->fault)) return false;
  jpeg_create_decompress(&in->jpeg);
  in->jpeg.progress = &in->progress;
  header_read(in);
  if (in->pixels) image_read(in);
  return true;
}

static ep_status read_jpeg(const uint8_t *bytes, size_t size, ep_picture_depth depth,
                           ep_picture_header *header, uint8_t *pixels, ep_pixel *pixel,
                           ep_error *error) {
  (void)depth; /* it has 8 bits */
  reader in = {.bytes = bytes, .size = size, .pixels = pixels};
  in.jpeg.err = jpeg_std_error(&in.errors);
  in.jpeg.client_data = &in;
  in.errors.error_exit = fault_take;
  in.errors.emit_message = message_take;
  in.progress.progress_monitor = scans_limit;
  bool done = steps_run(&in);
  jpeg_destroy_decompress(&in.jpeg);
  if (in.no_memory) return ep_fail_memory(error);
  if (!done) return ep_fail(error, EP_INVALID, "the JPEG is damaged: %s", in.why);
  *header = in.header;
  *pixel = in.pixel;
  return EP_OK;
}

const ep_codec ep_codec_jpeg = {recognise, read_jpeg};
