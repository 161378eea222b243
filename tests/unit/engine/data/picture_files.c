#include "tests/unit/engine/data/picture_files.h"

#include <check.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include <jpeglib.h>

static void bytes_append(picture_file *out, const void *bytes, size_t count) {
  out->bytes = realloc(out->bytes, out->size + count);
  ck_assert_ptr_nonnull(out->bytes);
  memcpy(out->bytes + out->size, bytes, count);
  out->size += count;
}

static void png_append(png_structp png, png_bytep bytes, size_t count) {
  bytes_append(png_get_io_ptr(png), bytes, count);
}

static void png_flush_none(png_structp png) {
  (void)png;
}

static picture_file png_write(const uint8_t *pixels, int height, int width, int type, int depth,
                              size_t row_bytes) {
  picture_file out = {0};
  png_color palette[256];
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  ck_assert_ptr_nonnull(info);
  png_set_write_fn(png, &out, png_append, png_flush_none);
  png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, depth, type,
               depth == 16 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  for (int i = 0; i < 256; i++) palette[i] = (png_color){(png_byte)i, 0, (png_byte)(255 - i)};
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 256);
  png_write_info(png, info);
  int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; pass++)
    for (int y = 0; y < height; y++) png_write_row(png, pixels + (size_t)y * row_bytes);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

static int png_type(int channels) {
  static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
  return types[channels];
}

picture_file picture_png(const uint8_t *pixels, int height, int width, int channels) {
  return png_write(pixels, height, width, png_type(channels), 8, (size_t)(width * channels));
}

picture_file picture_png_flat(uint8_t value, int height, int width, int channels) {
  size_t count = (size_t)(height * width * channels);
  uint8_t *pixels = malloc(count);
  memset(pixels, value, count);
  picture_file out = picture_png(pixels, height, width, channels);
  free(pixels);
  return out;
}

picture_file picture_png_deep(const uint8_t *pixels, int height, int width, int channels) {
  size_t count = (size_t)(height * width * channels);
  uint8_t *doubled = malloc(2 * count);
  for (size_t i = 0; i < 2 * count; i++) doubled[i] = pixels[i / 2];
  picture_file out =
      png_write(doubled, height, width, png_type(channels), 16, (size_t)(2 * width * channels));
  free(doubled);
  return out;
}

picture_file picture_png_16(const uint16_t *pixels, int height, int width, int channels) {
  size_t count = (size_t)(height * width * channels);
  uint8_t *bytes = malloc(2 * count);
  for (size_t i = 0; i < 2 * count; i++) bytes[i] = (uint8_t)(pixels[i / 2] >> (i % 2 ? 0 : 8));
  picture_file out =
      png_write(bytes, height, width, png_type(channels), 16, (size_t)(2 * width * channels));
  free(bytes);
  return out;
}

picture_file picture_png_palette(const uint8_t *pixels, int height, int width) {
  return png_write(pixels, height, width, PNG_COLOR_TYPE_PALETTE, 8, (size_t)width);
}

/* scan: [scans], or none. */
static picture_file jpeg_write(const uint8_t pixel[4], int height, int width, int channels,
                               const jpeg_scan_info *scan, int scans) {
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  unsigned char *made = NULL;
  unsigned long size = 0;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &made, &size);
  jpeg.image_height = (JDIMENSION)height;
  jpeg.image_width = (JDIMENSION)width;
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg.scan_info = scan;
  jpeg.num_scans = scans;
  jpeg_start_compress(&jpeg, TRUE);
  uint8_t *row = malloc((size_t)(width * channels));
  for (int i = 0; i < width * channels; i++) row[i] = pixel[i % channels];
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW rows = row;
    jpeg_write_scanlines(&jpeg, &rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  free(row);
  return (picture_file){made, size};
}

picture_file picture_jpeg_flat(const uint8_t pixel[4], int height, int width, int channels) {
  return jpeg_write(pixel, height, width, channels, NULL, 0);
}

/* The mean, then each coefficient without its last bit, then each one's last bit. */
picture_file picture_jpeg_scans(int scans) {
  jpeg_scan_info scan[127] = {{.comps_in_scan = 1}};
  ck_assert(scans >= 2 && scans <= 127);
  for (int i = 1; i < scans; i++) {
    int k = (i - 1) % 63 + 1, last = i > 63;
    scan[i] = (jpeg_scan_info){.comps_in_scan = 1, .Ss = k, .Se = k, .Ah = last, .Al = 1 - last};
  }
  return jpeg_write((const uint8_t[4]){99}, 8, 8, 1, scan, scans);
}

static void chunk_append(picture_file *out, const char *kind, const uint8_t *data, size_t count) {
  uint8_t length[4] = {0, 0, 0, (uint8_t)count}, sum[4], chunk[64];
  memcpy(chunk, kind, 4);
  memcpy(chunk + 4, data, count);
  uint32_t crc = 0xFFFFFFFF; /* PNG, annex D */
  for (size_t i = 0; i < 4 + count; i++) {
    crc ^= chunk[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  for (int i = 0; i < 4; i++) sum[i] = (uint8_t)(~crc >> (24 - 8 * i));
  bytes_append(out, length, 4);
  bytes_append(out, chunk, 4 + count);
  bytes_append(out, sum, 4);
}

enum { TIFF_BYTES = 38 };

/* Two entries, the second of which is the orientation. */
static void tiff_write(uint8_t tiff[TIFF_BYTES], int orientation, int big_endian) {
  static const uint16_t big[] = {0x4D4D, 42,     0, 8, 2, 0x010F, 3, 0, 1, 7,
                                 0,      0x0112, 3, 0, 1, 0,      0, 0, 0};
  for (size_t i = 0; i < TIFF_BYTES / 2; i++) {
    /* numbers of four bytes stand with their upper half first in a big-endian file alone */
    static const uint8_t half[] = {0,  1,  3,  2,  4,  5,  6,  8,  7, 9,
                                   10, 11, 12, 14, 13, 15, 16, 18, 17};
    uint16_t value = i == 15 ? (uint16_t)orientation : big[big_endian ? i : half[i]];
    if (!big_endian && i == 0) value = 0x4949;
    tiff[2 * i] = (uint8_t)(big_endian ? value >> 8 : value);
    tiff[2 * i + 1] = (uint8_t)(big_endian ? value : value >> 8);
  }
}

picture_file picture_png_turned(picture_file png, int orientation, int place) {
  enum { HEAD_BYTES = 33, END_BYTES = 12 };
  uint8_t tiff[TIFF_BYTES];
  picture_file out = {0};
  size_t before = place == PICTURE_EXIF_BEFORE ? HEAD_BYTES : png.size - END_BYTES;
  tiff_write(tiff, orientation, place);
  bytes_append(&out, png.bytes, before);
  chunk_append(&out, "eXIf", tiff, sizeof tiff);
  bytes_append(&out, png.bytes + before, png.size - before);
  free(png.bytes);
  return out;
}

picture_file picture_jpeg_turned(picture_file jpeg, int orientation, int big_endian) {
  static const char xmp[] = "\xFF\xE1\0\x1fhttp://ns.adobe.com/xap/1.0/";
  uint8_t tiff[TIFF_BYTES];
  picture_file out = {0};
  tiff_write(tiff, orientation, big_endian);
  bytes_append(&out, jpeg.bytes, 2);
  bytes_append(&out, xmp, sizeof xmp);
  bytes_append(&out, (const uint8_t[]){0xFF, 0xE1, 0, 2 + 6 + TIFF_BYTES}, 4);
  bytes_append(&out, "Exif\0", 6);
  bytes_append(&out, tiff, sizeof tiff);
  bytes_append(&out, jpeg.bytes + 2, jpeg.size - 2);
  free(jpeg.bytes);
  return out;
}

picture_file picture_png_claim(uint32_t height, uint32_t width) {
  picture_file out = {0};
  uint8_t header[13] = {[8] = 8, [9] = 2};
  for (int i = 0; i < 4; i++) {
    header[i] = (uint8_t)(width >> (24 - 8 * i));
    header[4 + i] = (uint8_t)(height >> (24 - 8 * i));
  }
  bytes_append(&out, "\x89PNG\r\n\x1a\n", 8);
  chunk_append(&out, "IHDR", header, sizeof header);
  chunk_append(&out, "IDAT", header, 0);
  chunk_append(&out, "IEND", header, 0);
  return out;
}

static void item_add(zip_t *archive, const picture_item *item, int how) {
  size_t length = strlen(item->name);
  if (item->name[length - 1] == '/') {
    ck_assert_int_ge(zip_dir_add(archive, item->name, 0), 0);
    return;
  }
  zip_source_t *source = zip_source_buffer(archive, item->file.bytes, item->file.size, 0);
  zip_int64_t index = zip_file_add(archive, item->name, source, 0);
  ck_assert_int_ge(index, 0);
  zip_set_file_compression(archive, (zip_uint64_t)index,
                           how == PICTURES_STORED ? ZIP_CM_STORE : ZIP_CM_DEFLATE, 0);
  if (how == PICTURES_DOS)
    ck_assert_int_eq(
        zip_file_set_external_attributes(archive, (zip_uint64_t)index, 0, ZIP_OPSYS_DOS, 0), 0);
  if (how == PICTURES_ENCRYPTED)
    ck_assert_int_eq(
        zip_file_set_encryption(archive, (zip_uint64_t)index, ZIP_EM_TRAD_PKWARE, "secret"), 0);
}

picture_file picture_zip(const picture_item *items, int how) {
  zip_error_t fault;
  zip_error_init(&fault);
  zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &fault);
  zip_source_keep(source);
  zip_t *archive = zip_open_from_source(source, ZIP_TRUNCATE, &fault);
  ck_assert_ptr_nonnull(archive);
  for (; items->name; items++) item_add(archive, items, how);
  ck_assert_int_eq(zip_close(archive), 0);
  zip_stat_t stat;
  ck_assert_int_eq(zip_source_stat(source, &stat), 0);
  picture_file out = {.bytes = malloc(stat.size), .size = stat.size};
  ck_assert_int_eq(zip_source_open(source), 0);
  ck_assert_int_eq(zip_source_read(source, out.bytes, stat.size), (zip_int64_t)stat.size);
  zip_source_close(source);
  zip_source_free(source);
  return out;
}
