/* executor_name.h: executors that had another name: stored jobs, calibrations and clients may still
 * use it. */
#ifndef EP_API_EXECUTOR_NAME_H
#define EP_API_EXECUTOR_NAME_H

#include <stddef.h>

/* Replaces a former name by the present one; all others stay. name: [bytes], ends with 0. */
void ep_executor_name_update(char *name, size_t bytes);

#endif
