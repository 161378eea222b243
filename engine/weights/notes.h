/* notes.h: what a weights file says besides its tensors, as texts in __metadata__: "format"
 * ("pt"), "epochd" (the version), "spec", the scaling of x and y ("x_mean", …: arrays of numbers,
 * or null), how columns became x ("columns", as encoding_json.h has them), which one is predicted
 * ("target") and its words ("classes"), of tables that were encoded, and how many rows make an
 * example of a series ("window"); "names" of the columns of
 * plain numbers, and their "ranges"; how bytes become numbers
 * ("x_scale", "x_shift", by channel) and "data", the shape of the data. */
#ifndef EP_ENGINE_WEIGHTS_NOTES_H
#define EP_ENGINE_WEIGHTS_NOTES_H

#include "engine/data/prepare/prepare.h"
#include "engine/plan/plan.h"
#include "engine/weights/safetensors.h"

/* All notes of a file; out->note is owned (ep_tensors_close), also on failure. */
ep_status ep_weights_notes_list(const ep_plan *plan, const ep_scaling *scaling,
                                const char *spec_text, ep_tensors *out, ep_error *error);

/* What an untrusted file says; *out is the caller's to deinit, also on failure. x_columns and
 * y_columns: how many figures there must be. */
ep_status ep_weights_notes_scaling(const ep_tensors *file, int64_t x_columns, int64_t y_columns,
                                   ep_scaling *out, ep_error *error);
/* Of a table that was encoded into `features` columns of x: NULL where the file says nothing of
 * columns. Owned by the caller (ep_encoding_deinit, free). */
ep_status ep_weights_notes_encoding(const ep_tensors *file, int64_t features, ep_encoding **out,
                                    ep_error *error);
/* Of a table of plain numbers, by its names: each cell becomes itself (ep_encoding_plain). NULL,
 * and owned, as above. */
ep_status ep_weights_notes_names(const ep_tensors *file, ep_encoding **out, ep_error *error);
/* The names of the classes; empty where the file has none. Owned by the caller (ep_words_deinit).
 */
ep_status ep_weights_notes_classes(const ep_tensors *file, ep_words *out, ep_error *error);
ep_status ep_weights_notes_shape(const ep_tensors *file, ep_data_shape *out, ep_error *error);

#endif
