/* output_file.h: a file that a command writes: it is whole, or not there. */
#ifndef EP_CLIENTS_EPOCHCTL_CLIENT_OUTPUT_FILE_H
#define EP_CLIENTS_EPOCHCTL_CLIENT_OUTPUT_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "api/status.h"

enum { EP_OUTPUT_NAME_BYTES = 4096 };

typedef struct {
  FILE *file;
  const char *name;                     /* lent; "-": standard output */
  char part[EP_OUTPUT_NAME_BYTES + 32]; /* what is written, until it is whole */
} ep_output_file;

ep_status ep_output_file_open(const char *name, ep_output_file *out, ep_error *error);
/* Ends it: status EP_OK gives the file its name, any other removes it, and is returned. */
ep_status ep_output_file_close(ep_output_file *output, ep_status status, ep_error *error);
/* "out.csv  12 kB", and what else is to be said; nothing of standard output. */
void ep_output_file_print(const char *name, int64_t bytes, const char *more);

#endif
