/* weights.h: trained weights as a file: safetensors, with PyTorch's names and shapes ("0.weight"
 * [out, in], "3.running_mean" [channels], "4.0.bias" within a block), so that load_state_dict takes
 * them as they are. What the network needs besides (scaling, spec, shape of the data, version)
 * stands in __metadata__. No compute: epochd links this.
 *
 * BatchNorm's num_batches_tracked is left out: it counts for nothing where momentum is a number,
 * and load_state_dict, strict too, takes a missing one as zero.
 *
 * Format: https://huggingface.co/docs/safetensors (8 bytes of header length, JSON header, tensors).
 */
#ifndef EP_ENGINE_WEIGHTS_WEIGHTS_H
#define EP_ENGINE_WEIGHTS_WEIGHTS_H

#include "api/cancellation.h"
#include "api/names.h"
#include "engine/data/prepare/prepare.h"
#include "engine/plan/plan.h"
#include "engine/weights/safetensors.h"

/* Tensors with such names are no weights: a checkpoint (engine/checkpoints) has them besides. */
#define EP_CHECKPOINT_TENSOR_PREFIX "checkpoint."

/* In all functions below state is [ep_program_state_floats]: parameters, then buffers. */

/* Writes path atomically (temporary, fsync, rename, fsync of the folder). sha256:
 * [EP_SHA256_HEX_BYTES] hex of the whole file; bytes: its size. */
ep_status ep_weights_write(const char *path, const ep_plan *plan, const float *state,
                           const ep_scaling *scaling, const char *spec_text,
                           char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error);

/* The same, put in place when the group is. */
ep_status ep_weights_add(ep_durable_group *group, const char *path, const ep_plan *plan,
                         const float *state, const ep_scaling *scaling, const char *spec_text,
                         char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error);

/* Reads an open file written so, for the plan: every tensor there, with its shape, and no other.
 * state: written; NULL: only looked at. The file is not trusted. */
ep_status ep_weights_take(const ep_tensors *file, const ep_plan *plan, float *state,
                          ep_error *error);

/* First weights from a file of any making: every tensor that the plan names must be there as F32,
 * with its shape; others are passed over. EP_INVALID (with both shapes) when one is not, and
 * nothing is written. */
ep_status ep_weights_load_into(const char *path, const ep_plan *plan, float *state,
                               ep_error *error);
/* The same looked at, not read: what epochd asks at submission. */
ep_status ep_weights_check(const char *path, const ep_plan *plan, ep_error *error);

/* The tensors that a plan has, in the order of their places in `state`; names and shapes alone
 * where state is NULL. out->tensor is owned (ep_tensors_close), the values are lent. */
ep_status ep_weights_list(const ep_plan *plan, const float *state, ep_tensors *out,
                          ep_error *error);

/* The same weights as JSON:
 * {"format":"epochd-weights","tensors":{"0.weight":{"shape":[6,6],"data":[[…],…]},…},
 * "x_mean":[…]|null,…}, written atomically at json_path. */
ep_status ep_weights_to_json(const char *path, const char *json_path, const ep_cancellation *stop,
                             ep_error *error);

#endif
