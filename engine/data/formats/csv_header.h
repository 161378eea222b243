/* csv_header.h: the first line of a CSV: how many columns there are, and whether it names them. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_HEADER_H
#define EP_ENGINE_DATA_FORMATS_CSV_HEADER_H

#include "engine/data/datasets/dataset.h"
#include "engine/data/formats/csv_counts.h"

typedef struct {
  int64_t columns;
  bool named;           /* the line is a header, */
  bool row_names;       /* and has no name for the first column, and no cell */
  ep_csv_text start;    /* where the line begins */
  ep_column *column;    /* [columns], names filled in if named; owned by the caller */
  ep_csv_labels labels; /* of the last column, owned by the caller; filled in by csv_counts.h */
} ep_csv_header;

/* Reads the first line. It is a header where a cell is neither a number nor missing. `text` stands
 * behind it when it is a header, else unmoved. header: as in ep_ingest_options. `cell` is working
 * memory. */
ep_status ep_csv_header_read(ep_csv_text *text, int header, ep_csv_cell *cell, ep_csv_header *out,
                             ep_error *error);

/* "nan", "-inf", "+Infinity", whatever the case: numbers to some programs, none to train on. */
bool ep_csv_not_finite(const char *text);

#endif
