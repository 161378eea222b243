/* columns.h: the columns of an encoded table as C: a struct with a cell a column, and the function
 * that makes features of it, as ep_encoding_apply does (engine/data/columns/encoding.c). Words that
 * the model does not know count as others, also where the job refuses them. */
#ifndef EP_ENGINE_WEIGHTS_C_COLUMNS_H
#define EP_ENGINE_WEIGHTS_C_COLUMNS_H

#include "api/status.h"
#include "engine/data/columns/encoding.h"
#include "engine/layers/c/source.h"

enum { EP_C_FIELD_BYTES = 64 };

/* The fields of the struct, one a column: distinct identifiers; "" for columns that are left out.
 * *out: [encoding->columns], the caller's (free). */
typedef char ep_c_field[EP_C_FIELD_BYTES];
ep_status ep_c_fields_find(const ep_encoding *encoding, ep_c_field **out, ep_error *error);

/* "typedef struct {…} @_row;" */
void ep_c_row_define(ep_c_source *source, const ep_encoding *encoding, const ep_c_field *fields);

/* "static inline void @_encode(const @_row *row, float *x)", with the tables that it needs: feature
 * j of the row goes to x[j * window length]. */
void ep_c_encode_define(ep_c_source *source, const ep_encoding *encoding, const ep_c_field *fields);

/* A raw row (cells: [columns]) as an initializer of @_row. */
void ep_c_row_add(ep_c_source *source, const ep_encoding *encoding, const ep_c_field *fields,
                  const double *cells);

#endif
