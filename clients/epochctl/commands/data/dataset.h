/* dataset.h: a data set in a line. */
#ifndef EP_CLIENTS_EPOCHCTL_COMMANDS_DATA_DATASET_H
#define EP_CLIENTS_EPOCHCTL_COMMANDS_DATA_DATASET_H

#include <jansson.h>

/* Prints name, format, rows and bytes. */
void ep_dataset_print(const json_t *dataset);

#endif
