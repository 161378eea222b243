/* onnx.h: a trained network as an ONNX file: opset 17, IR version 8.
 *
 * Of a table whose columns were encoded: an input a column that becomes features, by its name, [N,
 * 1]: words are strings ("" is missing), numbers are float64 (NaN is missing), dates are seconds
 * since 1970-01-01 UTC, float64 (times of day: since midnight). Outputs: "y" as below, and of a
 * classifier with one class a row "class", [N], strings where classes have names, else int64, and
 * "probabilities", float32 [N, classes]: those of POST /v1/jobs/{id}/predict. An output whose name
 * a column has gets "_" behind it. Words that the model does not know count as others, also where
 * the job refuses them. The opset of ai.onnx.ml is 2. Of all else:
 *
 * Input "x": float32 [N, channels, height, width], or [N, features] where a row is a vector, in the
 * units of the data: normalization and standardization are within. Output "y": float32 [N,
 * out_features], what the network yields (logits stay logits), with the standardization of y
 * undone: the same numbers as POST /v1/jobs/{id}/predict.
 *
 * Format: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */
#ifndef EP_ENGINE_WEIGHTS_ONNX_H
#define EP_ENGINE_WEIGHTS_ONNX_H

#include "api/cancellation.h"
#include "api/status.h"

enum { EP_ONNX_OPSET = 17, EP_ONNX_ML_OPSET = 2, EP_ONNX_IR_VERSION = 8 };

/* From the safetensors file at `path`, which must be one of ours (engine/weights/weights.h);
 * onnx_path is written atomically. EP_INVALID when it would be over 2 GiB, the most a protobuf
 * message holds, or two columns of a table have one name. */
ep_status ep_weights_to_onnx(const char *path, const char *onnx_path, const ep_cancellation *stop,
                             ep_error *error);

#endif
