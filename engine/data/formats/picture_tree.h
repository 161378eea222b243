/* picture_tree.h: what the names in an archive of pictures say: which entries are pictures, and the
 * split and the class of each.
 *
 *   class/…/file                   all are training pictures
 *   train|val|test/class/…/file    or other names of splits (ep_array_split_find); "seg_train"
 * twice predict/…/file                 beside those: pictures without a class, which are left out
 *
 * A folder that holds all pictures above those is skipped. Class folders whose names are the same
 * in NFC are one. */
#ifndef EP_ENGINE_DATA_FORMATS_PICTURE_TREE_H
#define EP_ENGINE_DATA_FORMATS_PICTURE_TREE_H

#include "engine/data/archives/archive.h"
#include "engine/data/datasets/dataset.h"

typedef struct {
  int64_t index;
  const char *name;  /* lent by the archive */
  const char *label; /* its class's folder in NFC: [label_bytes], in name or `composed` */
  size_t label_bytes;
  char *composed;     /* owned; NULL: the name has it */
  const char *within; /* what follows the class's folder in the name */
  ep_split split;
  int class_number;
  int height, width; /* 0; for whoever reads its header */
  bool deep, turned; /* of 16 bits, stored turned: false; the same */
  bool broken;       /* false; for whoever cannot read it */
} ep_picture_entry;

typedef struct {
  ep_picture_entry *picture; /* [count], owned: by split, class (by bytes) and name */
  int64_t count;
  ep_class_name *class_name; /* [classes], owned: by bytes */
  int classes;
  int64_t left_out;   /* files that are no pictures, and pictures to predict */
  int64_t unlabelled; /* these pictures to predict */
  int split_class;    /* a class that has the name of a split, such as "train"; -1: none */
  bool alike;         /* all class folders have folders of the same names in them */
} ep_picture_tree;

/* Whether the archive has a picture at all. */
bool ep_picture_tree_recognise(const ep_archive *archive);

/* EP_INVALID where a name leads out of the archive, a picture is not in a class folder or in none
 * that the training pictures have, there are fewer than two classes, or more than the limits. *out
 * is the caller's (ep_picture_tree_deinit), also on failure; its names last as the archive does. */
ep_status ep_picture_tree_read(const ep_archive *archive, ep_picture_tree *out, ep_error *error);

/* The pictures alone, in the order of the archive, wherever in it they lie: without labels, splits
 * and classes. EP_INVALID where a name leads out, or there is none. */
ep_status ep_picture_tree_list(const ep_archive *archive, ep_picture_tree *out, ep_error *error);

void ep_picture_tree_deinit(ep_picture_tree *tree); /* a zeroed one is allowed */

#endif
