/* boolean.h: words of two meanings: true or false, and the wider list that names the positive of
 * two classes. */
#ifndef EP_ENGINE_DATA_CELLS_BOOLEAN_H
#define EP_ENGINE_DATA_CELLS_BOOLEAN_H

#include <stddef.h>

/* 1: true, t, yes, y, 1, 1., 1.0; 0: false, f, no, n, 0, 0., 0.0; -1: any other text. Regardless of
 * case and of the spaces around the word. Single letters are common as codes: a column is boolean
 * only if all of its words are, so the caller looks at all of them. */
int ep_boolean_meaning(const char *text, size_t bytes);

/* The same, and 1: positive, pos, on, +; 0: negative, neg, off, -. */
int ep_positive_meaning(const char *text, size_t bytes);

#endif
