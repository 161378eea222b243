#include "engine/data/formats/picture_tree.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/utf8.h"
#include "engine/data/cells/unicode.h"
#include "engine/data/formats/array.h"
#include "engine/files/excerpt.h"

static ep_status entry_fail(const char *name, const char *what, ep_error *error) {
  char shown[EP_EXCERPT_PATH_BYTES];
  return ep_fail(error, EP_INVALID, "pictures: \"%s\" %s",
                 ep_excerpt_path(shown, name, strlen(name)), what);
}

/* Bytes of the name up to the next '/', or to its end. */
static size_t step_bytes(const char *name) {
  return strcspn(name, "/");
}

static bool is_step(const char *name, size_t bytes, const char *word) {
  return strlen(word) == bytes && memcmp(name, word, bytes) == 0;
}

/* Absolute, with a drive's letter, or with "..", "." or nothing as a step. A '/' at the end is a
 * folder's. */
static bool leads_out(const char *name) {
  if (((name[0] | 0x20) >= 'a' && (name[0] | 0x20) <= 'z') && name[1] == ':') return true;
  for (const char *step = name;;) {
    size_t bytes = step_bytes(step);
    if (bytes == 0 || is_step(step, bytes, ".") || is_step(step, bytes, "..")) return true;
    if (step[bytes] == 0 || step[bytes + 1] == 0) return false;
    step += bytes + 1;
  }
}

/* What systems leave behind: dot files, "__MACOSX". (Thumbs.db is no picture by its ending.) */
static bool is_junk(const char *name) {
  for (const char *step = name;;) {
    size_t bytes = step_bytes(step);
    if (step[0] == '.' || is_step(step, bytes, "__MACOSX")) return true;
    if (step[bytes] == 0) return false;
    step += bytes + 1;
  }
}

static bool is_picture(const char *name) {
  static const char *const endings[] = {".png", ".jpg", ".jpeg"};
  size_t bytes = strlen(name);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t ending = strlen(endings[i]);
    if (bytes > ending && strcasecmp(name + bytes - ending, endings[i]) == 0) return !is_junk(name);
  }
  return false;
}

bool ep_picture_tree_recognise(const ep_archive *archive) {
  for (int64_t i = 0; i < archive->count; i++) {
    const char *name = ep_archive_name(archive, i);
    if (name && is_picture(name)) return true;
  }
  return false;
}

/* All entries that are pictures, in the order of the archive. */
static ep_status pictures_find(const ep_archive *archive, ep_picture_tree *tree, ep_error *error) {
  for (int64_t i = 0; i < archive->count; i++) {
    const char *name = ep_archive_name(archive, i);
    if (!name)
      return ep_fail(error, EP_INVALID, "ZIP: entry %lld of the archive is damaged",
                     (long long)i + 1);
    if (leads_out(name)) return entry_fail(name, "is not a path within the archive", error);
    if (is_picture(name))
      tree->picture[tree->count++] =
          (ep_picture_entry){.index = i, .name = name, .split = EP_SPLIT_TRAIN};
    else if (name[strlen(name) - 1] != '/')
      tree->left_out++;
  }
  return EP_OK;
}

/* Steps of the name, the file's own included. */
static int steps_count(const char *name) {
  int count = 1;
  for (; *name; name++) count += *name == '/';
  return count;
}

/* The split that the first step says; it needs a class and a file below it. */
static bool split_find(const char *name, ep_split *split) {
  return steps_count(name) >= 3 && ep_array_split_find(name, step_bytes(name), split);
}

/* Beside splits: pictures whose class is not known. */
static bool is_unlabelled(const char *name) {
  static const char *const words[] = {"pred",        "seg_pred",  "predict",   "prediction",
                                      "predictions", "unlabeled", "unlabelled"};
  size_t bytes = step_bytes(name);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (name[bytes] && strlen(words[i]) == bytes && strncasecmp(name, words[i], bytes) == 0)
      return true;
  return false;
}

/* Bytes of the folders, with their '/', that hold all pictures and are neither classes nor splits.
 */
static size_t root_bytes(const ep_picture_tree *tree) {
  size_t root = 0;
  for (;;) {
    ep_split split;
    const char *first = tree->picture[0].name;
    size_t bytes = step_bytes(first + root) + 1;
    if (split_find(first + root, &split)) return root;
    for (int64_t i = 0; i < tree->count; i++) {
      const char *name = tree->picture[i].name; /* as long as root: it begins so */
      if (steps_count(name + root) < 3 || strncmp(name, first, root + bytes) != 0) return root;
    }
    root += bytes;
  }
}

/* The class of a picture: the first step of `label`, which lies in its name. */
static ep_status label_find(ep_picture_entry *picture, const char *label, ep_error *error) {
  size_t bytes = step_bytes(label);
  if (label[bytes] == 0) return entry_fail(picture->name, "is not in a class folder", error);
  picture->within = label + bytes + 1;
  if (!ep_text_nfc(&label, &bytes, &picture->composed)) return ep_fail_memory(error);
  picture->label = label;
  picture->label_bytes = bytes;
  if (bytes == 0 || bytes > EP_LIMIT_NAME_BYTES || !ep_utf8_valid(label, bytes))
    return entry_fail(picture->name,
                      "has a class folder whose name is blank, too long or not UTF-8", error);
  return EP_OK;
}

/* Where the class stands in a name that begins with a split: "train/train/class/…" as well. */
static const char *split_skip(const char *name, ep_split split) {
  ep_split again;
  do name += step_bytes(name) + 1;
  while (split_find(name, &again) && again == split);
  return name;
}

/* Splits are respected where one picture has one; then all must have one. */
static ep_status labels_find(ep_picture_tree *tree, ep_error *error) {
  ep_split split;
  bool splits = false;
  size_t root = root_bytes(tree);
  int64_t found = tree->count;
  ep_status status = EP_OK;
  for (int64_t i = 0; i < found && !splits; i++)
    splits = split_find(tree->picture[i].name + root, &split);
  tree->count = 0;
  for (int64_t i = 0; i < found && status == EP_OK; i++) {
    ep_picture_entry picture = tree->picture[i];
    const char *label = picture.name + root;
    if (splits && is_unlabelled(label)) {
      tree->unlabelled++;
      continue;
    }
    if (splits && !split_find(label, &picture.split))
      return entry_fail(picture.name, "is outside the class folders of train/, val/ and test/",
                        error);
    if (splits) label = split_skip(label, picture.split);
    status = label_find(&picture, label, error);
    tree->picture[tree->count++] = picture;
  }
  tree->left_out += tree->unlabelled;
  return status;
}

static int labels_compare(const ep_picture_entry *a, const ep_picture_entry *b) {
  size_t bytes = a->label_bytes < b->label_bytes ? a->label_bytes : b->label_bytes;
  int order = memcmp(a->label, b->label, bytes);
  if (order != 0) return order;
  return (a->label_bytes > b->label_bytes) - (a->label_bytes < b->label_bytes);
}

static int pictures_compare(const void *left, const void *right) {
  const ep_picture_entry *a = left, *b = right;
  if (a->split != b->split) return a->split < b->split ? -1 : 1;
  int order = labels_compare(a, b);
  if (order == 0) order = strcmp(a->name, b->name);
  if (order == 0) order = (a->index > b->index) - (a->index < b->index);
  return order;
}

/* The class of that picture's folder: the number of the first one whose name is not less. */
static int class_search(const ep_picture_tree *tree, const ep_picture_entry *picture) {
  int low = 0, high = tree->classes;
  while (low < high) {
    int middle = (low + high) / 2;
    const char *name = tree->class_name[middle].name;
    ep_picture_entry class = {.label = name, .label_bytes = strlen(name)};
    if (labels_compare(&class, picture) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool has_class(const ep_picture_tree *tree, const ep_picture_entry *picture, int number) {
  return number < tree->classes &&
         is_step(picture->label, picture->label_bytes, tree->class_name[number].name);
}

/* The classes of the training pictures, which come first and in their order. */
static ep_status classes_find(ep_picture_tree *tree, ep_error *error) {
  tree->class_name = calloc(EP_LIMIT_CLASSES, sizeof *tree->class_name);
  if (!tree->class_name) return ep_fail_memory(error);
  for (int64_t i = 0; i < tree->count && tree->picture[i].split == EP_SPLIT_TRAIN; i++) {
    const ep_picture_entry *picture = &tree->picture[i];
    if (tree->classes > 0 && has_class(tree, picture, tree->classes - 1)) continue;
    if (tree->classes == EP_LIMIT_CLASSES)
      return ep_fail(error, EP_INVALID, "pictures: more than %d class folders", EP_LIMIT_CLASSES);
    memcpy(tree->class_name[tree->classes++].name, picture->label, picture->label_bytes);
  }
  if (tree->classes == 0)
    return ep_fail(error, EP_INVALID, "pictures: none in a class folder of train/");
  if (tree->classes == 1)
    return entry_fail(
        tree->picture[0].name,
        "and all other training pictures are in a single class folder: at least two are required",
        error);
  return EP_OK;
}

static ep_status classes_number(ep_picture_tree *tree, ep_error *error) {
  for (int64_t i = 0; i < tree->count; i++) {
    ep_picture_entry *picture = &tree->picture[i];
    picture->class_number = class_search(tree, picture);
    if (!has_class(tree, picture, picture->class_number))
      return entry_fail(picture->name, "is of a class that is not in train/", error);
  }
  return EP_OK;
}

static void split_class_find(ep_picture_tree *tree) {
  ep_split split;
  tree->split_class = -1;
  for (int i = 0; i < tree->classes && tree->split_class < 0; i++)
    if (ep_array_split_find(tree->class_name[i].name, strlen(tree->class_name[i].name), &split))
      tree->split_class = i;
}

/* Of the folder within its class's folder; 0: there is none. */
static size_t folder_bytes(const ep_picture_entry *picture) {
  size_t bytes = step_bytes(picture->within);
  return picture->within[bytes] ? bytes : 0;
}

static bool folder_is(const ep_picture_entry *a, const ep_picture_entry *b) {
  size_t bytes = folder_bytes(a);
  return bytes == folder_bytes(b) && memcmp(a->within, b->within, bytes) == 0;
}

/* The next picture that lies in another folder, or in another class. */
static int64_t folder_skip(const ep_picture_tree *tree, int64_t i) {
  const ep_picture_entry *first = &tree->picture[i];
  for (; i < tree->count; i++)
    if (tree->picture[i].class_number != first->class_number ||
        !folder_is(&tree->picture[i], first))
      break;
  return i;
}

/* Of training pictures alone: the folders of each class beside those of the first, with `other`. */
static bool folders_alike(const ep_picture_tree *tree) {
  const ep_picture_entry *picture = tree->picture;
  int64_t folders = 0, other = 0;
  if (picture[tree->count - 1].split != EP_SPLIT_TRAIN) return false;
  for (int64_t i = 0; i < tree->count; i = folder_skip(tree, i)) {
    if (i > 0 && picture[i].class_number != picture[i - 1].class_number) {
      if (picture[other].class_number == 0) return false;
      other = 0;
    }
    if (folder_bytes(&picture[i]) == 0 || picture[other].class_number != 0 ||
        !folder_is(&picture[i], &picture[other]))
      return false;
    folders += picture[i].class_number == 0;
    other = folder_skip(tree, other);
  }
  return folders >= 2 && picture[other].class_number != 0;
}

ep_status ep_picture_tree_list(const ep_archive *archive, ep_picture_tree *out, ep_error *error) {
  int64_t count = archive->count;
  *out = (ep_picture_tree){0};
  if (count > EP_LIMIT_ZIP_ENTRIES)
    return ep_fail(error, EP_INVALID, "pictures: %lld entries: the limit is %d", (long long)count,
                   EP_LIMIT_ZIP_ENTRIES);
  out->picture = malloc((size_t)count * sizeof *out->picture + 1);
  if (!out->picture) return ep_fail_memory(error);
  ep_status status = pictures_find(archive, out, error);
  if (status == EP_OK && out->count == 0)
    status = ep_fail(error, EP_INVALID, "pictures: none found");
  return status;
}

ep_status ep_picture_tree_read(const ep_archive *archive, ep_picture_tree *out, ep_error *error) {
  ep_status status = ep_picture_tree_list(archive, out, error);
  if (status == EP_OK) status = labels_find(out, error);
  if (status != EP_OK) return status;
  qsort(out->picture, (size_t)out->count, sizeof *out->picture, pictures_compare);
  status = classes_find(out, error);
  if (status == EP_OK) status = classes_number(out, error);
  if (status != EP_OK) return status;
  split_class_find(out);
  out->alike = folders_alike(out);
  return EP_OK;
}

void ep_picture_tree_deinit(ep_picture_tree *tree) {
  for (int64_t i = 0; i < tree->count; i++) free(tree->picture[i].composed);
  free(tree->picture);
  free(tree->class_name);
  *tree = (ep_picture_tree){0};
}
