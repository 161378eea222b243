/* draft.h: the rows of a table as they are taken to be while nobody knows the types of its columns
 * yet, in a file without a name: a table that holds no surprise need not be read again. */
#ifndef EP_ENGINE_DATA_TABLES_DRAFT_H
#define EP_ENGINE_DATA_TABLES_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "api/status.h"

typedef struct {
  int64_t columns, rows, read; /* rows that were read back */
  double *row;                 /* [columns], owned: under way; behind it the buffer of the file */
  int64_t bytes_most;          /* that it may take of the disk */
  FILE *file;                  /* owned; NULL: there is none */
  bool kept;                   /* all rows so far are in it */
} ep_draft;

/* folder NULL: nothing is kept. bytes_most: of the disk; what would be more is not kept, nor what
 * the disk has no room for. The caller closes it, also after a failure. EP_NO_MEMORY. */
ep_status ep_draft_open(const char *folder, int64_t columns, int64_t bytes_most, ep_draft *out,
                        ep_error *error);
void ep_draft_close(ep_draft *draft);

/* The row under way, [columns], to be filled in; then it is added. */
static inline double *ep_draft_row(const ep_draft *draft) {
  return draft->row;
}
void ep_draft_add(ep_draft *draft);

/* Forgets all rows. */
void ep_draft_reset(ep_draft *draft);

/* Goes back to the first row, if all are kept. */
void ep_draft_rewind(ep_draft *draft);
/* The next row after ep_draft_rewind, [columns], good until the next call; NULL where the file
 * cannot be read. */
const double *ep_draft_next(ep_draft *draft);

#endif
