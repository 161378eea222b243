/* Cases from the rows of a table: see cases.h. */
#include <stdio.h>
#include <string.h>

#include "tests/gpu/cases.h"

ep_case *ep_gpu_net_create(const ep_gpu_net *row, bool biases, const ep_case_training *training) {
  const ep_shape image = {1, row->in_features, 1}; /* bytes have a scale a channel */
  ep_case *self = training->bytes ? ep_case_create_image(row->name, image, row->loss)
                                  : ep_case_create(row->name, row->in_features, row->loss);
  if (training->bytes) ep_case_add(self, EP_LAYER_FLATTEN);
  for (int i = 0; row->widths[i]; i++) {
    if (i > 0) ep_case_add(self, row->between);
    ep_case_add_linear(self, row->widths[i], biases);
  }
  ep_case_finish(self, training);
  return self;
}

ep_case *ep_gpu_precision_set(ep_case *self, ep_precision precision) {
  self->program.precision = precision;
  size_t length = strlen(self->name);
  snprintf(self->name + length, sizeof self->name - length, ", %s",
           ep_precision_name((int)precision));
  return self;
}
