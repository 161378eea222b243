/* dataset.h: uploaded data: recognised by content, checked whole, stored by content.
 *
 * A dataset's folder holds meta.json and one NPY file a part ("train.table.npy"; or "train.x.npy",
 * "train.y.npy", "test.x.npy", …). A table still has its target among its columns; x and y come
 * apart (the flat JSON form). No compute here: epochd links this. */
#ifndef EP_ENGINE_DATA_DATASET_H
#define EP_ENGINE_DATA_DATASET_H

#include "api/problem.h"
#include "api/spec.h"
#include "engine/data/table.h"
#include "engine/plan.h"

typedef enum { EP_ROLE_TABLE, EP_ROLE_X, EP_ROLE_Y, EP_ROLE_COUNT } ep_role;

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1]; /* "" when the source has no names */
  double min, max;
  bool integer; /* every value is one */
} ep_column;

typedef struct {
  int64_t rows, columns; /* 0 rows: the part is not there */
  ep_dtype dtype;
  ep_column *column; /* [columns], owned */
} ep_part;

typedef struct {
  char format[16];                /* "csv", "npy", "json" */
  char sha256[65];                /* of the bytes as uploaded */
  int64_t bytes;                  /* as uploaded */
  ep_part part[3][EP_ROLE_COUNT]; /* [ep_split of backend.h: train, validation, test][role] */
} ep_dataset_meta;

/* How to read a CSV; zeros mean: find out. */
typedef struct {
  char delimiter; /* 0: the one of , ; tab | that the first line has most of */
  int header;     /* 0: a first line with a cell that is no number; 1 yes, -1 no */
} ep_ingest_options;

/* Reads the file at `source` (CSV, NPY, the flat JSON form, gz of any), checks every value and
 * writes the parts and meta.json into the existing, empty folder `folder` (each file fsynced).
 * `max_output_bytes` bounds what may be written. Errors name row and column, both counted from 1 as
 * an editor does: "row 17, column 3 (\"age\"): \"n/a\" is not a number". On failure what it wrote
 * is the caller's to remove. */
ep_status ep_dataset_ingest(const char *source, const char *folder,
                            const ep_ingest_options *options, int64_t max_output_bytes,
                            ep_dataset_meta *out, ep_error *error);

/* Reads meta.json of a dataset's folder. ep_dataset_meta_deinit afterwards. */
ep_status ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error);
void ep_dataset_meta_deinit(ep_dataset_meta *meta);

/* The answer of GET /v1/datasets/{name}:
 * {"object":"dataset","name":…,"format":…,"sha256":…,"bytes":…,
 * "rows":…,"parts":{"train":{"table":{"rows":…,"columns":…,"dtype":…}}},"columns":[{"name","min","max"}…]}
 * Owned by the caller. */
char *ep_dataset_meta_format(const ep_dataset_meta *meta, const char *name, int64_t created_us);

/* Shapes that a job would have. `meta` is NULL unless the source is a dataset. Faults (no such
 * target column, a test fraction beside a test set of its own, no rows left) go into *problem. */
ep_status ep_data_shape_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_data_shape *out, ep_problem *problem);

#endif
