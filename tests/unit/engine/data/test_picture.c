/* Tests of single pictures: decoding and resizing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "engine/data/pictures/exif.h"
#include "engine/data/pictures/picture.h"
#include "engine/data/pictures/resize.h"
#include "engine/files/content.h"
#include "tests/suite.h"
#include "tests/unit/engine/data/picture_files.h"

/* The value as 16 bits and 8 bits have it. */
static int value_of(const ep_picture *picture, int y, int x, int c) {
  const uint8_t *pixel = ep_picture_pixel(picture, y, x);
  return picture->depth == EP_DEPTH_8 ? pixel[c] : ((const uint16_t *)(const void *)pixel)[c];
}

/* Decodes the file and compares its pixels; frees the file. */
static void decodes_to_depth(picture_file file, int channels, ep_picture_depth depth, int height,
                             int width, const int *wanted, int tolerance) {
  ep_picture picture;
  ep_error error = {0};
  ck_assert_msg(ep_picture_decode(file.bytes, file.size, channels, depth, &picture, &error) ==
                    EP_OK,
                "%s", error.message);
  ck_assert_int_eq(picture.height, height);
  ck_assert_int_eq(picture.width, width);
  for (int i = 0; i < height * width * channels; i++) {
    int found = value_of(&picture, i / channels / width, i / channels % width, i % channels);
    ck_assert_msg(abs(found - wanted[i]) <= tolerance, "value %d: %d instead of %d", i, found,
                  wanted[i]);
  }
  ep_picture_deinit(&picture);
  free(file.bytes);
}

static void decodes_to(picture_file file, int channels, int height, int width,
                       const uint8_t *wanted, int tolerance) {
  static int values[1 << 12];
  ck_assert_int_le(height * width * channels, 1 << 12);
  for (int i = 0; i < height * width * channels; i++) values[i] = wanted[i];
  decodes_to_depth(file, channels, EP_DEPTH_8, height, width, values, tolerance);
}

START_TEST(grey_and_colour) {
  static const uint8_t grey[] = {0, 10, 128, 200, 254, 255};
  static const uint8_t spread[] = {0,   0,   0,   10,  10,  10,  128, 128, 128,
                                   200, 200, 200, 254, 254, 254, 255, 255, 255};
  static const uint8_t colours[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};
  static const uint8_t lumas[] = {76, 150, 29, 255};
  decodes_to(picture_png(grey, 2, 3, 1), 1, 2, 3, grey, 0);
  decodes_to(picture_png(grey, 2, 3, 1), 3, 2, 3, spread, 0);
  decodes_to(picture_png(spread, 2, 3, 3), 1, 2, 3, grey, 0);
  decodes_to(picture_png(colours, 2, 2, 3), 3, 2, 2, colours, 0);
  decodes_to(picture_png(colours, 2, 2, 3), 1, 2, 2, lumas, 0);
}
END_TEST

START_TEST(alpha_lies_over_white) {
  static const uint8_t rgba[] = {10, 20, 30, 0, 10, 20, 30, 255, 0, 100, 255, 128};
  static const uint8_t rgb[] = {255, 255, 255, 10, 20, 30, 127, 177, 255};
  static const uint8_t grey_alpha[] = {0, 0, 0, 255, 0, 51};
  static const uint8_t grey[] = {255, 0, 204};
  static const uint8_t spread[] = {255, 255, 255, 0, 0, 0, 204, 204, 204};
  decodes_to(picture_png(rgba, 1, 3, 4), 3, 1, 3, rgb, 0);
  decodes_to(picture_png(grey_alpha, 1, 3, 2), 1, 1, 3, grey, 0);
  decodes_to(picture_png(grey_alpha, 1, 3, 2), 3, 1, 3, spread, 0);
}
END_TEST

START_TEST(other_kinds_of_png) {
  static const uint8_t indexes[] = {0, 7, 255};
  static const uint8_t coloured[] = {0, 0, 255, 7, 0, 248, 255, 0, 0};
  uint8_t pixels[9 * 11 * 3];
  for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
  decodes_to(picture_png_palette(indexes, 1, 3), 3, 1, 3, coloured, 0);
  decodes_to(picture_png_deep(pixels, 9, 11, 3), 3, 9, 11, pixels, 0);
}
END_TEST

START_TEST(sixteen_bits_are_kept) {
  static const uint16_t grey[] = {0, 274, 300, 326, 256, 65535};
  static const uint16_t rgb[] = {274, 275, 276, 65535, 0, 1};
  static const uint16_t clear[] = {1000, 65535, 1000, 0, 65535, 1, 0, 32768};
  static const int nearest[] = {0, 1, 1, 1, 1, 255};
  static const int as_rgb[] = {274, 275, 276, 65535, 0, 1}, as_luma[] = {275, 19595};
  static const int over_white[] = {1000, 65535, 65535, 32767};
  static const uint8_t bytes[] = {0, 1, 128, 255, 7, 9};
  static const int widened[] = {0, 257, 32896, 65535, 1799, 2313};
  int wanted[6];
  for (int i = 0; i < 6; i++) wanted[i] = grey[i];
  decodes_to_depth(picture_png_16(grey, 2, 3, 1), 1, EP_DEPTH_16, 2, 3, wanted, 0);
  decodes_to_depth(picture_png_16(grey, 2, 3, 1), 1, EP_DEPTH_8, 2, 3, nearest, 0);
  decodes_to_depth(picture_png_16(rgb, 1, 2, 3), 3, EP_DEPTH_16, 1, 2, as_rgb, 0);
  decodes_to_depth(picture_png_16(rgb, 1, 2, 3), 1, EP_DEPTH_16, 1, 2, as_luma, 0);
  decodes_to_depth(picture_png_16(clear, 1, 4, 2), 1, EP_DEPTH_16, 1, 4, over_white, 0);
  decodes_to_depth(picture_png(bytes, 2, 3, 1), 1, EP_DEPTH_16, 2, 3, widened, 0);
  decodes_to_depth(picture_png(bytes, 1, 2, 3), 3, EP_DEPTH_16, 1, 2, widened, 0);
}
END_TEST

/* Of the pixels 1 2 3 above 4 5 6, as they are viewed. */
static const struct {
  int height, width, pixel[6];
} turned[] = {
    {2, 3, {1, 2, 3, 4, 5, 6}}, {2, 3, {3, 2, 1, 6, 5, 4}}, {2, 3, {6, 5, 4, 3, 2, 1}},
    {2, 3, {4, 5, 6, 1, 2, 3}}, {3, 2, {1, 4, 2, 5, 3, 6}}, {3, 2, {4, 1, 5, 2, 6, 3}},
    {3, 2, {6, 3, 5, 2, 4, 1}}, {3, 2, {3, 6, 2, 5, 1, 4}},
};

START_TEST(pictures_are_turned_as_they_are_viewed) {
  static const uint8_t stored[] = {1, 2, 3, 4, 5, 6};
  const int *pixel = turned[_i].pixel;
  uint8_t wanted[6], planes[18], coloured[18];
  ep_error error = {0};
  for (int i = 0; i < 6; i++) wanted[i] = (uint8_t)pixel[i];
  for (int place = PICTURE_EXIF_BEFORE; place <= PICTURE_EXIF_BEHIND; place++)
    decodes_to(picture_png_turned(picture_png(stored, 2, 3, 1), _i + 1, place), 1,
               turned[_i].height, turned[_i].width, wanted, 0);
  /* of three channels and another size as well */
  for (int i = 0; i < 18; i++) coloured[i] = (uint8_t)(10 * stored[i / 3] + i % 3);
  picture_file file =
      picture_png_turned(picture_png(coloured, 2, 3, 3), _i + 1, PICTURE_EXIF_BEFORE);
  ep_picture picture;
  ck_assert_int_eq(ep_picture_decode(file.bytes, file.size, 3, EP_DEPTH_8, &picture, &error),
                   EP_OK);
  ck_assert_int_eq(ep_picture_resize(&picture, turned[_i].height, turned[_i].width, planes, &error),
                   EP_OK);
  for (int i = 0; i < 18; i++) ck_assert_int_eq(planes[i], 10 * pixel[i % 6] + i / 6);
  ep_picture_deinit(&picture);
  free(file.bytes);
}
END_TEST

START_TEST(jpegs_are_turned) {
  ep_picture_header header;
  const uint8_t pixel[4] = {200, 30, 90};
  for (int orientation = 1; orientation <= 8; orientation++) {
    picture_file file =
        picture_jpeg_turned(picture_jpeg_flat(pixel, 20, 9, 3), orientation, orientation % 2 == 0);
    ck_assert_int_eq(ep_picture_header_read(file.bytes, file.size, &header, NULL), EP_OK);
    ck_assert_int_eq(header.orientation, orientation);
    ck_assert_int_eq(header.height, orientation < 5 ? 20 : 9);
    ck_assert_int_eq(header.width, orientation < 5 ? 9 : 20);
    free(file.bytes);
  }
}
END_TEST

/* EXIF that says nothing, or that lies: the picture stays as it is stored. */
START_TEST(damaged_exif_is_none) {
  static const struct {
    const char *bytes;
    size_t size;
    int orientation;
  } cases[] = {
#define EXIF(literal, orientation) {literal, sizeof literal - 1, orientation}
      EXIF("II*\0\10\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 6),
      EXIF("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\6\0\0", 6),
      EXIF("Exif\0\0MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\10\0\0", 8),
      EXIF("MM\0*\0\0\0\10\0\1\1\x12\0\4\0\0\0\1\0\0\0\3", 3),  /* a long */
      EXIF("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\11\0\0", 0), /* 9 */
      EXIF("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\0\0\0", 0),
      EXIF("MM\0*\0\0\0\10\0\1\1\x12\0\2\0\0\0\1\0\6\0\0", 0), /* ASCII */
      EXIF("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\2\0\6\0\0", 0), /* two */
      EXIF("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\6\0", 0),   /* cut */
      EXIF("MM\0*\0\0\0\10\377\377\1\x11\0\3\0\0\0\1\0\6\0\0", 0),
      EXIF("MM\0*\0\0\0\10\0\0\1\x12\0\3\0\0\0\1\0\6\0\0", 0), /* no entries */
      EXIF("MM\0*\377\377\377\377\0\1\1\x12\0\3\0\0\0\1\0\6\0\0", 0),
      EXIF("MM\0*\0\0\0\11", 0),
      EXIF("MM\0*\0\0\0\10\0", 0),
      EXIF("MM\0*\0\0\0", 0),
      EXIF("Exif\0\0", 0),
      EXIF("Exif", 0),
      EXIF("http://ns.adobe.com/xap/1.0/\0", 0),
      EXIF("", 0),
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t *exact = malloc(cases[i].size + 1);
    memcpy(exact, cases[i].bytes, cases[i].size);
    int found = ep_exif_orientation(exact, cases[i].size);
    ck_assert_msg(found == cases[i].orientation, "case %zu: %d", i, found);
    free(exact);
  }
}
END_TEST

START_TEST(other_files_are_named) {
  static const struct {
    const char *bytes;
    size_t size;
    const char *name;
  } files[] = {
#define NAMED(literal, name) {literal, sizeof literal - 1, name}
      NAMED("", "an empty file"),
      NAMED("GIF89a\1\0", "a GIF"),
      NAMED("RIFF\x10\0\0\0WEBPVP8 ", "a WebP"),
      NAMED("BM\x46\0\0\0", "a BMP"),
      NAMED("II*\0\10\0\0\0", "a TIFF"),
      NAMED("MM\0*\0\0\0\10", "a TIFF"),
      NAMED("\0\0\0\x1c"
            "ftypavif",
            "an AVIF"),
      NAMED("\0\0\0\x1c"
            "ftypheic",
            "a HEIC"),
      NAMED("<!DOCTYPE html><html>", "an HTML page"),
      NAMED("\xEF\xBB\xBF\n <HTML lang=\"en\">", "an HTML page"),
      NAMED("<?xml version=\"1.0\"?><svg/>", "XML or an SVG"),
      NAMED("version https://git-lfs.github.com/spec/v1\n",
            "a pointer of Git LFS, not the file itself"),
      NAMED("not found\n", "text"),
      NAMED("   ", "text"),
      NAMED("caf\xC3\xA9", "text"),
      NAMED("caf\xE9", "a file of unknown format"),
      NAMED("\0\0\0\0\0\0\0\0\0", "a file of unknown format"),
      NAMED("\x89PN", "a file of unknown format"),
  };
  ep_picture_header header;
  ep_error error = {0};
  char wanted[128];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    uint8_t *exact = malloc(files[i].size + 1);
    memcpy(exact, files[i].bytes, files[i].size);
    ck_assert_str_eq(ep_content_name(exact, files[i].size), files[i].name);
    snprintf(wanted, sizeof wanted, "it is %s, neither a PNG nor a JPEG", files[i].name);
    ck_assert_int_eq(ep_picture_header_read(exact, files[i].size, &header, &error), EP_INVALID);
    ck_assert_str_eq(error.message, wanted);
    free(exact);
  }
}
END_TEST

/* A picture of one colour. */
static void jpeg_is(const uint8_t pixel[4], int channels, const uint8_t wanted[3]) {
  uint8_t all[20 * 9 * 3];
  for (size_t i = 0; i < sizeof all; i++) all[i] = wanted[i % 3];
  decodes_to(picture_jpeg_flat(pixel, 20, 9, channels), 3, 20, 9, all, 2);
}

START_TEST(jpeg) {
  jpeg_is((const uint8_t[4]){77}, 1, (const uint8_t[3]){77, 77, 77});
  jpeg_is((const uint8_t[4]){200, 30, 90}, 3, (const uint8_t[3]){200, 30, 90});
  /* libjpeg writes Adobe's marker into CMYK: the light that each ink leaves */
  jpeg_is((const uint8_t[4]){255, 128, 0, 128}, 4, (const uint8_t[3]){128, 64, 0});
}
END_TEST

START_TEST(headers) {
  ep_picture_header header;
  picture_file files[] = {picture_png_flat(5, 3, 7, 1),
                          picture_png_flat(5, 3, 7, 2),
                          picture_png_flat(5, 3, 7, 3),
                          picture_png_flat(5, 3, 7, 4),
                          picture_jpeg_flat((const uint8_t[4]){5}, 3, 7, 1),
                          picture_jpeg_flat((const uint8_t[4]){5, 6, 7}, 3, 7, 3)};
  static const bool grey[] = {true, true, false, false, true, false};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    ck_assert_int_eq(ep_picture_header_read(files[i].bytes, files[i].size, &header, NULL), EP_OK);
    ck_assert(header.height == 3 && header.width == 7 && header.grey == grey[i]);
    free(files[i].bytes);
  }
}
END_TEST

/* Every cut and every flipped byte is refused or decoded; a cut never decodes. */
static void damage(picture_file file) {
  ep_picture picture;
  ep_error error;
  for (size_t cut = 0; cut + 2 < file.size; cut++) {
    ep_status status = ep_picture_decode(file.bytes, cut, 3, EP_DEPTH_16, &picture, &error);
    ck_assert_msg(status == EP_INVALID, "cut to %zu of %zu", cut, file.size);
    ck_assert_str_ne(error.message, "");
  }
  for (size_t i = 0; i < file.size; i++) {
    file.bytes[i] ^= 0x5A;
    ep_status status = ep_picture_decode(file.bytes, file.size, 3, EP_DEPTH_16, &picture, &error);
    ck_assert(status == EP_OK || status == EP_INVALID);
    if (status == EP_OK) ep_picture_deinit(&picture);
    file.bytes[i] ^= 0x5A;
  }
  free(file.bytes);
}

START_TEST(damaged_pictures_are_refused) {
  damage(picture_png_flat(9, 12, 12, 3));
  damage(picture_jpeg_flat((const uint8_t[4]){200, 30, 90}, 24, 24, 3));
}
END_TEST

static const struct {
  uint32_t height, width;
  bool fits;
} claims[] = {
    {1, EP_LIMIT_PICTURE_SIDE, true},
    {1, EP_LIMIT_PICTURE_SIDE + 1, false},
    {EP_LIMIT_PICTURE_SIDE, 1, true},
    {EP_LIMIT_PICTURE_SIDE + 1, 1, false},
    {8192, 4096, true},
    {8192, 4097, false},
    {0x7FFFFFFF, 0x7FFFFFFF, false},
};

START_TEST(bombs_are_refused_by_their_headers) {
  ep_picture_header header;
  ep_error error = {0};
  picture_file file = picture_png_claim(claims[_i].height, claims[_i].width);
  ep_status status = ep_picture_header_read(file.bytes, file.size, &header, &error);
  ck_assert_msg(status == (claims[_i].fits ? EP_OK : EP_INVALID), "%s", error.message);
  if (!claims[_i].fits) ck_assert_ptr_nonnull(strstr(error.message, "the limit is 33554432"));
  free(file.bytes);
}
END_TEST

START_TEST(scans_are_limited) {
  ep_picture picture;
  ep_error error;
  uint8_t wanted[64];
  memset(wanted, 99, sizeof wanted);
  decodes_to(picture_jpeg_scans(EP_LIMIT_PICTURE_SCANS), 1, 8, 8, wanted, 1);
  picture_file file = picture_jpeg_scans(EP_LIMIT_PICTURE_SCANS + 1);
  ck_assert_int_eq(ep_picture_decode(file.bytes, file.size, 1, EP_DEPTH_8, &picture, &error),
                   EP_INVALID);
  ck_assert_str_eq(error.message, "the JPEG is damaged: too many scans");
  free(file.bytes);
}
END_TEST

typedef struct {
  int height, width, channels;
} extent;

/* Pixels that lie as they are viewed. */
static ep_picture picture_of(const uint8_t *pixels, extent from) {
  return (ep_picture){.height = from.height,
                      .width = from.width,
                      .channels = from.channels,
                      .depth = EP_DEPTH_8,
                      .first = pixels,
                      .down = from.width * from.channels,
                      .right = from.channels};
}

/* In 16 bits alike, with 257 times the values. */
static void resizes_deep(const uint8_t *pixels, extent from, extent to, const uint8_t *wanted) {
  static uint16_t deep[256], out[256];
  ep_picture picture = picture_of((const uint8_t *)deep, from);
  for (int i = 0; i < from.height * from.width * from.channels; i++) deep[i] = pixels[i] * 257;
  picture.depth = EP_DEPTH_16;
  picture.down *= 2;
  picture.right *= 2;
  ck_assert_int_eq(ep_picture_resize(&picture, to.height, to.width, out, NULL), EP_OK);
  for (int i = 0; i < to.height * to.width * to.channels; i++)
    ck_assert_int_le(abs(out[i] - wanted[i] * 257), 128);
}

static void resizes_to(const uint8_t *pixels, extent from, extent to, const uint8_t *wanted) {
  uint8_t out[256];
  int count = to.height * to.width * to.channels;
  ep_picture picture = picture_of(pixels, from);
  memset(out, 0xA5, sizeof out);
  ck_assert_int_eq(ep_picture_resize(&picture, to.height, to.width, out, NULL), EP_OK);
  for (int i = 0; i < count; i++)
    ck_assert_msg(out[i] == wanted[i], "value %d: %d instead of %d", i, out[i], wanted[i]);
  for (size_t i = (size_t)count; i < sizeof out; i++) ck_assert_uint_eq(out[i], 0xA5);
  resizes_deep(pixels, from, to, wanted);
}

START_TEST(channels_become_planes) {
  static const uint8_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  static const uint8_t planes[] = {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12};
  resizes_to(pixels, (extent){2, 2, 3}, (extent){2, 2, 3}, planes);
}
END_TEST

START_TEST(shrinking_is_the_average_of_the_area) {
  static const uint8_t gradient[] = {0,  10, 20,  30,  40,  50,  60,  70,
                                     80, 90, 100, 110, 120, 130, 140, 150};
  static const uint8_t halves[] = {25, 45, 105, 125}, one[] = {75};
  static const uint8_t line[] = {0, 90, 240};
  static const uint8_t two[] = {30, 190}; /* (0 + 90 / 2) / 1.5, (90 / 2 + 240) / 1.5 */
  resizes_to(gradient, (extent){4, 4, 1}, (extent){2, 2, 1}, halves);
  resizes_to(gradient, (extent){4, 4, 1}, (extent){1, 1, 1}, one);
  resizes_to(line, (extent){1, 3, 1}, (extent){1, 2, 1}, two);
  resizes_to(line, (extent){3, 1, 1}, (extent){2, 1, 1}, two);
}
END_TEST

START_TEST(enlarging_is_bilinear) {
  static const uint8_t pair[] = {0, 100};
  static const uint8_t four[] = {0, 25, 75, 100}, three[] = {0, 50, 100};
  static const uint8_t constant[] = {9, 9, 9, 9, 9};
  resizes_to(pair, (extent){1, 2, 1}, (extent){1, 4, 1}, four);
  resizes_to(pair, (extent){2, 1, 1}, (extent){4, 1, 1}, four);
  resizes_to(pair, (extent){1, 2, 1}, (extent){1, 3, 1}, three);
  resizes_to(constant, (extent){1, 1, 1}, (extent){1, 5, 1}, constant);
}
END_TEST

START_TEST(one_axis_may_grow_while_the_other_shrinks) {
  static const uint8_t pixels[] = {0, 200, 100, 0, 40, 20, 0, 80}; /* [4, 1, 2] */
  static const uint8_t planes[] = {50, 50, 50, 20, 20, 20, 100, 100, 100, 50, 50, 50};
  resizes_to(pixels, (extent){4, 1, 2}, (extent){2, 3, 2}, planes);
}
END_TEST

START_TEST(white_stays_white_at_odd_sizes) {
  static const int sides[] = {1, 2, 3, 7, 31, 32, 33, 97};
  enum { SIDES = sizeof sides / sizeof *sides };
  uint8_t *white = malloc(97 * 97), *out = malloc(97 * 97);
  memset(white, 255, 97 * 97);
  for (int i = 0; i < SIDES * SIDES; i++) {
    int from = sides[i / SIDES], to = sides[i % SIDES];
    memset(out, 0, 97 * 97);
    ep_picture picture = picture_of(white, (extent){from, to, 1});
    ck_assert_int_eq(ep_picture_resize(&picture, to, from, out, NULL), EP_OK);
    for (int k = 0; k < from * to; k++) ck_assert_uint_eq(out[k], 255);
  }
  free(white);
  free(out);
}
END_TEST

EP_SUITE("engine/data/pictures") {
  TCase *files = ep_suite_case(suite, "files");
  tcase_add_test(files, grey_and_colour);
  tcase_add_test(files, alpha_lies_over_white);
  tcase_add_test(files, other_kinds_of_png);
  tcase_add_test(files, sixteen_bits_are_kept);
  tcase_add_loop_test(files, pictures_are_turned_as_they_are_viewed, 0, 8);
  tcase_add_test(files, jpegs_are_turned);
  tcase_add_test(files, damaged_exif_is_none);
  tcase_add_test(files, other_files_are_named);
  tcase_add_test(files, jpeg);
  tcase_add_test(files, headers);
  tcase_add_test(files, damaged_pictures_are_refused);
  tcase_add_loop_test(files, bombs_are_refused_by_their_headers, 0, sizeof claims / sizeof *claims);
  tcase_add_test(files, scans_are_limited);
  TCase *sizes = ep_suite_case(suite, "sizes");
  tcase_add_test(sizes, channels_become_planes);
  tcase_add_test(sizes, shrinking_is_the_average_of_the_area);
  tcase_add_test(sizes, enlarging_is_bilinear);
  tcase_add_test(sizes, one_axis_may_grow_while_the_other_shrinks);
  tcase_add_test(sizes, white_stays_white_at_odd_sizes);
}
