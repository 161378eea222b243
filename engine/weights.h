/* weights.h: trained weights as a file: safetensors, with PyTorch's names ("0.weight" [out, in],
 * "0.bias" [out], numbered by layer as in nn.Sequential), so that load_state_dict takes them as
 * they are. The scaling, the spec and the version stand in __metadata__. No compute: epochd links
 * this.
 *
 * Format: https://huggingface.co/docs/safetensors (8 bytes of header length, JSON header, tensors).
 */
#ifndef EP_ENGINE_WEIGHTS_H
#define EP_ENGINE_WEIGHTS_H

#include "engine/data/prepare.h"
#include "engine/plan.h"

/* Writes path atomically (temporary, fsync, rename, fsync of the folder). sha256: [65] hex of the
 * whole file; bytes: its size. */
ep_status ep_weights_write(const char *path, const ep_plan *plan, const float *parameters,
                           const ep_scaling *scaling, const char *spec_text, char sha256[65],
                           int64_t *bytes, ep_error *error);

/* Reads a file written so, for the plan: every tensor there, with its shape. parameters:
 * [plan->parameters], written; *scaling is the caller's to deinit. The file is not trusted. */
ep_status ep_weights_read(const char *path, const ep_plan *plan, float *parameters,
                          ep_scaling *scaling, ep_error *error);

/* The spec's text from the metadata, owned by the caller. */
ep_status ep_weights_read_spec(const char *path, char **spec_text, ep_error *error);

/* Columns of x that the network takes: what its first weight is multiplied with. */
ep_status ep_weights_read_features(const char *path, int64_t *features, ep_error *error);

/* The same weights as JSON:
 * {"format":"epochd-weights","tensors":{"0.weight":{"shape":[6,6],"data":[[…],…]},…},
 * "x_mean":[…]|null,…}, written atomically at json_path. */
ep_status ep_weights_to_json(const char *path, const char *json_path, ep_error *error);

#endif
