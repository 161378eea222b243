/* path_source.h: rows that lie in files of somebody else's, below a folder that the administrator
 * allowed: {"path": …}. One file is what an upload of it would be; a folder holds parts, known by
 * their names: train.x.npy, x_test.idx, train-images-idx3-ubyte.gz, ….
 *
 * NPY and IDX files whose values can be used where they lie are mapped and never copied. */
#ifndef EP_ENGINE_DATA_SOURCES_PATH_SOURCE_H
#define EP_ENGINE_DATA_SOURCES_PATH_SOURCE_H

#include "engine/data/arrays/table.h"
#include "engine/data/datasets/dataset.h"

typedef struct {
  int file[EP_SPLIT_COUNT][EP_ROLE_COUNT]; /* open; -1 = there is none */
  bool whole;    /* the path is a file, not a folder: file[TRAIN][TABLE] */
  bool mappable; /* every one can be used where it lies */
} ep_path_source;

/* No file is open. */
void ep_path_source_init(ep_path_source *out);

/* Opens the files by their names, and reads nothing of them. Errors point at /data/path. On failure
 * nothing is open. */
ep_status ep_path_source_find(const char *path, ep_path_source *out, ep_error *error);
/* Reads their heads, and finds whether they are mappable. */
ep_status ep_path_source_check(ep_path_source *out, ep_error *error);
/* Both. */
ep_status ep_path_source_open(const char *path, ep_path_source *out, ep_error *error);
void ep_path_source_close(ep_path_source *source);

/* Describes mappable files by reading them once, without mapping: that they may be cut meanwhile
 * must not end this process. *out is as of an upload, with sha256 "". Without `values` only the
 * heads are read, and nothing is known of the columns but how many there are. */
ep_status ep_path_source_measure(const ep_path_source *source, bool values, ep_dataset_meta *out,
                                 ep_error *error);

/* Maps one part; meta is what ep_path_source_measure said of it: EP_DATA when the file is no more
 * of that shape. */
ep_status ep_path_source_map(const ep_path_source *source, ep_split split, ep_role role,
                             ep_table *out, ep_error *error);

/* The same content as an upload would leave in the empty folder `folder` (see dataset.h), for files
 * that cannot be mapped. They are copied first, for the reason above. */
ep_status ep_path_source_ingest(const ep_path_source *source, const char *folder,
                                int64_t max_output_bytes, ep_error *error);

#endif
