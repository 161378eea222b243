/* array.h: an array of numbers, as it lies in whatever file, becomes a part of a dataset. */
#ifndef EP_ENGINE_DATA_FORMATS_ARRAY_H
#define EP_ENGINE_DATA_FORMATS_ARRAY_H

#include "engine/data/arrays/npy_header.h"
#include "engine/data/formats/format.h"

/* Writes the array as the part of that split and role: in C order, little-endian, with its own type
 * and shape (a table is flat). Its extent was found. values: rows * columns of them. */
ep_status ep_array_store(ep_ingest *ingest, const ep_array_header *array, const uint8_t *values,
                         ep_split split, ep_role role, ep_error *error);

/* Which part an array of this name is: "x", "y_train", "test_x", "val_y", "X_test",
 * "train_images", … False when it is none. */
bool ep_array_part_find(const char *name, ep_split *split, ep_role *role);

/* Which split a word of so many bytes stands for: "train", "Testing", "valid_set", "seg-train", …
 * (the table is in array.c), in any case, with '_', '-', spaces or nothing between. */
bool ep_array_split_find(const char *word, size_t bytes, ep_split *split);

/* The array called `name`, which stands for that part, is the next to be read: EP_INVALID when the
 * part is there already. */
ep_status ep_array_part_check(const ep_ingest *ingest, const char *format, const char *name,
                              ep_split split, ep_role role, ep_error *error);

/* After the last array of a file of many: EP_INVALID unless there is training data, and x and y of
 * every split, with as many rows. */
ep_status ep_array_parts_check(const ep_ingest *ingest, const char *format, ep_error *error);

#endif
