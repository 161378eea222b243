/* csv_typed.h: delimited text of any cells, into a part (typed_table.h). */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_TYPED_H
#define EP_ENGINE_DATA_FORMATS_CSV_TYPED_H

#include "engine/data/formats/csv_header.h"
#include "engine/data/formats/format.h"

/* Reads the rows of the layout. A header is a row where its words are words of the columns below,
 * unless the options decide it. Marks of numbers and the order of dates, as all rows show them, go
 * into the layout, with notes. cell: working memory. Refuses rows of unequal length, cells that are
 * not UTF-8, and infinite numbers. Cells that are not of their column's type are missing, and are
 * listed in ingest->meta. */
ep_status ep_csv_typed_read(ep_ingest *ingest, ep_csv_layout *layout, ep_csv_cell *cell,
                            ep_error *error);

#endif
