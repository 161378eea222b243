/* csv_faults.h: all faults of a CSV that was refused, not only the first. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_FAULTS_H
#define EP_ENGINE_DATA_FORMATS_CSV_FAULTS_H

#include "engine/data/formats/csv_rows.h"

/* Reads on behind each fault, and adds to the message, where there are several: rows of another
 * length, cells that are not UTF-8 and infinite numbers, by column and kind with their counts and
 * first rows. numbers: words and missing cells are faults, too. */
void ep_csv_faults_tell(const ep_csv_layout *layout, bool numbers, ep_csv_cell *cell,
                        ep_error *error);

#endif
