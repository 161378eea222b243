#include "engine/layers/lowering.h"

#include <stdarg.h>
#include <stdio.h>

const char *ep_shape_format(ep_shape shape, int rank, char text[EP_SHAPE_BYTES]) {
  if (rank == 3)
    snprintf(text, EP_SHAPE_BYTES, "[%lld, %lld, %lld]", (long long)shape.channels,
             (long long)shape.height, (long long)shape.width);
  else if (rank == 2)
    snprintf(text, EP_SHAPE_BYTES, "[%lld, %lld]", (long long)shape.channels,
             (long long)shape.width);
  else
    snprintf(text, EP_SHAPE_BYTES, "[%lld]", (long long)ep_shape_count(shape));
  return text;
}

bool ep_lowering_refuse(ep_lowering *w, const char *field, const char *format, ...) {
  char pointer[EP_POINTER_BYTES + 32], detail[EP_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  snprintf(pointer, sizeof pointer, "%s%s%s", w->pointer, field[0] ? "/" : "", field);
  ep_problem_add(w->problem, EP_INVALID, pointer, "%s", detail);
  return false;
}

const char *ep_lowering_shape(const ep_lowering *w, char text[EP_SHAPE_BYTES]) {
  return ep_shape_format(w->shape, w->in_rank, text);
}

bool ep_lowering_needs_image(ep_lowering *w, const ep_layer_spec *layer) {
  char text[EP_SHAPE_BYTES];
  const char *type = ep_layer_type_name(layer->type);
  if (w->in_rank == 3) return true;
  if (w->from[0] == 0)
    return ep_lowering_refuse(w, "", "%s requires images [C, H, W]: set data.shape", type);
  return ep_lowering_refuse(w, "", "%s requires images [C, H, W], its input is %s", type,
                            ep_lowering_shape(w, text));
}

bool ep_lowering_needs_vector(ep_lowering *w) {
  char text[EP_SHAPE_BYTES];
  return w->in_rank == 1 ||
         ep_lowering_refuse(w, "", "insert a flatten layer before layer %s, whose input is %s",
                            w->name, ep_lowering_shape(w, text));
}

void ep_lowering_inputs_check(ep_lowering *w, const char *field, const char *noun, int64_t given,
                              int64_t there) {
  if (given == 0 || given == there) return;
  if (w->from[0] > 0)
    ep_lowering_refuse(w, field, "layer %s expects %lld %s, layer %s outputs %lld", w->name,
                       (long long)given, noun, w->names[w->from[0] - 1], (long long)there);
  else
    ep_lowering_refuse(w, field, "layer %s expects %lld %s, the data has %lld%s", w->name,
                       (long long)given, noun, (long long)there, w->in_rank == 3 ? "" : " columns");
}

bool ep_lowering_keeps_shape(ep_lowering *w, const ep_layer_spec *layer, ep_op *op) {
  (void)w, (void)layer, (void)op;
  return true;
}
