/* figures.h: numbers as people read them. Each writes into the caller's buffer, ending in 0, and
 * returns it. NaN, for a figure that is not known, becomes "-". */
#ifndef EP_CLIENTS_EPOCHCTL_FIGURES_H
#define EP_CLIENTS_EPOCHCTL_FIGURES_H

#include <stddef.h>
#include <stdint.h>

enum { EP_FIGURE_BYTES = 48 };

/* Five significant digits: 0.31179, 1.2346e-07, 12346. */
char *ep_figure_number(double value, char text[EP_FIGURE_BYTES]);
/* 40,000 */
char *ep_figure_count(int64_t value, char text[EP_FIGURE_BYTES]);
/* 1.05 us, 42 ms, 3.2 s, 2 min 05 s, 3 h 20 min, 2 d 4 h */
char *ep_figure_seconds(double seconds, char text[EP_FIGURE_BYTES]);
/* 1.7 kB, 47 MB: powers of 1000 */
char *ep_figure_bytes(double bytes, char text[EP_FIGURE_BYTES]);
/* 1.2 M, 850: with a letter for thousands, millions, …; for rates */
char *ep_figure_rate(double value, char text[EP_FIGURE_BYTES]);
/* 48 %, from 0.48 */
char *ep_figure_percent(double fraction, char text[EP_FIGURE_BYTES]);
/* How long ago: "2026-11-20T16:52:07.123Z" becomes "3 min ago"; what is no time stays. */
char *ep_figure_age(const char *time, char text[EP_FIGURE_BYTES]);

#endif
