/* normalization.h: "normalize" and "scale" of a spec, by channel. */
#ifndef EP_ENGINE_DATA_PREPARE_NORMALIZATION_H
#define EP_ENGINE_DATA_PREPARE_NORMALIZATION_H

#include "api/spec/job_spec.h"
#include "api/status.h"
#include "kernels/program.h"

/* normalized = value * factor + offset, by channel, which equals
 * ((value * scale) - mean) / std. `scale` is 1 unless given, and 1 / 255 for bytes with
 * "normalize". Standardized data has none. */
typedef struct {
  int64_t channels, plane; /* columns of x are [channels, plane]; 0 channels: nothing to do */
  double *factor, *offset; /* [channels], owned */
} ep_normalization;

/* The normalization of rows with that shape. `bytes`: they are stored as unsigned bytes. EP_INVALID
 * at /data/normalize when the numbers of channels differ. */
ep_status ep_normalization_find(const ep_data_spec *data, ep_shape row, bool bytes,
                                ep_normalization *out, ep_error *error);
/* x: [rows, channels * plane] in units of the data, changed in place. */
void ep_normalization_apply(const ep_normalization *normalization, double *x, int64_t rows);
void ep_normalization_deinit(ep_normalization *normalization);

#endif
