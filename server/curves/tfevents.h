/* tfevents.h: a job's curve as an event file of TensorBoard: scalars for each point.
 *
 * Format: records (TFRecord: length, its checksum, bytes, their checksum; see tfevents.c), each a
 * message tensorflow.Event (tensorflow/core/util/event.proto, fields 1 wall_time, 2 step,
 * 3 file_version, 5 summary). */
#ifndef EP_SERVER_CURVES_TFEVENTS_H
#define EP_SERVER_CURVES_TFEVENTS_H

#include "api/responses/curve.h"

/* CRC-32C (Castagnoli), as iSCSI has it: of "123456789" it is 0xE3069283. */
uint32_t ep_crc32c(const void *bytes, size_t count);

/* The file, *bytes long, owned by the caller (free); NULL: memory is short. A first record names
 * the version, then there is one for each point. Tags: "loss/train", "loss/validation",
 * "error/train", "error/validation", "train/elapsed_seconds". A value that does not apply (NaN:
 * there is no validation) has no scalar; a training loss that is not finite has one. */
void *ep_tfevents_format(const ep_curve_point *points, int64_t count, size_t *bytes);

#endif
