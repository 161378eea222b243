/* unit.h: numbers with a sign of currency or of per cent: $10, -$1,234.50, 10 €, 12.5 %. */
#ifndef EP_ENGINE_DATA_CELLS_UNIT_H
#define EP_ENGINE_DATA_CELLS_UNIT_H

#include "api/names.h"
#include "engine/data/cells/cell.h"

/* Whether the text is one sign ($, ¢, £, ¤, ¥, one of U+20A0 … U+20CF, %). */
bool ep_unit_is_one(const char *text);

/* The sign before or after a number, into unit; false, and "", where there is none, or one on both
 * sides. It does not say whether what is left is a number. */
bool ep_unit_find(const char *text, size_t bytes, char unit[EP_UNIT_BYTES]);

/* How a number is written with its sign: "0 €", "€0", "0%", where 0 stands for the number and the
 * space is as in the text. "" where ep_unit_find finds none. */
void ep_unit_form_find(const char *text, size_t bytes, char form[EP_UNIT_FORM_BYTES]);

/* Whether a text is a form; its sign into unit. A sign alone is one, too: $ and €0 are "$0", "€0",
 * % is "0%". form: what it is then. */
bool ep_unit_form_parse(const char *text, char form[EP_UNIT_FORM_BYTES], char unit[EP_UNIT_BYTES]);

/* Reads all of the text: a number with these marks, alone or with that sign before or after it, and
 * maybe a space between; "" is no sign. False, and nothing written, where it is none, or has
 * another sign. */
bool ep_unit_number_read(ep_cell_marks marks, const char *unit, const char *text, size_t bytes,
                         double *value);

#endif
