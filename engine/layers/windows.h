/* windows.h: what layers have in common that slide a window over an image. */
#ifndef EP_ENGINE_LAYERS_WINDOWS_H
#define EP_ENGINE_LAYERS_WINDOWS_H

#include "engine/layers/c/op.h"
#include "engine/layers/lowering.h"
#include "engine/layers/onnx/graph.h"

/* Fills in the op's window, and the height and width that it makes. span: of the window with its
 * gaps, written. False, with an error, where the window does not fit. */
bool ep_lowering_window(ep_lowering *w, const ep_layer_spec *layer, ep_op *op, int64_t span[2]);

/* Kernel, strides and padding of a window, which ONNX pads on each side by itself; its gaps. */
void ep_onnx_window(ep_protobuf *node, const ep_op *op);
void ep_onnx_dilations(ep_protobuf *node, const ep_op *op);

/* "@_window", which has sides and window, and what looks along an axis; the op's table of that
 * type; a call on it, x and y, without its end; and with it. */
extern const ep_c_function ep_c_window;
void ep_c_window_table(const ep_c_op *c);
void ep_c_window_begin(const ep_c_op *c);
void ep_c_window_call(const ep_c_op *c);

#endif
