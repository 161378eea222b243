#include "engine/data/inputs/picture_rows.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/formats/picture_tree.h"
#include "engine/data/pictures/picture.h"
#include "engine/data/pictures/resize.h"

typedef struct {
  int channels, height, width; /* of a row */
  ep_picture_depth depth;
  int64_t values, most; /* of a row; of all rows */
  int64_t pixels;       /* that are still decoded */
  uint16_t *row;        /* room for [values] of either depth, owned */
  ep_picture_rows *out;
} reader;

static ep_status rows_allocate(reader *in, int64_t count, bool named, ep_error *error) {
  if (count > in->most / in->values)
    return ep_fail(error, EP_TOO_LARGE,
                   "%lld pictures of %lld values: predict at most %lld at once", (long long)count,
                   (long long)in->values, (long long)(in->most / in->values));
  in->row = malloc((size_t)in->values * sizeof *in->row);
  in->out->x = malloc((size_t)(count * in->values) * sizeof *in->out->x);
  if (named) in->out->name = calloc((size_t)count, sizeof *in->out->name);
  return in->row && in->out->x && (!named || in->out->name) ? EP_OK : ep_fail_memory(error);
}

/* The next row. error: without the name of the file. */
static ep_status picture_add(reader *in, const uint8_t *bytes, size_t size, ep_error *error) {
  ep_picture_header header;
  ep_picture picture;
  ep_status status = ep_picture_header_read(bytes, size, &header, error);
  if (status != EP_OK) return status;
  in->pixels -= (int64_t)header.height * header.width;
  if (in->pixels < 0)
    return ep_fail(error, EP_TOO_LARGE,
                   "with it there are more than %d pixels: predict fewer pictures at once",
                   EP_LIMIT_PREDICT_PIXELS);
  status = ep_picture_decode(bytes, size, in->channels, in->depth, &picture, error);
  if (status != EP_OK) return status;
  status = ep_picture_resize(&picture, in->height, in->width, in->row, error);
  ep_picture_deinit(&picture);
  if (status != EP_OK) return status;
  double *x = in->out->x + in->out->count++ * in->values;
  const uint8_t *bytes_row = (const uint8_t *)in->row;
  for (int64_t i = 0; i < in->values; i++)
    x[i] = in->depth == EP_DEPTH_16 ? in->row[i] : bytes_row[i];
  return EP_OK;
}

static ep_status entry_add(reader *in, const ep_archive *archive, const ep_picture_entry *picture,
                           ep_archive_file *file, ep_error *error) {
  ep_error why = {0};
  char **name = &in->out->name[in->out->count];
  ep_status status = ep_archive_read(archive, picture->index, EP_LIMIT_PICTURE_BYTES, file, error);
  if (status != EP_OK) return status;
  status = picture_add(in, file->bytes, file->count, &why);
  if (status == EP_NO_MEMORY) return ep_fail_memory(error);
  if (status != EP_OK)
    return ep_fail(error, status, "pictures: \"%s\": %s", file->shown, why.message);
  *name = strdup(picture->name);
  return *name ? EP_OK : ep_fail_memory(error);
}

static ep_status archive_read(reader *in, const uint8_t *bytes, size_t size, ep_error *error) {
  ep_archive archive;
  ep_picture_tree tree = {0};
  ep_archive_file file = {0};
  ep_status status = ep_archive_open(bytes, size, &archive, error);
  if (status != EP_OK) return status;
  status = ep_picture_tree_list(&archive, &tree, error);
  if (status == EP_OK) status = rows_allocate(in, tree.count, true, error);
  for (int64_t i = 0; i < tree.count && status == EP_OK; i++)
    status = entry_add(in, &archive, &tree.picture[i], &file, error);
  ep_picture_tree_deinit(&tree);
  ep_archive_close(&archive);
  free(file.memory);
  return status;
}

ep_status ep_picture_rows_read(const uint8_t *bytes, size_t size, int64_t channels, int64_t height,
                               int64_t width, bool deep, int64_t most_values, ep_picture_rows *out,
                               ep_error *error) {
  reader in = {.channels = (int)channels,
               .height = (int)height,
               .width = (int)width,
               .depth = deep ? EP_DEPTH_16 : EP_DEPTH_8,
               .values = channels * height * width,
               .most = most_values,
               .pixels = EP_LIMIT_PREDICT_PIXELS,
               .out = out};
  *out = (ep_picture_rows){0};
  ep_status status = EP_OK;
  if (ep_archive_recognise(bytes, size)) {
    status = archive_read(&in, bytes, size, error);
  } else {
    status = rows_allocate(&in, 1, false, error);
    if (status == EP_OK) status = picture_add(&in, bytes, size, error);
  }
  free(in.row);
  if (status != EP_OK) ep_picture_rows_deinit(out);
  return status;
}

void ep_picture_rows_deinit(ep_picture_rows *rows) {
  for (int64_t i = 0; rows->name && i < rows->count; i++) free(rows->name[i]);
  free(rows->name);
  free(rows->x);
  *rows = (ep_picture_rows){0};
}
