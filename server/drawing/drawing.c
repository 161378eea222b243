#include "server/drawing/drawing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json/base64.h"
#include "api/json/utf8.h"

enum { LIMIT_BYTES = 32 << 20 /* EP_LIMIT_CURVE_POINTS of two lines need 4 MB */ };

static const char STYLE[] = "<style>\n"
                            "text{font:13px system-ui,sans-serif;fill:#1f2328}\n"
                            ".title{font-size:16px;font-weight:600}.quiet{fill:#59636e}\n"
                            ".page{fill:#ffffff}.grid{stroke:#d8dee4}.axis{stroke:#59636e}\n";
static const char DARK[] = "text{fill:#e6edf3}.quiet{fill:#9aa4ae}\n"
                           ".page{fill:#0d1117}.grid{stroke:#2b323b}.axis{stroke:#9aa4ae}\n";

const char *const EP_THEME_WORDS[] = {"auto", "light", "dark", NULL};

void ep_drawing_print(ep_drawing *drawing, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int bytes = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (bytes > 0)
    ep_writer_bytes(&drawing->writer, text,
                    (size_t)bytes < sizeof text ? (size_t)bytes : sizeof text - 1);
}

static void text_write(ep_drawing *drawing, const char *text) {
  ep_writer_bytes(&drawing->writer, text, strlen(text));
}

/* Whether XML has the character: no control characters, no U+FFFE and U+FFFF. */
static bool character_allowed(const char *text, size_t bytes) {
  unsigned char first = (unsigned char)*text;
  if (bytes == 1) return first >= 0x20 && first < 0x7F;
  return bytes != 3 ||
         (memcmp(text, "\xEF\xBF\xBE", 3) != 0 && memcmp(text, "\xEF\xBF\xBF", 3) != 0);
}

void ep_drawing_escape(ep_drawing *drawing, const char *text, int characters) {
  for (size_t left = strlen(text); left > 0;) {
    size_t bytes = ep_utf8_character(text, left);
    if (characters-- == 0) {
      ep_drawing_print(drawing, "…");
      return;
    }
    if (bytes == 0 || !character_allowed(text, bytes))
      ep_drawing_print(drawing, "\xEF\xBF\xBD");
    else if (*text == '<')
      ep_drawing_print(drawing, "&lt;");
    else if (*text == '>')
      ep_drawing_print(drawing, "&gt;");
    else if (*text == '&')
      ep_drawing_print(drawing, "&amp;");
    else if (*text == '"')
      ep_drawing_print(drawing, "&quot;");
    else
      ep_writer_bytes(&drawing->writer, text, bytes);
    if (bytes == 0) bytes = 1;
    text += bytes;
    left -= bytes;
  }
}

void ep_drawing_text(ep_drawing *drawing, const char *class_name, double x, double y,
                     const char *anchor, const char *text, int characters) {
  ep_drawing_print(drawing, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                   class_name, x, y, anchor);
  ep_drawing_escape(drawing, text, characters);
  text_write(drawing, "</text>\n");
}

void ep_drawing_png(ep_drawing *drawing, double x, double y, double width, double height,
                    const void *png, size_t bytes) {
  ep_drawing_print(drawing,
                   "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                   "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                   "href=\"data:image/png;base64,",
                   x, y, width, height);
  ep_base64_write(&drawing->writer, png, bytes);
  text_write(drawing, "\"/>\n");
}

static void style_write(ep_drawing *drawing, const char *style, const char *dark) {
  bool automatic = drawing->theme == EP_THEME_AUTO;
  text_write(drawing, STYLE);
  ep_drawing_print(drawing, ":root{color-scheme:%s}\n",
                   automatic ? "light dark" : EP_THEME_WORDS[drawing->theme]);
  text_write(drawing, style);
  if (automatic) text_write(drawing, "@media (prefers-color-scheme:dark){\n");
  if (drawing->theme != EP_THEME_LIGHT) {
    text_write(drawing, DARK);
    text_write(drawing, dark);
  }
  text_write(drawing, automatic ? "}\n</style>\n" : "</style>\n");
}

void ep_drawing_begin(ep_drawing *drawing, const char *title, const char *description,
                      const char *style, const char *dark) {
  ep_writer_init(&drawing->writer, LIMIT_BYTES);
  ep_drawing_print(drawing,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
                   drawing->width, drawing->height, drawing->width, drawing->height);
  ep_drawing_escape(drawing, title, INT32_MAX);
  text_write(drawing, "</title>\n");
  if (description) {
    text_write(drawing, "<desc>");
    ep_drawing_escape(drawing, description, INT32_MAX);
    text_write(drawing, "</desc>\n");
  }
  style_write(drawing, style, dark);
  ep_drawing_print(drawing, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", drawing->width,
                   drawing->height);
  ep_drawing_text(drawing, "title", drawing->left, 30, "start", title, EP_DRAWING_TITLE_CHARACTERS);
}

char *ep_drawing_end(ep_drawing *drawing) {
  text_write(drawing, "</svg>\n");
  return ep_writer_take(&drawing->writer);
}

double ep_drawing_x(const ep_drawing *drawing, double value) {
  return drawing->left +
         ep_chart_axis_position(&drawing->x, value) * (drawing->right - drawing->left);
}

double ep_drawing_y(const ep_drawing *drawing, double value) {
  return drawing->bottom -
         ep_chart_axis_position(&drawing->y, value) * (drawing->bottom - drawing->top);
}

static void ticks_draw(ep_drawing *drawing) {
  char label[EP_CHART_AXIS_LABEL_BYTES];
  for (int i = 0; i < drawing->y.ticks_count; i++) {
    double y = ep_drawing_y(drawing, drawing->y.ticks[i]);
    ep_chart_axis_label(drawing->y.ticks[i], label);
    ep_drawing_print(drawing, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", drawing->left, y,
                     drawing->right);
    ep_drawing_text(drawing, "quiet", drawing->left - 8, y + 4, "end", label, INT32_MAX);
  }
  for (int i = 0; i < drawing->x.ticks_count; i++) {
    double x = ep_drawing_x(drawing, drawing->x.ticks[i]);
    ep_chart_axis_label(drawing->x.ticks[i], label);
    ep_drawing_print(drawing, "<path class=\"axis\" d=\"M%.1f %dv5\"/>", x, drawing->bottom);
    ep_drawing_text(drawing, "quiet", x, drawing->bottom + 20, "middle", label, INT32_MAX);
  }
}

void ep_drawing_axes(ep_drawing *drawing, const char *x_name, const char *y_name) {
  double middle = (drawing->top + drawing->bottom) / 2;
  ticks_draw(drawing);
  ep_drawing_print(drawing, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", drawing->left,
                   drawing->bottom, drawing->right);
  ep_drawing_text(drawing, "name", (drawing->left + drawing->right) / 2, drawing->bottom + 42,
                  "middle", x_name, EP_DRAWING_TITLE_CHARACTERS);
  ep_drawing_print(drawing,
                   "<text x=\"18\" y=\"%.0f\" text-anchor=\"middle\" "
                   "transform=\"rotate(-90 18 %.0f)\">",
                   middle, middle);
  ep_drawing_escape(drawing, y_name, EP_DRAWING_TITLE_CHARACTERS);
  text_write(drawing, "</text>\n");
}
