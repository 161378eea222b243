/* A layer that lacks one of its facts does not compile: LACKS says which, 0 none. */
#include "engine/layers/layer.h"

#if LACKS == 0
EP_LAYER(CANARY, ep_lowering_keeps_shape, EP_ONNX_NODE("Abs"), EP_C_EACH("canary", "fabsf(v)"));
#elif LACKS == 1 /* its shape */
EP_LAYER(CANARY, EP_ONNX_NODE("Abs"), EP_C_EACH("canary", "fabsf(v)"));
#elif LACKS == 2 /* its ONNX */
EP_LAYER(CANARY, ep_lowering_keeps_shape, EP_C_EACH("canary", "fabsf(v)"));
#elif LACKS == 3 /* its C */
EP_LAYER(CANARY, ep_lowering_keeps_shape, EP_ONNX_NODE("Abs"));
#endif
