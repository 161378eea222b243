/* inspection.h: what each layer of a network looks like: norms of its gradient and its weights,
 * dead units, and a histogram of its outputs. By the plain loops of cpu/reference over a few rows,
 * so that it is the same of a network of any device. */
#ifndef EP_ENGINE_INSPECTION_INSPECTION_H
#define EP_ENGINE_INSPECTION_INSPECTION_H

#include "api/status.h"
#include "api/wire/event.h"
#include "kernels/program.h"

/* Workspace for one program and one sample of its training rows; opaque. */
typedef struct ep_inspection ep_inspection;

/* A sample of at most `rows` rows at equal distances of the training rows: x: [train_rows, the
 * stored shape's count] of x_type; y: as load_data takes it; both lent until destroy, as is the
 * program. names: [ops_count], torch's names of the layers. EP_NO_MEMORY. */
ep_status ep_inspection_create(const ep_program *program, char (*names)[EP_LIMIT_NAME_BYTES],
                               const void *x, const void *y, int64_t rows, ep_inspection **out,
                               ep_error *error);
void ep_inspection_destroy(ep_inspection *inspection); /* NULL is allowed */

/* Channels of an image, or columns of a vector, that are 0 in all rows. values: [rows, channels,
 * pixels]. */
int32_t ep_dead_units_count(const float *values, int64_t rows, ep_shape shape);

/* Runs the sample forwards and backwards as one batch, without augmentation and dropout;
 * batch_norm takes the sample's own statistics. state: [parameters + buffers]. records:
 * [EP_LIMIT_REPORTED_LAYERS], written, of kind LAYER. Returns how many; 0: a figure is not finite,
 * or no layer is worth a line. */
int ep_inspection_run(ep_inspection *inspection, const float *state, int64_t epoch,
                      ep_progress_record *records);

#endif
