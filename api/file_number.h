/* file_number.h: the files of a job that a number tells apart: its checkpoints and its moments. */
#ifndef EP_API_FILE_NUMBER_H
#define EP_API_FILE_NUMBER_H

#include <stdint.h>

#include "api/names.h"

/* The number N of a name that is PREFIX, N, EP_SAFETENSORS_SUFFIX: EP_CHECKPOINT_PREFIX and the
 * like. -1: it is another file's. */
int64_t ep_file_number(const char *prefix, const char *name);

#endif
