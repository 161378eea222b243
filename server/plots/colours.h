/* colours.h: what values and classes look like in pictures. */
#ifndef EP_SERVER_PLOTS_COLOURS_H
#define EP_SERVER_PLOTS_COLOURS_H

/* From blue by white to orange; share: 0 to 1, what is beyond is the end. colour: [3], written. */
void ep_value_paint(double share, unsigned char *colour);
/* class: from 0. There are ten colours, in turn. */
void ep_class_paint(int class, unsigned char *colour);

#endif
