/* path_data.h: data in files below an allowed folder: {"path": …}. */
#ifndef EP_SERVER_DATASETS_PATH_DATA_H
#define EP_SERVER_DATASETS_PATH_DATA_H

#include "api/spec/spec.h"
#include "server/datasets/contents.h"

/* Describes the files that data->path names: *meta is the caller's to deinit. Files that can be
 * mapped stay where they are: data->sha256 is "" and nothing is pinned. Others become a content
 * without a name, which is pinned. Faults go into *problem. */
ep_status ep_path_data_resolve(ep_contents *contents, ep_data_spec *data, ep_dataset_meta *meta,
                               ep_problem *problem);

#endif
