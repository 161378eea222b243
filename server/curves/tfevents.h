/* tfevents.h: a job's curve as an event file of TensorBoard: a row of scalars for each point.
 *
 * Format: records (TFRecord: length, its checksum, bytes, their checksum; see tfevents.c), each a
 * message tensorflow.Event (tensorflow/core/util/event.proto, fields 1 wall_time, 2 step,
 * 3 file_version, 5 summary). */
#ifndef EP_SERVER_CURVES_TFEVENTS_H
#define EP_SERVER_CURVES_TFEVENTS_H

#include "api/responses/curve.h"

/* CRC-32C (Castagnoli), as iSCSI has it: of "123456789" it is 0xE3069283. */
uint32_t ep_crc32c(const void *bytes, size_t count);

/* The file's bytes, owned by the caller (free), and *bytes, how many: a first record that names the
 * version, then one for each point. Tags: "loss/train", "loss/validation", "error/train",
 * "error/validation", "train/elapsed_seconds"; a figure that is NaN because it does not apply (no
 * validation) has none, a loss that is not finite has. NULL: memory is short. */
void *ep_tfevents_format(const ep_curve_point *points, int64_t count, size_t *bytes);

#endif
