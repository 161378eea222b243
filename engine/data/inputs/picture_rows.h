/* picture_rows.h: pictures to predict: a PNG or JPEG, or a ZIP or TAR of such files, as rows of the
 * size and channels that a network takes. */
#ifndef EP_ENGINE_DATA_INPUTS_PICTURE_ROWS_H
#define EP_ENGINE_DATA_INPUTS_PICTURE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  double *x; /* [count, channels, height, width], from 0 to 255 or 65535, owned */
  int64_t count;
  char **name; /* [count], of the files of an archive, owned, and each; NULL: of one picture */
} ep_picture_rows;

/* bytes: [size]. deep: the network was trained on 16 bits a channel, to which 8 bits are scaled;
 * otherwise 16 become 8. What becomes of a picture does not depend on the others. They are turned
 * and resized as those of an upload (pictures.c), in the order of the
 * archive; files that are none are passed over. EP_INVALID, with the name of the file: it cannot be
 * decoded, is larger than the limits, or leads out of the archive. EP_TOO_LARGE: x takes more than
 * most_values, or all pictures have more than EP_LIMIT_PREDICT_PIXELS. Nothing is to be freed on
 * failure. */
ep_status ep_picture_rows_read(const uint8_t *bytes, size_t size, int64_t channels, int64_t height,
                               int64_t width, bool deep, int64_t most_values, ep_picture_rows *out,
                               ep_error *error);

/* Rows of so many values as files in the empty folder, and back from there, where another process
 * wrote them, which is not trusted: EP_INTERNAL where they are not of that form. */
ep_status ep_picture_rows_write(const char *folder, const ep_picture_rows *rows, int64_t values,
                                ep_error *error);
ep_status ep_picture_rows_load(const char *folder, int64_t values, ep_picture_rows *out,
                               ep_error *error);

void ep_picture_rows_deinit(ep_picture_rows *rows); /* a zeroed one is allowed */

#endif
