/* npz.h: a weights file as NumPy's archive of arrays: np.load(path)["0.weight"].
 *
 * Formats: ZIP (PKWARE's APPNOTE 6.3, without compression, with the 64-bit fields throughout, so
 * that there is one form for all sizes) of NPY files (numpy.lib.format, version 1.0). */
#ifndef EP_ENGINE_WEIGHTS_NPZ_H
#define EP_ENGINE_WEIGHTS_NPZ_H

#include "api/cancellation.h"
#include "api/status.h"

/* Every float32 tensor of the safetensors file at `path` under its name, in float32. npz_path is
 * written atomically. The scaling of x and y is not in it. */
ep_status ep_weights_to_npz(const char *path, const char *npz_path, const ep_cancellation *stop,
                            ep_error *error);

#endif
