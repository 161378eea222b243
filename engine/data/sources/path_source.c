#include "engine/data/sources/path_source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/column_stats.h"
#include "engine/data/datasets/parts.h"
#include "engine/data/formats/array.h"
#include "engine/data/formats/ingest.h"
#include "engine/data/sources/allowed_paths.h"
#include "engine/files/durable_file.h"
#include "engine/files/excerpt.h"
#include "engine/files/free_space.h"
#include "engine/files/path.h"

static const char pointer[] = "/data/path";
enum { CHUNK_BYTES = 1 << 20, WORD_BYTES = 16 };

/* An error that points nowhere is one of the path. */
static ep_status pointed(ep_status status, ep_error *error) {
  if (status != EP_OK && error && !error->pointer[0])
    snprintf(error->pointer, sizeof error->pointer, "%s", pointer);
  return status;
}

/* Takes letters and digits up to the next of . _ - into word: [WORD_BYTES], lower case. */
static const char *word_take(const char *at, char *word) {
  size_t length = 0;
  at += strspn(at, "._-");
  for (; *at && !strchr("._-", *at); at++)
    if (length + 1 < WORD_BYTES) word[length++] = (char)tolower((unsigned char)*at);
  word[length] = 0;
  return at;
}

/* Which part a file of this name is: by its first two words, or its first one alone. */
static bool part_find(const char *name, ep_split *split, ep_role *role) {
  char words[2 * WORD_BYTES], second[WORD_BYTES];
  word_take(word_take(name, words), second);
  if (strcmp(words, "t10k") == 0)
    snprintf(words, sizeof words, "test"); /* the MNIST database's word */
  if ((words[0] == 'x' || words[0] == 'y') && words[1] == 0) {
    static const char *const kinds[] = {"npy", "idx", "csv", "tsv", "txt", "npz", "safetensors"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
      if (strcmp(second, kinds[i]) == 0) return ep_array_part_find(words, split, role);
  }
  size_t length = strlen(words);
  snprintf(words + length, sizeof words - length, "_%s", second);
  return ep_array_part_find(words, split, role);
}

static bool is_packed(const char *name) {
  size_t length = strlen(name);
  return length > 3 && strcmp(name + length - 3, ".gz") == 0;
}

typedef struct {
  char name[NAME_MAX + 1];
} chosen_name;

/* Of two files for one part the unpacked one; two of a kind are one too many. */
static ep_status name_choose(const char *name, chosen_name *chosen, ep_error *error) {
  char shown[EP_EXCERPT_BYTES], other[EP_EXCERPT_BYTES];
  if (chosen->name[0] && is_packed(name) == is_packed(chosen->name))
    return ep_fail_at(error, EP_INVALID, pointer, "%s and %s are the same part of the data",
                      ep_excerpt(shown, chosen->name, strlen(chosen->name)),
                      ep_excerpt(other, name, strlen(name)));
  if (chosen->name[0] && is_packed(name)) return EP_OK;
  snprintf(chosen->name, sizeof chosen->name, "%s", name);
  return EP_OK;
}

static ep_status names_find(DIR *listing, chosen_name (*chosen)[EP_ROLE_COUNT], ep_error *error) {
  ep_status status = EP_OK;
  int files = 0;
  struct dirent *entry;
  while (status == EP_OK &&
         (status = ep_path_next(listing, "the folder", &entry, error)) == EP_OK && entry) {
    ep_split split;
    ep_role role;
    if (entry->d_name[0] == '.') continue;
    if (++files > EP_LIMIT_FOLDER_FILES)
      status = ep_fail_at(error, EP_TOO_LARGE, pointer, "the folder has more than %d files",
                          EP_LIMIT_FOLDER_FILES);
    else if (part_find(entry->d_name, &split, &role))
      status = name_choose(entry->d_name, &chosen[split][role], error);
  }
  return status;
}

void ep_path_source_init(ep_path_source *out) {
  *out = (ep_path_source){0};
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) out->file[split][role] = -1;
}

static ep_status parts_open(int folder, ep_path_source *out, ep_error *error) {
  chosen_name chosen[EP_SPLIT_COUNT][EP_ROLE_COUNT] = {0};
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
  if (!listing) {
    if (copy >= 0) close(copy);
    return ep_fail_at(error, EP_IO, pointer, "the folder cannot be read: %s", strerror(errno));
  }
  ep_status status = names_find(listing, chosen, error);
  closedir(listing);
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    for (int role = 0; role < EP_ROLE_COUNT && status == EP_OK; role++) {
      const char *name = chosen[split][role].name;
      if (!name[0]) continue;
      out->file[split][role] =
          openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
      if (out->file[split][role] < 0)
        status = ep_fail_at(error, EP_INVALID, pointer, "%s cannot be opened: %s", name,
                            strerror(errno));
    }
  if (status == EP_OK && out->file[EP_SPLIT_TRAIN][EP_ROLE_X] < 0)
    status = ep_fail_at(error, EP_INVALID, pointer,
                        "the folder has no file of the training set's x: train.x.npy, "
                        "x_train.npy, train-images-idx3-ubyte, …");
  return status;
}

ep_status ep_path_source_check(ep_path_source *out, ep_error *error) {
  ep_error fault = {0};
  ep_status status = EP_OK;
  out->mappable = true;
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    for (int role = 0; role < EP_ROLE_COUNT && status == EP_OK; role++) {
      struct stat stat;
      ep_table table;
      size_t values_offset;
      int file = out->file[split][role];
      if (file < 0) continue;
      if (fstat(file, &stat) != 0 || !S_ISREG(stat.st_mode))
        return ep_fail_at(error, EP_INVALID, pointer, "a part of the data is not a regular file");
      status = ep_table_peek(file, "the file", &table, &values_offset, &fault);
      if (status == EP_UNSUPPORTED) out->mappable = false;
      if (status == EP_UNSUPPORTED) status = EP_OK;
      if (status != EP_OK) return ep_fail_at(error, status, pointer, "%s", fault.message);
    }
  return status;
}

ep_status ep_path_source_find(const char *path, ep_path_source *out, ep_error *error) {
  int file;
  struct stat stat;
  ep_path_source_init(out);
  ep_status status = ep_allowed_paths_open(path, &file, error);
  if (status != EP_OK) return status;
  if (fstat(file, &stat) == 0 && S_ISDIR(stat.st_mode)) {
    status = parts_open(file, out, error);
    close(file);
  } else {
    out->whole = true;
    out->file[EP_SPLIT_TRAIN][EP_ROLE_TABLE] = file;
  }
  if (status != EP_OK) ep_path_source_close(out);
  return status;
}

ep_status ep_path_source_open(const char *path, ep_path_source *out, ep_error *error) {
  ep_status status = ep_path_source_find(path, out, error);
  if (status != EP_OK) return status;
  status = ep_path_source_check(out, error);
  if (status != EP_OK) ep_path_source_close(out);
  return status;
}

void ep_path_source_close(ep_path_source *source) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) {
      if (source->file[split][role] >= 0) close(source->file[split][role]);
      source->file[split][role] = -1;
    }
}

static ep_status row_measure(void *measure, const uint8_t *row, ep_error *error) {
  return ep_column_stats_rows(measure, row, 1, error);
}

static ep_status part_measure(int file, bool values, ep_part *out, ep_error *error) {
  ep_table table;
  ep_column_stats measure = {0};
  size_t offset;
  ep_status status = ep_table_peek(file, "the file", &table, &offset, error);
  if (status != EP_OK) return status;
  ep_column *column = calloc((size_t)table.columns, sizeof *column);
  if (!column) return ep_fail_memory(error);
  status = ep_column_stats_init(&measure, table.dtype, table.columns, column, error);
  if (status == EP_OK && values)
    status = ep_table_walk(file, &table, offset, row_measure, &measure, error);
  if (status == EP_OK) ep_column_stats_finish(&measure);
  if (status != EP_OK) {
    free(column);
  } else {
    *out = (ep_part){.rows = table.rows,
                     .columns = table.columns,
                     .dtype = table.dtype,
                     .column = column,
                     .dimensions = table.dimensions,
                     .one_hot = measure.one_hot};
    memcpy(out->shape, table.shape, sizeof out->shape);
  }
  ep_column_stats_deinit(&measure);
  return status;
}

ep_status ep_path_source_measure(const ep_path_source *source, bool values, ep_dataset_meta *out,
                                 ep_error *error) {
  *out = (ep_dataset_meta){.format = "path"};
  ep_status status = EP_OK;
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    for (int role = 0; role < EP_ROLE_COUNT && status == EP_OK; role++) {
      struct stat stat;
      int file = source->file[split][role];
      if (file < 0) continue;
      status = part_measure(file, values, &out->part[split][role], error);
      if (fstat(file, &stat) == 0) out->bytes += stat.st_size;
    }
  if (status != EP_OK) ep_dataset_meta_deinit(out);
  return pointed(status, error);
}

ep_status ep_path_source_map(const ep_path_source *source, ep_split split, ep_role role,
                             ep_table *out, ep_error *error) {
  return pointed(ep_table_of(source->file[split][role], "the file", out, error), error);
}

/* Before the first byte is copied: whether the limit and the disk allow the whole file. */
static ep_status room_check(int file, int copy, int64_t max_bytes, ep_error *error) {
  struct stat stat;
  if (fstat(file, &stat) != 0) return ep_fail(error, EP_IO, "reading: %s", strerror(errno));
  if (stat.st_size > max_bytes)
    return ep_fail(error, EP_TOO_LARGE, "the file has %lld bytes, and the limit is %lld",
                   (long long)stat.st_size, (long long)max_bytes);
  return ep_free_space_check(copy, stat.st_size, error);
}

/* A copy below `folder`, called "copied". Its size is bounded as what is written anyway. */
static ep_status file_copy(int file, const char *path, int64_t max_bytes, ep_error *error) {
  uint8_t *chunk = malloc(CHUNK_BYTES);
  int copy = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ep_status status = EP_OK;
  if (copy < 0)
    status = ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  else if (!chunk)
    status = ep_fail_memory(error);
  if (status == EP_OK) status = room_check(file, copy, max_bytes, error);
  int64_t copied = 0;
  for (ssize_t count = 1; status == EP_OK && count > 0; copied += count) {
    count = pread(file, chunk, CHUNK_BYTES, copied);
    if (count < 0)
      status = ep_fail(error, EP_IO, "reading: %s", strerror(errno));
    else if (count > max_bytes - copied) /* it grew */
      status = ep_fail(error, EP_TOO_LARGE, "the file is larger than the limit");
    else
      status = ep_file_write_all(copy, chunk, (size_t)count, error);
  }
  if (copy >= 0) close(copy);
  free(chunk);
  return status;
}

static ep_status copy_ingest(const ep_path_source *source, ep_split split, ep_role role,
                             const char *copied, const char *folder, int64_t max_output_bytes,
                             ep_dataset_meta *meta, ep_error *error) {
  int copy = open(copied, O_RDONLY | O_CLOEXEC);
  if (copy < 0) return ep_fail(error, EP_IO, "%s: %s", copied, strerror(errno));
  ep_status status =
      source->whole
          ? ep_dataset_ingest(copy, folder, NULL, max_output_bytes, meta, error)
          : ep_dataset_ingest_part(copy, folder, split, role, NULL, max_output_bytes, meta, error);
  close(copy);
  return status;
}

/* Reads one file into the folder. */
static ep_status file_ingest(const ep_path_source *source, ep_split split, ep_role role,
                             const char *folder, int64_t max_output_bytes, ep_dataset_meta *meta,
                             ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, folder, "copied", NULL);
  if (status == EP_OK) status = file_copy(source->file[split][role], path, max_output_bytes, error);
  if (status == EP_OK)
    status = copy_ingest(source, split, role, path, folder, max_output_bytes, meta, error);
  unlink(path);
  return status;
}

ep_status ep_path_source_ingest(const ep_path_source *source, const char *folder,
                                int64_t max_output_bytes, ep_error *error) {
  ep_dataset_meta total = {0}, meta;
  ep_status status = EP_OK;
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    for (int role = 0; role < EP_ROLE_COUNT && status == EP_OK; role++) {
      if (source->file[split][role] < 0) continue;
      status = file_ingest(source, (ep_split)split, (ep_role)role, folder, max_output_bytes, &meta,
                           error);
      if (status != EP_OK) continue;
      ep_part_take(&meta.part[split][role], &total.part[split][role]);
      ep_dataset_meta_deinit(&meta);
    }
  if (status == EP_OK && !source->whole) status = ep_dataset_parts_write(folder, &total, error);
  ep_dataset_meta_deinit(&total);
  return pointed(status, error);
}
