#include <assert.h>

#include "engine/layers/layer.h"

#define DECLARE(code, ...) extern const ep_layer ep_layer_##code;
EP_LAYER_TABLE(DECLARE)

#define ROW(code, ...) &ep_layer_##code,
static const ep_layer *const rows[EP_LAYER_COUNT] = {EP_LAYER_TABLE(ROW)};

const ep_layer *ep_layer_of(ep_layer_type type) {
  assert(type >= 0 && type < EP_LAYER_COUNT);
  return rows[type];
}
