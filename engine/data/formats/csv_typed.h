/* csv_typed.h: a table of any cells, into a part: words as their numbers, dates as seconds, what is
 * missing as NaN. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_TYPED_H
#define EP_ENGINE_DATA_FORMATS_CSV_TYPED_H

#include "engine/data/formats/csv_header.h"
#include "engine/data/formats/format.h"

/* text: the rows, behind the header, which is one of the rows where its cells are like theirs,
 * unless the options say that there is a header. header->column is taken, also on failure. cell:
 * working memory. Refuses rows of unequal length, cells that are not UTF-8, and infinite numbers.
 * Cells that are not of their column's type are missing, and are told in ingest->meta. */
ep_status ep_csv_typed_read(ep_ingest *ingest, ep_csv_text text, ep_csv_header *header,
                            ep_csv_cell *cell, ep_error *error);

/* What a number that is none to train on is refused with: "inf", 1e400. */
ep_status ep_csv_infinite_refuse(int64_t line, const char *label, const char *text, size_t bytes,
                                 ep_error *error);

#endif
