/* needs.h: the files that a worker on another machine needs for a job, in the data folder. */
#ifndef EP_SERVER_SLURM_GATEWAY_NEEDS_H
#define EP_SERVER_SLURM_GATEWAY_NEEDS_H

#include "api/wire/frame.h"
#include "api/wire/record.h"

enum { EP_NEEDS_MOST = EP_LIMIT_CHECKPOINTS + 256 };

typedef struct {
  char name[EP_RECORD_NAME_BYTES]; /* relative to the data folder */
  bool folder;                     /* a content: the worker may have it */
} ep_need;

typedef struct {
  ep_need *needs; /* [count], in the order in which they are sent; owned */
  int count, capacity;
} ep_needs; /* starts as {0} */

/* Of a command to train. */
ep_status ep_needs_find(ep_needs *needs, const char *data_dir, const ep_command *train,
                        ep_error *error);
/* The same of a command HELP: data and first weights, and nothing of what the sweep has. */
ep_status ep_needs_find_help(ep_needs *needs, const char *data_dir, const ep_command *help,
                             ep_error *error);
/* The files of a folder are needed: behind all others. */
ep_status ep_needs_add_folder(ep_needs *needs, const char *data_dir, const char *folder,
                              ep_error *error);
void ep_needs_deinit(ep_needs *needs);

#endif
