/* csv_counts.h: the first line of scikit-learn's CSV files, which names no columns: the number of
 * rows, that of features, and then the names of the classes, or nothing: "150,4,setosa,versicolor,
 * virginica", "506,13,,,". */
#ifndef EP_ENGINE_DATA_DIALECT_CSV_COUNTS_H
#define EP_ENGINE_DATA_DIALECT_CSV_COUNTS_H

#include "engine/data/dialect/csv_cell.h"

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
} ep_csv_label;

typedef struct {
  ep_csv_label *name; /* [count], owned: the last column has numbers of these; NULL: of none */
  int64_t count;
} ep_csv_labels;

/* Takes such a line; *rows: what it says. It is one only where there are so many rows below it (and
 * perhaps a header) and the next line has a cell more than there are features. False, and nothing
 * taken, for any other line. cell: working memory. labels: free(labels->name). */
bool ep_csv_counts_take(ep_csv_text *text, ep_csv_cell *cell, int64_t *rows, ep_csv_labels *labels);

#endif
