/* dataset.h: uploaded data: recognised by content, checked whole, stored by content.
 *
 * A dataset's folder holds meta.json and one NPY file a part ("train.table.npy"; or "train.x.npy",
 * "train.y.npy", "test.x.npy", …). A table still has its target among its columns; x and y come
 * apart (flat JSON, NPZ, safetensors, uploads of parts). A safetensors file whose tensors are no x
 * and y is kept as it is, as weights.safetensors, for model.init. No compute here: epochd links
 * this. */
#ifndef EP_ENGINE_DATA_DATASETS_DATASET_H
#define EP_ENGINE_DATA_DATASETS_DATASET_H

#include "api/json/problem.h"
#include "api/spec/spec.h"
#include "engine/data/arrays/table.h"
#include "engine/plan/plan.h"
#include "kernels/backend.h"

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
  int dimensions; /* of a row as it was stored: 0 (a list of numbers) … EP_LIMIT_ROW_DIMENSIONS */
  int64_t shape[EP_LIMIT_ROW_DIMENSIONS]; /* [dimensions]; its product is `columns` */
  bool one_hot;    /* two columns or more, and in every row one value is 1 and the others are 0 */
  char sha256[65]; /* of the bytes as uploaded, of a part that was an upload of its own; else "" */
  int64_t bytes;   /* how many those were; else 0 */
} ep_part;

typedef struct {
  char format[16]; /* "csv", "npy", "json", "idx", "npz", "safetensors", "parts" */
  char sha256[65]; /* of the bytes as uploaded; of parts: of their hashes; "" of mapped files */
  int64_t bytes;   /* as uploaded */
  int64_t tensors; /* of weights kept for model.init; else 0, as then there are no parts */
  ep_part part[3][EP_ROLE_COUNT]; /* [ep_split of backend.h: train, validation, test][role] */
} ep_dataset_meta;

/* How to read a CSV; zeros mean: find out. */
typedef struct {
  char delimiter; /* 0: the one of , ; tab | that the first line has most of */
  int header;     /* 0: a first line with a cell that is no number; 1 yes, -1 no */
} ep_ingest_options;

/* Reads the file at `source` (CSV, NPY, NPZ, IDX, safetensors, the flat JSON form, gz of any),
 * checks every value and writes the parts and meta.json into the existing, empty folder `folder`
 * (each file fsynced). `max_output_bytes` bounds what may be written. Errors name row and column,
 * both counted from 1 as an editor does: "row 17, column 3 (\"age\"): \"n/a\" is not a number". On
 * failure what it wrote is the caller's to remove. */
ep_status ep_dataset_ingest(const char *source, const char *folder,
                            const ep_ingest_options *options, int64_t max_output_bytes,
                            ep_dataset_meta *out, ep_error *error);

/* The same of an upload that is one array, x or y of one split. */
ep_status ep_dataset_ingest_part(const char *source, const char *folder, ep_split split,
                                 ep_role role, const ep_ingest_options *options,
                                 int64_t max_output_bytes, ep_dataset_meta *out, ep_error *error);

/* Completes the folder of a part (as ep_dataset_ingest_part left it) with the other parts of the
 * dataset in the folder `before` (NULL: there is none): their files are linked, not copied. The
 * result is in the format "parts"; its sha256 is that of the parts' hashes. EP_CONFLICT when
 * `before` holds no x and y apart. x and y may differ in rows until a job uses them. */
ep_status ep_dataset_complete(const char *folder, const char *before, ep_error *error);

/* Reads meta.json of a dataset's folder. ep_dataset_meta_deinit afterwards. */
ep_status ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error);
void ep_dataset_meta_deinit(ep_dataset_meta *meta);

/* The answer of GET /v1/datasets/{name}:
 * {"object":"dataset","name":…,"format":…,"sha256":…,"bytes":…,
 * "rows":…,"parts":{"train":{"table":{"rows":…,"columns":…,"dtype":…}}},"columns":[{"name","min","max"}…]}
 * Owned by the caller. */
char *ep_dataset_meta_format(const ep_dataset_meta *meta, const char *name, int64_t created_us);

/* What describes the rows of `data`: meta.json of `dataset_folder`, or, where that is NULL and the
 * source a path, the mapped files. *there is false, and *out empty, when the rows stand in the spec
 * or are made. */
ep_status ep_data_meta_find(const ep_data_spec *data, const char *dataset_folder, bool *there,
                            ep_dataset_meta *out, ep_error *error);

/* The shape of a row of x that is stored with `dimensions` of its own: [C, H, W], [H, W] as one
 * channel, anything else as a vector; "shape" of the spec goes before. `columns` is its product. */
ep_shape ep_data_row_shape(const ep_data_spec *data, int dimensions, const int64_t *shape,
                           int64_t columns);

/* Shapes that a job would have. `meta` is NULL unless the source is a dataset or a path. Faults (no
 * such target column, a test fraction beside a test set of its own, no rows left) go into *problem.
 */
ep_status ep_data_shape_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_data_shape *out, ep_problem *problem);

#endif
