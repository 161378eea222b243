/* batch.h: stored rows become the network's input: cropped, augmented, bytes scaled. */
#ifndef EP_KERNELS_CPU_LAYERS_BATCH_H
#define EP_KERNELS_CPU_LAYERS_BATCH_H

#include "kernels/formulas/augment.h"

/* Row `row` of x, [rows, the stored shape's count] of x_type, as evaluation sees it, and as epoch
 * `epoch` of training does. out: [in_features], written. */
void ep_reference_read_evaluation_row(const ep_program *program, const void *x, int64_t row,
                                      ep_real *out);
void ep_reference_read_training_row(const ep_program *program, const void *x, int64_t row,
                                    int64_t epoch, ep_real *out);

#endif
