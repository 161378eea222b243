#include "engine/data/formats/picture_tree.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/utf8.h"
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
    if (leads_out(name)) return entry_fail(name, "is no path within the archive", error);
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
  char word[16];
  size_t bytes = step_bytes(name);
  if (bytes >= sizeof word || steps_count(name) < 3) return false;
  memcpy(word, name, bytes);
  word[bytes] = 0;
  return ep_array_split_find(word, split);
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

static ep_status label_find(ep_picture_entry *picture, size_t offset, ep_error *error) {
  const char *label = picture->name + offset;
  picture->label = offset;
  picture->label_bytes = step_bytes(label);
  if (label[picture->label_bytes] == 0)
    return entry_fail(picture->name, "lies in no class folder", error);
  if (picture->label_bytes > EP_LIMIT_NAME_BYTES || !ep_utf8_valid(label, picture->label_bytes))
    return entry_fail(picture->name, "has a class folder whose name is too long or no UTF-8",
                      error);
  return EP_OK;
}

/* Splits are respected where one picture has one; then all must have one. */
static ep_status labels_find(ep_picture_tree *tree, ep_error *error) {
  ep_split split;
  bool splits = false;
  size_t root = root_bytes(tree);
  ep_status status = EP_OK;
  for (int64_t i = 0; i < tree->count && !splits; i++)
    splits = split_find(tree->picture[i].name + root, &split);
  for (int64_t i = 0; i < tree->count && status == EP_OK; i++) {
    ep_picture_entry *picture = &tree->picture[i];
    const char *name = picture->name + root;
    if (splits && !split_find(name, &picture->split))
      return entry_fail(picture->name,
                        "lies beside train/, val/ or test/, not in a class folder below one of "
                        "them as others do",
                        error);
    status = label_find(picture, root + (splits ? step_bytes(name) + 1 : 0), error);
  }
  return status;
}

static int labels_compare(const ep_picture_entry *a, const ep_picture_entry *b) {
  size_t bytes = a->label_bytes < b->label_bytes ? a->label_bytes : b->label_bytes;
  int order = memcmp(a->name + a->label, b->name + b->label, bytes);
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
    ep_picture_entry class = {.name = name, .label_bytes = strlen(name)};
    if (labels_compare(&class, picture) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool has_class(const ep_picture_tree *tree, const ep_picture_entry *picture, int number) {
  return number < tree->classes && is_step(picture->name + picture->label, picture->label_bytes,
                                           tree->class_name[number].name);
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
    memcpy(tree->class_name[tree->classes++].name, picture->name + picture->label,
           picture->label_bytes);
  }
  if (tree->classes == 0)
    return ep_fail(error, EP_INVALID, "pictures: there is none in a class folder of train/");
  if (tree->classes == 1)
    return entry_fail(tree->picture[0].name,
                      "and all other training pictures lie in one class folder: two are needed",
                      error);
  return EP_OK;
}

static ep_status classes_number(ep_picture_tree *tree, ep_error *error) {
  for (int64_t i = 0; i < tree->count; i++) {
    ep_picture_entry *picture = &tree->picture[i];
    picture->class_number = class_search(tree, picture);
    if (!has_class(tree, picture, picture->class_number))
      return entry_fail(picture->name, "is of a class that train/ does not have", error);
  }
  return EP_OK;
}

ep_status ep_picture_tree_list(const ep_archive *archive, ep_picture_tree *out, ep_error *error) {
  int64_t count = archive->count;
  *out = (ep_picture_tree){0};
  if (count > EP_LIMIT_ZIP_ENTRIES)
    return ep_fail(error, EP_INVALID, "pictures: %lld entries, at most %d are taken",
                   (long long)count, EP_LIMIT_ZIP_ENTRIES);
  out->picture = malloc((size_t)count * sizeof *out->picture + 1);
  if (!out->picture) return ep_fail_memory(error);
  ep_status status = pictures_find(archive, out, error);
  if (status == EP_OK && out->count == 0)
    status = ep_fail(error, EP_INVALID, "pictures: there is none");
  return status;
}

ep_status ep_picture_tree_read(const ep_archive *archive, ep_picture_tree *out, ep_error *error) {
  ep_status status = ep_picture_tree_list(archive, out, error);
  if (status == EP_OK) status = labels_find(out, error);
  if (status != EP_OK) return status;
  qsort(out->picture, (size_t)out->count, sizeof *out->picture, pictures_compare);
  status = classes_find(out, error);
  return status == EP_OK ? classes_number(out, error) : status;
}

void ep_picture_tree_deinit(ep_picture_tree *tree) {
  free(tree->picture);
  free(tree->class_name);
  *tree = (ep_picture_tree){0};
}
