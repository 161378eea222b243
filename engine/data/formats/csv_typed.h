/* csv_typed.h: delimited text of any cells, into a part (typed_table.h). */
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

#endif
