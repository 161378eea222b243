#include "server/plots/colours.h"

#include <math.h>
#include <string.h>

enum { COLOURS = 10 };

/* Told apart by those who see few colours (P. Tol's "bright", and three more). */
static const unsigned char CLASS_COLOUR[COLOURS][3] = {
    {68, 119, 170}, {238, 102, 119}, {34, 136, 51}, {204, 187, 68}, {102, 204, 238},
    {170, 51, 119}, {187, 187, 187}, {136, 34, 85}, {221, 170, 51}, {51, 34, 136}};
static const double SCALE[3][3] = {{10, 88, 202}, {246, 246, 246}, {214, 86, 12}};

void ep_value_paint(double share, unsigned char *colour) {
  double place = fmin(1, fmax(0, share)) * 2;
  int from = place >= 1;
  for (int channel = 0; channel < 3; channel++) {
    double low = SCALE[from][channel], high = SCALE[from + 1][channel];
    colour[channel] = (unsigned char)lround(low + (place - from) * (high - low));
  }
}

void ep_class_paint(int class, unsigned char *colour) {
  memcpy(colour, CLASS_COLOUR[class % COLOURS], 3);
}
