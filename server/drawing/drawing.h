/* drawing.h: pictures as SVG 1.1 without scripts, in light or dark colours: the page, its words,
 * and axes. */
#ifndef EP_SERVER_DRAWING_DRAWING_H
#define EP_SERVER_DRAWING_DRAWING_H

#include "api/json/writer.h"
#include "server/drawing/axis.h"

/* The colours: those of the reader's own theme, or one theme's. */
typedef enum { EP_THEME_AUTO, EP_THEME_LIGHT, EP_THEME_DARK } ep_theme;
extern const char *const EP_THEME_WORDS[]; /* by ep_theme; NULL ends */

/* The part of a picture within its axes, in the picture's units, and the axes. */
typedef struct {
  ep_writer writer;
  int width, height;
  int left, right, top, bottom;
  ep_chart_axis x, y;
  ep_theme theme;
} ep_drawing;

enum { EP_DRAWING_TITLE_CHARACTERS = 64 };

/* Opens the picture. description: NULL where the title says enough; any UTF-8; style: rules of the
 * picture's own; dark: the same for a dark theme. Sizes and theme are set before. */
void ep_drawing_begin(ep_drawing *drawing, const char *title, const char *description,
                      const char *style, const char *dark);
/* The text, the caller's (free); NULL: memory was short. */
char *ep_drawing_end(ep_drawing *drawing);

void ep_drawing_print(ep_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Text between tags; after `characters` of them an ellipsis. What XML has not becomes U+FFFD. */
void ep_drawing_escape(ep_drawing *drawing, const char *text, int characters);
/* A <text>; anchor: "start", "middle", "end". */
void ep_drawing_text(ep_drawing *drawing, const char *class_name, double x, double y,
                     const char *anchor, const char *text, int characters);

/* A PNG file's picture, whose pixels stay squares with sharp edges. */
void ep_drawing_png(ep_drawing *drawing, double x, double y, double width, double height,
                    const void *png, size_t bytes);

double ep_drawing_x(const ep_drawing *drawing, double value);
double ep_drawing_y(const ep_drawing *drawing, double value);

/* Both axes with their ticks and names. */
void ep_drawing_axes(ep_drawing *drawing, const char *x_name, const char *y_name);

#endif
