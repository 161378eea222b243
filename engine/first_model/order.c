#include "engine/first_model/order.h"

#include <math.h>

#include "engine/data/columns/retype.h"
#include "engine/data/sources/table_walk.h"
#include "engine/first_model/baseline.h"

enum { ROWS = 20, DATES = 10 }; /* fewer may be in order by chance, or say little about it */

/* The dates of a column on their way. */
typedef struct {
  const ep_part *table;
  int64_t column;
  double last; /* NaN: there was none */
  bool up, down;
} reading;

static ep_status row_visit(void *context, const uint8_t *row, ep_error *error) {
  reading *to = context;
  double date;
  ep_dtype_values(to->table->dtype, row + (size_t)to->column * ep_dtype_bytes(to->table->dtype), 1,
                  &date);
  to->up |= date > to->last;
  to->down |= date < to->last;
  to->last = date;
  return to->up && to->down ? ep_fail(error, EP_CONFLICT, "in no order") : EP_OK;
}

int64_t ep_order_find(const ep_explained *of, const ep_part *table, int64_t target) {
  if (!table || table->rows < ROWS || !ep_baseline_reads(table)) return -1;
  for (int64_t i = 0; i < table->columns; i++) {
    const ep_column *column = &table->column[i];
    reading to = {.table = table, .column = i, .last = NAN};
    if (i == target || column->type != EP_COLUMN_DATE || column->missing > 0 ||
        column->distinct < DATES || ep_column_is_retyped(column))
      continue;
    if (ep_main_part_walk(&of->spec->data, of->meta, EP_ROLE_TABLE, row_visit, &to, NULL) == EP_OK)
      return i;
  }
  return -1;
}
