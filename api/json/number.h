/* number.h: numbers as decimal text. The text of a double has the fewest digits that read back the
 * same double. */
#ifndef EP_API_JSON_NUMBER_H
#define EP_API_JSON_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { EP_NUMBER_BYTES = 32, EP_PLAIN_BYTES = 352, EP_ROUNDED_DIGITS = 8 };

/* All write the digits to `text`, ending in 0, and return their count. */

size_t ep_number_format(double value, char text[EP_NUMBER_BYTES]); /* value: finite */
size_t ep_integer_format(int64_t value, char text[EP_NUMBER_BYTES]);
/* With commas between groups of three digits: 1,460. */
size_t ep_grouped_format(int64_t value, char text[EP_NUMBER_BYTES]);
/* EP_ROUNDED_DIGITS digits of any double, as printf's %.8g: enough for most of a float32. */
size_t ep_rounded_format(double value, char text[EP_NUMBER_BYTES]);
/* The same digits, and all before the point, never with an exponent: 1454870.3, 0.000012. */
size_t ep_plain_format(double value, char text[EP_PLAIN_BYTES]);

#endif
