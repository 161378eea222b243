/* capabilities.h: what a program needs and what an executor can do: one bit for each layer type,
 * loss and optimizer. A mask names the words that its executor knows, or a group: the words of a
 * list beside the formulas, for executors that compute by these alone. A new word that is in no
 * list goes to an executor that names it, and to no other. */
#ifndef EP_KERNELS_PLANS_CAPABILITIES_H
#define EP_KERNELS_PLANS_CAPABILITIES_H

#include "kernels/formulas/activations.h"
#include "kernels/formulas/losses.h"
#include "kernels/formulas/optimizers.h"

typedef struct {
  uint64_t layers;     /* 1 << ep_layer_type */
  uint32_t losses;     /* 1 << ep_loss_type */
  uint32_t optimizers; /* 1 << ep_optimizer_type */
} ep_capabilities;

#define EP_CAPABLE_LAYER(code) (UINT64_C(1) << EP_LAYER_##code)
#define EP_CAPABLE_GRAPH (UINT64_C(1) << 63) /* ops that do not stand in a line: graph.h */
#define EP_CAPABLE_LOSS(code) (UINT32_C(1) << EP_LOSS_##code)
#define EP_CAPABLE_OPTIMIZER(code) (UINT32_C(1) << EP_OPTIMIZER_##code)

/* --- groups ------------------------------------------------------------------------------- */

/* For an executor that computes them by kernels/formulas alone: a word that joins the list beside
 * its formula joins the group, and so all such executors. */
#define EP_CAPABLE_ADD_LAYER(code, ...) | EP_CAPABLE_LAYER(code)
#define EP_CAPABLE_ADD_LOSS(code, ...) | EP_CAPABLE_LOSS(code)
#define EP_CAPABLE_ADD_OPTIMIZER(code, ...) | EP_CAPABLE_OPTIMIZER(code)
#define EP_CAPABLE_ACTIVATIONS (UINT64_C(0) EP_ACTIVATIONS(EP_CAPABLE_ADD_LAYER))
#define EP_CAPABLE_ELEMENT_LOSSES (UINT32_C(0) EP_ELEMENT_LOSSES(EP_CAPABLE_ADD_LOSS))
#define EP_CAPABLE_CLASS_LOSSES (UINT32_C(0) EP_CLASS_LOSSES(EP_CAPABLE_ADD_LOSS))
#define EP_CAPABLE_OPTIMIZERS (UINT32_C(0) EP_OPTIMIZERS(EP_CAPABLE_ADD_OPTIMIZER))

/* These act on more than one number, and each executor has code of its own for them. A new one
 * joins a group once all executors that have the group know it; until then their masks name it. */
#define EP_CAPABLE_SOFTMAXES (EP_CAPABLE_LAYER(SOFTMAX) | EP_CAPABLE_LAYER(LOG_SOFTMAX))
#define EP_CAPABLE_DROPOUTS (EP_CAPABLE_LAYER(DROPOUT) | EP_CAPABLE_LAYER(DROPOUT2D))

/* Linear layers and activations. */
#define EP_CAPABLE_DENSE_LAYERS \
  (EP_CAPABLE_LAYER(LINEAR) | EP_CAPABLE_LAYER(FLATTEN) | EP_CAPABLE_ACTIVATIONS)

/* The layers that kernels/cuda/network runs, one after the other. */
#define EP_CAPABLE_NETWORK_LAYERS                                                           \
  (EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_SOFTMAXES | EP_CAPABLE_DROPOUTS |                   \
   EP_CAPABLE_LAYER(CONV2D) | EP_CAPABLE_LAYER(MAX_POOL2D) | EP_CAPABLE_LAYER(AVG_POOL2D) | \
   EP_CAPABLE_LAYER(ADAPTIVE_AVG_POOL2D) | EP_CAPABLE_LAYER(BATCH_NORM) |                   \
   EP_CAPABLE_LAYER(LAYER_NORM) | EP_CAPABLE_LAYER(EMBEDDING) | EP_CAPABLE_LAYER(ADD))

/* For executors whose tables have a row for each word, or do not link. */
#define EP_CAPABLE_EVERY_LAYER ((UINT64_C(1) << EP_LAYER_COUNT) - 1)

/* For cpu/reference alone: every loss and every optimizer too. */
#define EP_CAPABLE_OF_VOCABULARY                                                   \
  {                                                                                \
    EP_CAPABLE_EVERY_LAYER | EP_CAPABLE_GRAPH, (UINT32_C(1) << EP_LOSS_COUNT) - 1, \
        (UINT32_C(1) << EP_OPTIMIZER_COUNT) - 1                                    \
  }

/* --- the check ----------------------------------------------------------------------------- */

static inline ep_capabilities ep_program_needs(const ep_program *program) {
  ep_capabilities needs = {0, UINT32_C(1) << program->loss, UINT32_C(1) << program->optimizer.type};
  for (int i = 0; i < program->ops_count; i++) {
    needs.layers |= UINT64_C(1) << program->ops[i].type;
    if (!ep_op_is_in_line(&program->ops[i], i)) needs.layers |= EP_CAPABLE_GRAPH;
  }
  return needs;
}

static inline bool ep_capabilities_cover(ep_capabilities can, ep_capabilities needs) {
  return (needs.layers & ~can.layers) == 0 && (needs.losses & ~can.losses) == 0 &&
         (needs.optimizers & ~can.optimizers) == 0;
}

#endif
