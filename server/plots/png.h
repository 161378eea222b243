/* png.h: pictures as PNG files, still or moving. A moving one is an APNG (PNG third edition, 2025,
 * sections 11.3.5 and 12.1): browsers play it, and what knows PNG alone shows the still picture. */
#ifndef EP_SERVER_PLOTS_PNG_H
#define EP_SERVER_PLOTS_PNG_H

#include "api/json/writer.h"
#include "api/status.h"

enum { EP_PNG_COLOURS = 256 };

/* A file in the making. */
typedef struct {
  ep_writer bytes;
  uint32_t width, height;
  int channels;     /* 1: numbers of colours; 3: red, green, blue; 4: and opacity */
  uint32_t written; /* numbered chunks of a moving picture */
  bool moves;       /* what follows the still picture are frames */
} ep_png;

/* colours: [EP_PNG_COLOURS], of 1 channel, else NULL. frames: how many are added behind the still
 * picture; 0: none. */
void ep_png_begin(ep_png *png, int width, int height, int channels,
                  const unsigned char (*colours)[3], int frames);
/* The still picture, then each frame, shown for so long. pixels: [height, width, channels]. */
ep_status ep_png_add(ep_png *png, const unsigned char *pixels, int milliseconds, ep_error *error);
/* *out: [*bytes], the caller's (free); nothing is left of the png. */
ep_status ep_png_end(ep_png *png, void **out, size_t *bytes, ep_error *error);
/* Gives it up. */
void ep_png_deinit(ep_png *png);

/* A still picture at once. */
ep_status ep_png_write(int width, int height, int channels, const unsigned char (*colours)[3],
                       const unsigned char *pixels, void **out, size_t *bytes, ep_error *error);

#endif
