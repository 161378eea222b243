/* pictures.c: a ZIP or TAR of PNG and JPEG files in class folders (picture_tree.h). x: [channels,
 * height, width] of bytes, or of uint16_t where a picture has 16 bits; y: the number of the class.
 * The archive is read twice: headers, which say the size of the rows, and then pixels, one picture
 * at a time. All pictures that cannot be read are found before the archive is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/part_writer.h"
#include "engine/data/formats/format.h"
#include "engine/data/formats/picture_tree.h"
#include "engine/data/pictures/picture.h"
#include "engine/data/pictures/resize.h"

enum {
  FOUND_SIDE = 128, /* the longer one, where the commonest size is more than a row takes */
  NAMES_BYTES = 320 /* of files that are left out, in a note */
};

/* The two parts of a split that is being written. */
typedef struct {
  ep_part_writer x, y;
} pair_writer;

typedef struct {
  ep_ingest *ingest; /* lent */
  ep_archive archive;
  ep_picture_tree tree;
  ep_picture_depth depth; /* of the rows, as the others */
  int height, width, channels;
  ep_archive_file file;         /* of one picture */
  int64_t unpacked_bytes;       /* of all pictures so far */
  int64_t deep, turned, broken; /* pictures of 16 bits; stored turned; that cannot be read */
  char first[EP_MESSAGE_BYTES]; /* what is wrong with the first that is broken */
  char names[NAMES_BYTES];      /* of those that are broken, as many as there is room for */
  int64_t named;
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

/* Notes that the picture cannot be read. what: says so, with its name. */
static void broken_add(reader *in, ep_picture_entry *picture, const char *what) {
  size_t used = strlen(in->names);
  const char *comma = used > 0 ? ", " : "";
  picture->broken = true;
  in->deep -= picture->deep;
  in->turned -= picture->turned;
  if (in->broken++ == 0) snprintf(in->first, sizeof in->first, "%s", what);
  if (in->ingest->options.faults)
    ep_problem_add(in->ingest->options.faults, EP_INVALID, "", "%s", what);
  if (used + strlen(comma) + strlen(in->file.shown) + 3 > sizeof in->names) return;
  snprintf(in->names + used, sizeof in->names - used, "%s\"%s\"", comma, in->file.shown);
  in->named++;
}

/* Unpacks the file of one picture into in->file. */
static ep_status file_unpack(reader *in, ep_picture_entry *picture, ep_error *error) {
  ep_error why = {0};
  int64_t most = in->ingest->budget_bytes - in->unpacked_bytes;
  if (most > EP_LIMIT_PICTURE_BYTES) most = EP_LIMIT_PICTURE_BYTES;
  ep_status status = ep_archive_read(&in->archive, picture->index, most, &in->file, &why);
  if (status == EP_INVALID) {
    ep_excerpt_path(in->file.shown, picture->name, strlen(picture->name));
    broken_add(in, picture, why.message);
  } else if (status != EP_OK) {
    return ep_fail(error, status, "%s", why.message);
  }
  return EP_OK;
}

/* Of a picture that was unpacked, and is not what it should be. */
static ep_status picture_fail(reader *in, ep_picture_entry *picture, ep_status status,
                              const ep_error *why, ep_error *error) {
  char what[EP_MESSAGE_BYTES];
  if (status == EP_NO_MEMORY) return ep_fail_memory(error);
  if (status != EP_INVALID)
    return ep_fail(error, status, "pictures: \"%s\": %s", in->file.shown, why->message);
  snprintf(what, sizeof what, "\"%s\": %.300s", in->file.shown, why->message);
  broken_add(in, picture, what);
  return EP_OK;
}

/* The first pass over one picture. */
static ep_status header_read(reader *in, ep_picture_entry *picture, bool *grey, ep_error *error) {
  ep_error why = {0};
  ep_picture_header header;
  ep_status status = file_unpack(in, picture, error);
  if (status != EP_OK || picture->broken) return status;
  status = ep_picture_header_read(in->file.bytes, in->file.count, &header, &why);
  if (status != EP_OK) return picture_fail(in, picture, status, &why, error);
  in->unpacked_bytes += (int64_t)in->file.count;
  picture->height = header.height;
  picture->width = header.width;
  picture->deep = header.deep;
  picture->turned = header.orientation != 1;
  in->deep += picture->deep;
  in->turned += picture->turned;
  *grey = *grey && header.grey;
  return EP_OK;
}

typedef struct {
  int height, width;
} picture_size;

static int size_compare(const void *left, const void *right) {
  const picture_size *a = left, *b = right;
  if (a->height != b->height) return a->height < b->height ? -1 : 1;
  return (a->width > b->width) - (a->width < b->width);
}

/* The commonest height and width; of several the least. */
static ep_status commonest_find(reader *in, ep_error *error) {
  const ep_picture_tree *tree = &in->tree;
  picture_size *sizes = malloc((size_t)tree->count * sizeof *sizes);
  if (!sizes) return ep_fail_memory(error);
  int64_t count = 0, most = 0;
  for (int64_t i = 0; i < tree->count; i++)
    if (!tree->picture[i].broken)
      sizes[count++] = (picture_size){tree->picture[i].height, tree->picture[i].width};
  qsort(sizes, (size_t)count, sizeof *sizes, size_compare);
  for (int64_t begin = 0, i = 1; i <= count; i++) {
    if (i < count && size_compare(&sizes[begin], &sizes[i]) == 0) continue;
    if (i - begin > most) {
      most = i - begin;
      in->height = sizes[begin].height;
      in->width = sizes[begin].width;
    }
    begin = i;
  }
  free(sizes);
  return EP_OK;
}

static int64_t values_count(const reader *in) {
  return (int64_t)in->height * in->width * in->channels;
}

static int scaled(int side, int longer) {
  int64_t found = ((int64_t)side * FOUND_SIDE + longer / 2) / longer;
  return found > 0 ? (int)found : 1;
}

static ep_status size_find(reader *in, bool grey, ep_error *error) {
  const ep_ingest_options *options = &in->ingest->options;
  in->depth = in->deep > 0 ? EP_DEPTH_16 : EP_DEPTH_8;
  in->channels = options->channels > 0 ? options->channels : grey ? 1 : 3;
  in->height = options->height;
  in->width = options->width;
  if (options->height == 0) {
    ep_status status = commonest_find(in, error);
    if (status != EP_OK) return status;
    if (values_count(in) <= EP_LIMIT_COLUMNS) return EP_OK;
    int longer = in->height > in->width ? in->height : in->width;
    in->height = scaled(in->height, longer);
    in->width = scaled(in->width, longer);
  }
  if (values_count(in) <= EP_LIMIT_COLUMNS) return EP_OK;
  return ep_fail(error, EP_INVALID,
                 "pictures: %d x %d pixels of %d channels are %lld values, and the limit of a row "
                 "is %d: choose a smaller size",
                 in->height, in->width, in->channels, (long long)values_count(in),
                 EP_LIMIT_COLUMNS);
}

static ep_status y_write(reader *in, ep_part_writer *writer, int class_number, ep_error *error) {
  uint8_t *out = ep_part_writer_next(writer);
  out[0] = (uint8_t)class_number;
  if (in->tree.classes > 256) out[1] = (uint8_t)(class_number >> 8);
  return ep_part_writer_commit(writer, error);
}

static ep_status pair_open(reader *in, ep_split split, pair_writer *writer, ep_error *error) {
  ep_ingest *ingest = in->ingest;
  int64_t shape[] = {in->channels, in->height, in->width};
  ep_dtype dtype = in->tree.classes > 256 ? EP_DTYPE_U16 : EP_DTYPE_U8;
  ep_status status = ep_part_writer_open(&writer->x, ingest->folder, split, EP_ROLE_X,
                                         in->depth == EP_DEPTH_16 ? EP_DTYPE_U16 : EP_DTYPE_U8,
                                         values_count(in), NULL, &ingest->budget_bytes, error);
  if (status != EP_OK) return status;
  ep_part_writer_shape(&writer->x, 3, shape);
  status = ep_part_writer_open(&writer->y, ingest->folder, split, EP_ROLE_Y, dtype, 1, NULL,
                               &ingest->budget_bytes, error);
  if (status == EP_OK) ep_part_writer_shape(&writer->y, 0, NULL);
  return status;
}

/* The parts of a split without a picture are not there. */
static ep_status picture_write(reader *in, const ep_picture_entry *picture,
                               const ep_picture *pixels, pair_writer *writer, ep_error *error) {
  ep_status status = EP_OK;
  if (!writer->x.buffer) status = pair_open(in, picture->split, writer, error);
  if (status == EP_OK)
    status =
        ep_picture_resize(pixels, in->height, in->width, ep_part_writer_next(&writer->x), error);
  if (status == EP_OK) status = ep_part_writer_commit(&writer->x, error);
  return status == EP_OK ? y_write(in, &writer->y, picture->class_number, error) : status;
}

/* The second pass over one picture. Nothing is written any more of an archive that is refused. */
static ep_status picture_read(reader *in, ep_picture_entry *picture, pair_writer *writer,
                              ep_error *error) {
  ep_error why = {0};
  ep_picture pixels;
  ep_status status = file_unpack(in, picture, error);
  if (status != EP_OK || picture->broken) return status;
  status =
      ep_picture_decode(in->file.bytes, in->file.count, in->channels, in->depth, &pixels, &why);
  if (status != EP_OK) return picture_fail(in, picture, status, &why, error);
  if (in->broken == 0 || in->ingest->options.skip_broken)
    status = picture_write(in, picture, &pixels, writer, error);
  ep_picture_deinit(&pixels);
  return status;
}

/* Reads the pictures of one split, which begin with number `first`. *next: the one after them. */
static ep_status split_read(reader *in, int64_t first, int64_t *next, ep_error *error) {
  pair_writer writer = {0};
  ep_split split = in->tree.picture[first].split;
  ep_part *part = in->ingest->meta->part[split];
  ep_status status = EP_OK;
  int64_t i = first;
  for (; i < in->tree.count && in->tree.picture[i].split == split && status == EP_OK; i++)
    if (!in->tree.picture[i].broken)
      status = picture_read(in, &in->tree.picture[i], &writer, error);
  *next = i;
  if (status == EP_OK && writer.x.buffer)
    status = ep_part_writer_finish(&writer.x, &part[EP_ROLE_X], error);
  if (status == EP_OK && writer.x.buffer)
    status = ep_part_writer_finish(&writer.y, &part[EP_ROLE_Y], error);
  ep_part_writer_abandon(&writer.x);
  ep_part_writer_abandon(&writer.y);
  return status;
}

/* Without what is left out, each class needs a training picture; these come first, by class. */
static ep_status classes_check(const reader *in, ep_error *error) {
  int next = 0;
  for (int64_t i = 0; i < in->tree.count && in->tree.picture[i].split == EP_SPLIT_TRAIN; i++)
    next += !in->tree.picture[i].broken && in->tree.picture[i].class_number == next;
  if (next == in->tree.classes) return EP_OK;
  return ep_fail(error, EP_INVALID, "pictures: no training picture of \"%s\" can be read: %s",
                 in->tree.class_name[next].name, in->first);
}

static ep_status broken_check(const reader *in, ep_error *error) {
  long long broken = (long long)in->broken, count = (long long)in->tree.count;
  if (broken == 0) return EP_OK;
  if (in->ingest->options.skip_broken) return classes_check(in, error);
  if (broken == 1)
    return ep_fail(error, EP_INVALID, "pictures: %.380s; ?broken=skip skips it", in->first);
  return ep_fail(
      error, EP_INVALID,
      "pictures: %lld of %lld cannot be read, the first: %.380s; ?broken=skip skips them", broken,
      count, in->first);
}

static ep_status archive_read(reader *in, ep_error *error) {
  bool grey = true;
  ep_status status = ep_picture_tree_read(&in->archive, &in->tree, error);
  for (int64_t i = 0; i < in->tree.count && status == EP_OK; i++)
    status = header_read(in, &in->tree.picture[i], &grey, error);
  if (status == EP_OK && in->broken == in->tree.count) return broken_check(in, error);
  if (status == EP_OK) status = size_find(in, grey, error);
  in->unpacked_bytes = 0;
  for (int64_t i = 0; i < in->tree.count && status == EP_OK;) status = split_read(in, i, &i, error);
  return status == EP_OK ? broken_check(in, error) : status;
}

static void depth_note(const reader *in, ep_dataset_meta *meta) {
  const ep_part *x = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_X];
  double least = x->column[0].min, most = x->column[0].max;
  for (int64_t i = 1; i < x->columns; i++) {
    if (x->column[i].min < least) least = x->column[i].min;
    if (x->column[i].max > most) most = x->column[i].max;
  }
  ep_notes_add(&meta->notes, "values of 16 bits are stored as they are: from %.0f to %.0f in train",
               least, most);
  int64_t others = in->tree.count - in->broken - in->deep;
  if (others > 0)
    ep_notes_add(&meta->notes,
                 "%lld picture%s of 8 bits %s stored times 257, so that white is 65535",
                 (long long)others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
}

static void notes_add(const reader *in, ep_dataset_meta *meta) {
  const ep_picture_tree *tree = &in->tree;
  if (in->broken > 0)
    ep_notes_add(&meta->notes, "%lld of %lld pictures cannot be read and %s left out: %s%s",
                 (long long)in->broken, (long long)tree->count, in->broken == 1 ? "is" : "are",
                 in->names, in->named < in->broken ? " and others" : "");
  if (tree->alike)
    ep_notes_add(&meta->notes,
                 "the class folders have the same folders in them: where \"%.80s\" and \"%.80s\" "
                 "are splits, name them train, val or test",
                 tree->class_name[0].name, tree->class_name[1].name);
  if (tree->split_class >= 0)
    ep_notes_add(&meta->notes,
                 "the class \"%.80s\" has the name of a split: a split must contain class folders",
                 tree->class_name[tree->split_class].name);
  if (in->depth == EP_DEPTH_16) depth_note(in, meta);
  if (in->turned > 0)
    ep_notes_add(&meta->notes, "%lld of %lld pictures %s rotated by %s EXIF orientation",
                 (long long)in->turned, (long long)tree->count, in->turned == 1 ? "is" : "are",
                 in->turned == 1 ? "its" : "their");
  if (tree->unlabelled > 0)
    ep_notes_add(&meta->notes, "%lld %s no class and %s left out", (long long)tree->unlabelled,
                 tree->unlabelled == 1 ? "picture to predict has" : "pictures to predict have",
                 tree->unlabelled == 1 ? "is" : "are");
}

/* The names of the classes become the description's. */
static void meta_fill(ep_dataset_meta *meta, reader *in) {
  notes_add(in, meta);
  meta->class_name = in->tree.class_name;
  meta->classes = in->tree.classes;
  meta->left_out = in->tree.left_out + in->broken;
  in->tree.class_name = NULL;
}

static ep_status read_pictures(ep_ingest *ingest, ep_error *error) {
  reader in = {.ingest = ingest};
  if (ingest->role != EP_ROLE_TABLE)
    return ep_fail(
        error, EP_INVALID,
        "pictures in class folders contain both x and y: upload the archive as the whole dataset");
  ep_status status = ep_archive_open(ingest->bytes, ingest->size, &in.archive, error);
  if (status != EP_OK) return status;
  status = archive_read(&in, error);
  if (status == EP_OK) meta_fill(ingest->meta, &in);
  ep_picture_tree_deinit(&in.tree);
  ep_archive_close(&in.archive);
  free(in.file.memory);
  return status;
}

const ep_format ep_format_pictures = {"pictures", recognise, read_pictures};
