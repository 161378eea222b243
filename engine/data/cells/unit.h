/* unit.h: numbers with a sign of currency or of per cent: $10, -$1,234.50, 10 €, 12.5 %. */
#ifndef EP_ENGINE_DATA_CELLS_UNIT_H
#define EP_ENGINE_DATA_CELLS_UNIT_H

#include "engine/data/cells/cell.h"

enum { EP_UNIT_BYTES = 4 }; /* of a sign in UTF-8, and of the zero behind it */

/* Whether the text is one sign ($, ¢, £, ¤, ¥, one of U+20A0 … U+20CF, %). */
bool ep_unit_is_one(const char *text);

/* The sign before or after a number, into unit; false, and "", where there is none, or one on both
 * sides. It does not say whether what is left is a number. */
bool ep_unit_find(const char *text, size_t bytes, char unit[EP_UNIT_BYTES]);

/* Reads all of the text: a number with these marks, with that sign before or after it, and maybe a
 * space between. False, and nothing written, where it is none, or has no sign, or another one. */
bool ep_unit_number_read(ep_cell_marks marks, const char *unit, const char *text, size_t bytes,
                         double *value);

#endif
