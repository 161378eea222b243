/* dataset_name.h: what a dataset is called that was given no name. */
#ifndef EP_API_DATASET_NAME_H
#define EP_API_DATASET_NAME_H

#include "api/limits.h"

/* The name for a file: without folders and the usual endings, of the characters that such a name
 * may have: "My flats.2024.csv.gz" is "My-flats.2024"; "table" where nothing is left. */
void ep_dataset_name_of_file(const char *file, char out[EP_LIMIT_NAME_BYTES + 1]);

#endif
