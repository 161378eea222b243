/* order.h: whether the rows of a table are in the order of a date, as those of a log are. For this
 * folder's files alone. */
#ifndef EP_ENGINE_FIRST_MODEL_ORDER_H
#define EP_ENGINE_FIRST_MODEL_ORDER_H

#include "engine/first_model/explanation.h"

/* The first column of dates that never step back, or never forward, from row to row; -1: there is
 * none, or the rows are too few, or too many to be read for it. */
int64_t ep_order_find(const ep_explained *of, const ep_part *table, int64_t target);

#endif
