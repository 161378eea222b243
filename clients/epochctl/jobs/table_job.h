/* table_job.h: a file of data becomes a dataset, and a job whose network the server chooses. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_TABLE_JOB_H
#define EP_CLIENTS_EPOCHCTL_JOBS_TABLE_JOB_H

#include <jansson.h>

#include "api/arguments/arguments.h"
#include "api/limits.h"
#include "clients/epochctl/client/client.h"
#include "clients/epochctl/client/dialect.h"

/* Rows of a table of options: what is predicted, what the dataset is called, how the file is read.
 */
/* clang-format off */
#define EP_TABLE_JOB_OPTIONS                                                                       \
  {.name = "target", .kind = EP_OPTION_TEXT, .value = "COLUMN",                                    \
   .doc = "the name of the column to predict (the last one); by its index: --set /data/target=3"}, \
  {.name = "task", .kind = EP_OPTION_CHOICE, .value = "regression|classification",                 \
   .doc = "predict a number, or one of some classes (by the column)"},                             \
  {.name = "column", .kind = EP_OPTION_TEXT, .value = "NAME=TYPE",                                 \
   .doc = "the type of a column: number, category, date or ignore; repeatable"},     \
  {.name = "window", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_FEATURES,  \
   .doc = "a series: each example is N successive rows, and the target of a later one"},           \
  {.name = "horizon", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_ROWS,     \
   .doc = "with --window: the target is that of the row this many rows later (1)"},                \
  {.name = "group", .kind = EP_OPTION_TEXT, .value = "COLUMN",                                     \
   .doc = "with --window: the column that tells several series apart"},                            \
  {.name = "time", .kind = EP_OPTION_TEXT, .value = "COLUMN",                                      \
   .doc = "the column that orders the rows: the newest are the test"},                             \
  {.name = "dataset", .kind = EP_OPTION_TEXT, .value = "NAME",                                     \
   .doc = "the name of the dataset on the server (that of the file)"},                             \
  {.name = "replace", .kind = EP_OPTION_SWITCH,                                                    \
   .doc = "replace a different dataset of this name; without it, this one is stored as NAME-2"}, \
  EP_UPLOAD_OPTIONS
/* clang-format on */

/* Uploads the file of the first word, and makes the job: all but the data is the server's to
 * choose. Without --replace a name that means another file stays as it is, which is said on
 * standard error. *job: the caller's (json_decref), named after the dataset. */
ep_status ep_table_job_make(ep_client *client, const ep_arguments *arguments, json_t **job,
                            ep_error *error);

#endif
