/* pictures.c: a ZIP or TAR of PNG and JPEG files in class folders (picture_tree.h). x: [channels,
 * height, width] of bytes, y: the number of the class. The archive is read twice: headers, which
 * say the size of the rows, and then pixels, one picture at a time. */
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/part_writer.h"
#include "engine/data/formats/format.h"
#include "engine/data/formats/picture_tree.h"
#include "engine/data/pictures/picture.h"
#include "engine/data/pictures/resize.h"

enum { FOUND_SIDE = 128 }; /* the longer one, where the commonest size is more than a row takes */

/* The two parts of a split that is being written. */
typedef struct {
  ep_part_writer x, y;
} pair_writer;

typedef struct {
  ep_ingest *ingest; /* lent */
  ep_archive archive;
  ep_picture_tree tree;
  ep_picture_size size;   /* of the rows */
  ep_archive_file file;   /* of one picture */
  int64_t unpacked_bytes; /* of all pictures so far */
} reader;

static bool recognise(const uint8_t *bytes, size_t size) {
  ep_archive archive;
  if (!ep_archive_recognise(bytes, size)) return false;
  if (ep_archive_open(bytes, size, &archive, NULL) != EP_OK)
    return ep_tar_recognise(bytes, size); /* read says what is wrong */
  bool found = ep_picture_tree_recognise(&archive);
  ep_archive_close(&archive);
  return found;
}

/* Unpacks the file of one picture into in->file. */
static ep_status file_unpack(reader *in, const ep_picture_entry *picture, ep_error *error) {
  int64_t most = in->ingest->budget_bytes - in->unpacked_bytes;
  if (most > EP_LIMIT_PICTURE_BYTES) most = EP_LIMIT_PICTURE_BYTES;
  return ep_archive_read(&in->archive, picture->index, most, &in->file, error);
}

/* Puts the entry before what was said of it. */
static ep_status picture_fail(const ep_archive_file *file, ep_status status, const ep_error *why,
                              ep_error *error) {
  if (status == EP_NO_MEMORY) return ep_fail_memory(error);
  return ep_fail(error, status, "pictures: \"%s\": %s", file->shown, why->message);
}

/* The first pass over one picture. */
static ep_status header_read(reader *in, ep_picture_entry *picture, bool *grey, ep_error *error) {
  ep_error why = {0};
  ep_picture_header header;
  ep_status status = file_unpack(in, picture, error);
  if (status != EP_OK) return status;
  status = ep_picture_header_read(in->file.bytes, in->file.count, &header, &why);
  if (status != EP_OK) return picture_fail(&in->file, status, &why, error);
  in->unpacked_bytes += (int64_t)in->file.count;
  picture->height = header.height;
  picture->width = header.width;
  *grey = *grey && header.grey;
  return EP_OK;
}

static int size_compare(const void *left, const void *right) {
  const ep_picture_size *a = left, *b = right;
  if (a->height != b->height) return a->height < b->height ? -1 : 1;
  return (a->width > b->width) - (a->width < b->width);
}

/* The commonest height and width; of several the least. */
static ep_status commonest_find(const ep_picture_tree *tree, ep_picture_size *out,
                                ep_error *error) {
  ep_picture_size *sizes = malloc((size_t)tree->count * sizeof *sizes);
  if (!sizes) return ep_fail_memory(error);
  for (int64_t i = 0; i < tree->count; i++)
    sizes[i] =
        (ep_picture_size){.height = tree->picture[i].height, .width = tree->picture[i].width};
  qsort(sizes, (size_t)tree->count, sizeof *sizes, size_compare);
  int64_t most = 0;
  for (int64_t begin = 0, i = 1; i <= tree->count; i++) {
    if (i < tree->count && size_compare(&sizes[begin], &sizes[i]) == 0) continue;
    if (i - begin > most) {
      most = i - begin;
      *out = sizes[begin];
    }
    begin = i;
  }
  free(sizes);
  return EP_OK;
}

static int64_t values_count(ep_picture_size size) {
  return (int64_t)size.height * size.width * size.channels;
}

static int scaled(int side, int longer) {
  int64_t found = ((int64_t)side * FOUND_SIDE + longer / 2) / longer;
  return found > 0 ? (int)found : 1;
}

static ep_status size_find(reader *in, bool grey, ep_error *error) {
  const ep_ingest_options *options = &in->ingest->options;
  int channels = options->channels > 0 ? options->channels : grey ? 1 : 3;
  in->size = (ep_picture_size){options->height, options->width, channels};
  if (options->height == 0) {
    ep_status status = commonest_find(&in->tree, &in->size, error);
    if (status != EP_OK) return status;
    in->size.channels = channels;
    if (values_count(in->size) <= EP_LIMIT_COLUMNS) return EP_OK;
    int longer = in->size.height > in->size.width ? in->size.height : in->size.width;
    in->size.height = scaled(in->size.height, longer);
    in->size.width = scaled(in->size.width, longer);
  }
  if (values_count(in->size) <= EP_LIMIT_COLUMNS) return EP_OK;
  return ep_fail(error, EP_INVALID,
                 "pictures: %d x %d pixels of %d channels are %lld values, and a row takes %d: ask "
                 "for a smaller size",
                 in->size.height, in->size.width, channels, (long long)values_count(in->size),
                 EP_LIMIT_COLUMNS);
}

static ep_status y_write(reader *in, ep_part_writer *writer, int class_number, ep_error *error) {
  uint8_t *out = ep_part_writer_next(writer);
  out[0] = (uint8_t)class_number;
  if (in->tree.classes > 256) out[1] = (uint8_t)(class_number >> 8);
  return ep_part_writer_commit(writer, error);
}

/* The second pass over one picture. */
static ep_status picture_write(reader *in, const ep_picture_entry *picture, pair_writer *writer,
                               ep_error *error) {
  ep_error why = {0};
  ep_picture_header header;
  uint8_t *pixels = NULL;
  ep_status status = file_unpack(in, picture, error);
  if (status != EP_OK) return status;
  status =
      ep_picture_decode(in->file.bytes, in->file.count, in->size.channels, &header, &pixels, &why);
  if (status != EP_OK) return picture_fail(&in->file, status, &why, error);
  ep_picture_size from = {header.height, header.width, in->size.channels};
  status = ep_picture_resize(pixels, from, in->size, ep_part_writer_next(&writer->x), error);
  free(pixels);
  if (status == EP_OK) status = ep_part_writer_commit(&writer->x, error);
  return status == EP_OK ? y_write(in, &writer->y, picture->class_number, error) : status;
}

static ep_status pair_open(reader *in, ep_split split, pair_writer *writer, ep_error *error) {
  ep_ingest *ingest = in->ingest;
  int64_t shape[] = {in->size.channels, in->size.height, in->size.width};
  ep_dtype dtype = in->tree.classes > 256 ? EP_DTYPE_U16 : EP_DTYPE_U8;
  ep_status status =
      ep_part_writer_open(&writer->x, ingest->folder, split, EP_ROLE_X, EP_DTYPE_U8,
                          values_count(in->size), NULL, &ingest->budget_bytes, error);
  if (status != EP_OK) return status;
  ep_part_writer_shape(&writer->x, 3, shape);
  status = ep_part_writer_open(&writer->y, ingest->folder, split, EP_ROLE_Y, dtype, 1, NULL,
                               &ingest->budget_bytes, error);
  if (status == EP_OK) ep_part_writer_shape(&writer->y, 0, NULL);
  return status;
}

/* Writes the pictures of one split, which begin with number `first`. *next: the one after them. */
static ep_status split_write(reader *in, int64_t first, int64_t *next, ep_error *error) {
  pair_writer writer = {0};
  ep_split split = in->tree.picture[first].split;
  ep_part *part = in->ingest->meta->part[split];
  ep_status status = pair_open(in, split, &writer, error);
  int64_t i = first;
  for (; i < in->tree.count && in->tree.picture[i].split == split && status == EP_OK; i++)
    status = picture_write(in, &in->tree.picture[i], &writer, error);
  *next = i;
  if (status == EP_OK) status = ep_part_writer_finish(&writer.x, &part[EP_ROLE_X], error);
  if (status == EP_OK) status = ep_part_writer_finish(&writer.y, &part[EP_ROLE_Y], error);
  ep_part_writer_abandon(&writer.x);
  ep_part_writer_abandon(&writer.y);
  return status;
}

static ep_status archive_read(reader *in, ep_error *error) {
  bool grey = true;
  ep_status status = ep_picture_tree_read(&in->archive, &in->tree, error);
  for (int64_t i = 0; i < in->tree.count && status == EP_OK; i++)
    status = header_read(in, &in->tree.picture[i], &grey, error);
  if (status == EP_OK) status = size_find(in, grey, error);
  in->unpacked_bytes = 0;
  for (int64_t i = 0; i < in->tree.count && status == EP_OK;)
    status = split_write(in, i, &i, error);
  return status;
}

/* The names of the classes become the description's. */
static void meta_fill(ep_dataset_meta *meta, ep_picture_tree *tree) {
  meta->class_name = tree->class_name;
  meta->classes = tree->classes;
  meta->left_out = tree->left_out;
  tree->class_name = NULL;
}

static ep_status read_pictures(ep_ingest *ingest, ep_error *error) {
  reader in = {.ingest = ingest};
  if (ingest->role != EP_ROLE_TABLE)
    return ep_fail(error, EP_INVALID,
                   "pictures in class folders are x and y at once: upload the archive to "
                   "/v1/datasets/NAME");
  ep_status status = ep_archive_open(ingest->bytes, ingest->size, &in.archive, error);
  if (status != EP_OK) return status;
  status = archive_read(&in, error);
  if (status == EP_OK) meta_fill(ingest->meta, &in.tree);
  ep_picture_tree_deinit(&in.tree);
  ep_archive_close(&in.archive);
  free(in.file.memory);
  return status;
}

const ep_format ep_format_pictures = {"pictures", recognise, read_pictures};
