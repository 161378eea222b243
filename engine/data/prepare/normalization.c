#include "engine/data/prepare/normalization.h"

#include <stdlib.h>

static double scale_find(const ep_data_spec *data, bool bytes) {
  if (data->scale != 0) return data->scale;
  return bytes && data->normalize ? 1.0 / 255 : 1;
}

ep_status ep_normalization_find(const ep_data_spec *data, ep_shape row, bool bytes,
                                ep_normalization *out, ep_error *error) {
  double scale = scale_find(data, bytes);
  *out = (ep_normalization){0};
  if (data->standardize_x || (!data->normalize && scale == 1)) return EP_OK;
  if (data->normalize && data->normalize_channels != 1 && data->normalize_channels != row.channels)
    return ep_fail_at(
        error, EP_INVALID, "/data/normalize",
        "numbers for %d channels, but a row has %lld: give one per channel, or one for all",
        data->normalize_channels, (long long)row.channels);
  out->factor = malloc((size_t)row.channels * sizeof *out->factor);
  out->offset = malloc((size_t)row.channels * sizeof *out->offset);
  if (!out->factor || !out->offset) {
    ep_normalization_deinit(out);
    return ep_fail_memory(error);
  }
  out->channels = row.channels;
  out->plane = row.height * row.width;
  for (int64_t c = 0; c < row.channels; c++) {
    int64_t given = data->normalize_channels == 1 ? 0 : c;
    double mean = data->normalize && data->normalize_mean ? data->normalize_mean[given] : 0;
    double std = data->normalize && data->normalize_std ? data->normalize_std[given] : 1;
    out->factor[c] = scale / std;
    out->offset[c] = mean == 0 ? 0 : -mean / std;
  }
  return EP_OK;
}

void ep_normalization_apply(const ep_normalization *normalization, double *x, int64_t rows) {
  int64_t channels = rows * normalization->channels;
  for (int64_t i = 0; i < channels; i++) {
    double factor = normalization->factor[i % normalization->channels];
    double offset = normalization->offset[i % normalization->channels];
    double *value = x + i * normalization->plane;
    for (int64_t j = 0; j < normalization->plane; j++) value[j] = value[j] * factor + offset;
  }
}

void ep_normalization_deinit(ep_normalization *normalization) {
  free(normalization->factor);
  free(normalization->offset);
  *normalization = (ep_normalization){0};
}
