/* predictions.h: what the trained network says of the test split, as the files that are served:
 *
 * predictions.json {"object":"predictions","split":"test","rows":N,
 *                   "target":[…],"prediction":[…],"output":[[…],…]}
 * predictions.csv  row,target,prediction,output_0,…
 *
 * `target` and `prediction` are in the units of the data: values of a regression, classes of a
 * classifier (its words, where the target is a category); with several target columns each is a
 * list (JSON) or target_0, target_1, … (CSV). `output` is the network's own output, a classifier's
 * logits or probabilities, and is there for classifiers only. */
#ifndef EP_ENGINE_TRAINING_PREDICTIONS_H
#define EP_ENGINE_TRAINING_PREDICTIONS_H

#include "engine/data/prepare/prepare.h"
#include "engine/files/durable_file.h"

/* Writes both files for `folder`; they are put in place when the group is. outputs: [rows of the
 * test split, out_features] as predict gives them. json_sha256, csv_sha256: written. */
ep_status ep_predictions_write(ep_durable_group *group, const char *folder,
                               const ep_prepared *prepared, ep_loss_type loss, const float *outputs,
                               int64_t out_features, char json_sha256[EP_SHA256_HEX_BYTES],
                               char csv_sha256[EP_SHA256_HEX_BYTES], ep_error *error);

#endif
