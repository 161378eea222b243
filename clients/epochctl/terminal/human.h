/* human.h: numbers for people to read. Each function writes into the caller's buffer, ending in 0,
 * and returns it. NaN, a number that is not known, becomes "-". */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_HUMAN_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_HUMAN_H

#include <stdint.h>

enum { EP_HUMAN_BYTES = 48 };

/* Five significant digits: 0.31179, 1.2346e-07, 12346. */
char *ep_human_number(double value, char text[EP_HUMAN_BYTES]);
/* 40,000 */
char *ep_human_count(int64_t value, char text[EP_HUMAN_BYTES]);
/* 1.05 us, 42 ms, 3.2 s, 2 min 05 s, 3 h 20 min, 2 d 4 h */
char *ep_human_seconds(double seconds, char text[EP_HUMAN_BYTES]);
/* 1.7 kB, 47 MB: powers of 1000 */
char *ep_human_bytes(double bytes, char text[EP_HUMAN_BYTES]);
/* 1.2 M, 850: with a letter for thousands, millions, …; for rates */
char *ep_human_rate(double value, char text[EP_HUMAN_BYTES]);
/* 48 %, from 0.48 */
char *ep_human_percent(double fraction, char text[EP_HUMAN_BYTES]);
/* The time since "2026-11-20T16:52:07.123Z": "3 min ago". A text that is no time is copied. */
char *ep_human_age(const char *time, char text[EP_HUMAN_BYTES]);

#endif
