/* Tests of single pictures: decoding and resizing. */
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "engine/data/pictures/picture.h"
#include "engine/data/pictures/resize.h"
#include "tests/suite.h"
#include "tests/unit/engine/data/picture_files.h"

/* Decodes the file and compares its pixels; frees the file. */
static void decodes_to(picture_file file, int channels, int height, int width,
                       const uint8_t *wanted, int tolerance) {
  ep_picture_header header;
  ep_error error = {0};
  uint8_t *pixels = NULL;
  ck_assert_msg(ep_picture_decode(file.bytes, file.size, channels, &header, &pixels, &error) ==
                    EP_OK,
                "%s", error.message);
  ck_assert_int_eq(header.height, height);
  ck_assert_int_eq(header.width, width);
  for (int i = 0; i < height * width * channels; i++)
    ck_assert_msg(abs(pixels[i] - wanted[i]) <= tolerance, "byte %d: %d instead of %d", i,
                  pixels[i], wanted[i]);
  free(pixels);
  free(file.bytes);
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
  ep_picture_header header;
  ep_error error;
  uint8_t *pixels;
  for (size_t cut = 0; cut + 2 < file.size; cut++) {
    ep_status status = ep_picture_decode(file.bytes, cut, 3, &header, &pixels, &error);
    ck_assert_msg(status == EP_INVALID, "cut to %zu of %zu", cut, file.size);
    ck_assert_str_ne(error.message, "");
  }
  for (size_t i = 0; i < file.size; i++) {
    file.bytes[i] ^= 0x5A;
    pixels = NULL;
    ep_status status = ep_picture_decode(file.bytes, file.size, 3, &header, &pixels, &error);
    ck_assert(status == EP_OK || status == EP_INVALID);
    free(pixels);
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
  if (!claims[_i].fits) ck_assert_ptr_nonnull(strstr(error.message, "at most 33554432"));
  free(file.bytes);
}
END_TEST

START_TEST(scans_are_limited) {
  ep_picture_header header;
  ep_error error;
  uint8_t *pixels, wanted[64];
  memset(wanted, 99, sizeof wanted);
  decodes_to(picture_jpeg_scans(EP_LIMIT_PICTURE_SCANS), 1, 8, 8, wanted, 1);
  picture_file file = picture_jpeg_scans(EP_LIMIT_PICTURE_SCANS + 1);
  ck_assert_int_eq(ep_picture_decode(file.bytes, file.size, 1, &header, &pixels, &error),
                   EP_INVALID);
  ck_assert_str_eq(error.message, "the JPEG is damaged: it has too many scans");
  free(file.bytes);
}
END_TEST

static void resizes_to(const uint8_t *pixels, ep_picture_size from, ep_picture_size to,
                       const uint8_t *wanted) {
  uint8_t out[256];
  int count = to.height * to.width * to.channels;
  memset(out, 0xA5, sizeof out);
  ck_assert_int_eq(ep_picture_resize(pixels, from, to, out, NULL), EP_OK);
  for (int i = 0; i < count; i++)
    ck_assert_msg(out[i] == wanted[i], "value %d: %d instead of %d", i, out[i], wanted[i]);
  for (size_t i = (size_t)count; i < sizeof out; i++) ck_assert_uint_eq(out[i], 0xA5);
}

START_TEST(channels_become_planes) {
  static const uint8_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  static const uint8_t planes[] = {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12};
  resizes_to(pixels, (ep_picture_size){2, 2, 3}, (ep_picture_size){2, 2, 3}, planes);
}
END_TEST

START_TEST(shrinking_is_the_average_of_the_area) {
  static const uint8_t gradient[] = {0,  10, 20,  30,  40,  50,  60,  70,
                                     80, 90, 100, 110, 120, 130, 140, 150};
  static const uint8_t halves[] = {25, 45, 105, 125}, one[] = {75};
  static const uint8_t line[] = {0, 90, 240};
  static const uint8_t two[] = {30, 190}; /* (0 + 90 / 2) / 1.5, (90 / 2 + 240) / 1.5 */
  resizes_to(gradient, (ep_picture_size){4, 4, 1}, (ep_picture_size){2, 2, 1}, halves);
  resizes_to(gradient, (ep_picture_size){4, 4, 1}, (ep_picture_size){1, 1, 1}, one);
  resizes_to(line, (ep_picture_size){1, 3, 1}, (ep_picture_size){1, 2, 1}, two);
  resizes_to(line, (ep_picture_size){3, 1, 1}, (ep_picture_size){2, 1, 1}, two);
}
END_TEST

START_TEST(enlarging_is_bilinear) {
  static const uint8_t pair[] = {0, 100};
  static const uint8_t four[] = {0, 25, 75, 100}, three[] = {0, 50, 100};
  static const uint8_t constant[] = {9, 9, 9, 9, 9};
  resizes_to(pair, (ep_picture_size){1, 2, 1}, (ep_picture_size){1, 4, 1}, four);
  resizes_to(pair, (ep_picture_size){2, 1, 1}, (ep_picture_size){4, 1, 1}, four);
  resizes_to(pair, (ep_picture_size){1, 2, 1}, (ep_picture_size){1, 3, 1}, three);
  resizes_to(constant, (ep_picture_size){1, 1, 1}, (ep_picture_size){1, 5, 1}, constant);
}
END_TEST

START_TEST(one_axis_may_grow_while_the_other_shrinks) {
  static const uint8_t pixels[] = {0, 200, 100, 0, 40, 20, 0, 80}; /* [4, 1, 2] */
  static const uint8_t planes[] = {50, 50, 50, 20, 20, 20, 100, 100, 100, 50, 50, 50};
  resizes_to(pixels, (ep_picture_size){4, 1, 2}, (ep_picture_size){2, 3, 2}, planes);
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
    ck_assert_int_eq(ep_picture_resize(white, (ep_picture_size){from, to, 1},
                                       (ep_picture_size){to, from, 1}, out, NULL),
                     EP_OK);
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
