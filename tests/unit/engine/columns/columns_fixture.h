/* columns_fixture.h: descriptions of tables made by hand. */
#ifndef EP_TESTS_COLUMNS_FIXTURE_H
#define EP_TESTS_COLUMNS_FIXTURE_H

#include "engine/data/columns/encoding.h"

/* A number of values from `min` to `max`, of which so many are missing. */
ep_column number_column(const char *name, double min, double max, int64_t missing);
/* A date, between two times in seconds. */
ep_column date_column(const char *name, double min, double max, int64_t missing);
/* text: its words, the commonest first, with spaces between. */
ep_column category_column(const char *name, const char *text, int64_t missing);
ep_column text_column(const char *name);

/* Takes a copy of the columns, and the words. Owned by the caller: table_free. */
ep_part table_make(const ep_column *columns, int64_t count, int64_t rows);
void table_free(ep_part *table);

/* Writes cells, [rows, columns], as NPY. */
void table_save(const char *path, const double *cells, int rows, int columns);

/* Gives the table the types of the spec, and plans; data: NULL: a spec that says nothing. Both must
 * succeed. */
void encoding_plan(const ep_data_spec *data, ep_part *table, int64_t target, ep_encoding *out);
/* Fits all columns. rows: [count, columns of the encoding], raw. */
void encoding_fit(ep_encoding *encoding, const double *rows, int64_t count);

#endif
