/* exports.h: a trained job as a C header: its weights, an example with what predict says of it,
 * and, where the weights are quantized, what that costs on the job's rows. On the CPU. */
#ifndef EP_ENGINE_WORKER_EXPORTS_H
#define EP_ENGINE_WORKER_EXPORTS_H

#include "api/wire/frame.h"
#include "engine/worker/inference.h"

/* Obeys EP_COMMAND_EXPORT; predictor: the thread's. Besides the file, a quantized export leaves one
 * of that name and ".safetensors". EP_TOO_LARGE: the header would be. */
ep_status ep_export_write(const char *data_dir, const ep_command *command, ep_predictor *predictor,
                          ep_error *error);

#endif
