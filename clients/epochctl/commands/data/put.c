/* put.c: epochctl data put. */
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "api/visibility.h"
#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/client/upload.h"
#include "clients/epochctl/commands/data/dataset.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"

enum { PART_BYTES = 16, NOTE_BYTES = 1024 };

#define PART(part, name) {part, name},
static const struct { const char *part, *name; } PARTS[] = {EP_DATASET_PART_TABLE(PART)};
enum { PARTS_COUNT = sizeof PARTS / sizeof *PARTS };

/* Whether the file is the published one of that name. */
static bool is_published(const char *file, const char *name) {
  const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
  const size_t bytes = strlen(name);
  return bytes > 0 && strncmp(base, name, bytes) == 0 && base[bytes] &&
         strncmp(base + bytes + 1, "idx", 3) == 0;
}

/* Splits "train/x=FILE" and returns the file; of another word, which is the file, its name may say
 * the part, else that is "". */
static const char *part_split(const char *word, char part[PART_BYTES]) {
  *part = 0;
  for (int i = 0; i < PARTS_COUNT; i++) {
    const size_t bytes = strlen(PARTS[i].part);
    if (strncmp(word, PARTS[i].part, bytes) != 0 || word[bytes] != '=') continue;
    snprintf(part, PART_BYTES, "%s", PARTS[i].part);
    return word + bytes + 1;
  }
  for (int i = 0; i < PARTS_COUNT; i++)
    if (is_published(word, PARTS[i].name)) snprintf(part, PART_BYTES, "%s", PARTS[i].part);
  return word;
}

static ep_status words_check(const ep_arguments *arguments, ep_error *error) {
  char part[PART_BYTES], before[PART_BYTES];
  for (int i = 1; i < arguments->words_count; i++) {
    part_split(arguments->words[i], part);
    if (!*part && arguments->words_count > 2)
      return ep_fail(error, EP_INVALID,
                     "several files must be parts, such as train/x=FILE, and \"%.200s\" is not",
                     arguments->words[i]);
    for (int k = 1; k < i; k++) {
      part_split(arguments->words[k], before);
      if (strcmp(part, before) == 0)
        return ep_fail(error, EP_INVALID, "%s is given twice: %.200s and %.200s", part,
                       arguments->words[k], arguments->words[i]);
    }
  }
  return EP_OK;
}

/* What was stored, and what was read otherwise than might be thought. */
static void upload_print(const json_t *dataset) {
  char note[NOTE_BYTES];
  ep_client_warn(dataset);
  ep_dataset_print(dataset);
  ep_dialect_words(note, sizeof note, ep_json_text_at(dataset, "note"), NULL);
  if (note[0]) printf("%s\n", note);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], part[PART_BYTES];
  const char *visibility = ep_arguments_value(arguments, "visibility");
  ep_status status = words_check(arguments, error);
  for (int i = 1; i < arguments->words_count && status == EP_OK; i++) {
    const char *file = part_split(arguments->words[i], part);
    char after[PART_BYTES + 1] = "";
    json_t *dataset = NULL;
    if (*part) snprintf(after, sizeof after, "/%s", part);
    ep_path_make(path, "/v1/datasets/", arguments->words[0], after);
    ep_dialect_query(arguments, path);
    if (visibility) ep_path_query(path, "visibility", visibility);
    bool is_last = i == arguments->words_count - 1;
    status = ep_file_upload(client, "PUT", path, file, &dataset, error);
    if (status == EP_OK && !client->json && is_last) upload_print(dataset);
    json_decref(dataset);
  }
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  EP_UPLOAD_OPTIONS,
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE,
   .doc = "private: visible only to its owner and admins (the daemon's default; unchanged on replacement)"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_data_put = {
  .name = "data put", .words = "NAME FILE…", .kind = EP_WORD_FILE, .least = 2, .most = 7,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "upload a data set",
  .details =
    "FILE is one file with all rows (CSV, NPY, NPZ, IDX, safetensors, JSON, a ZIP or TAR of pictures in class folders; "
    "gz of any; - is standard input), or parts, each SPLIT/PART=FILE: train, validation or test; x or y. The four files of MNIST are recognized by their names. The format of a CSV is detected; \"epochctl data show\" prints the result with its evidence, and the options override it.",
  .examples =
    "epochctl data put houses houses.csv\n"
    "epochctl data put houses houses.csv --delimiter comma --decimal . --missing '-,unknown'\n"
    "epochctl data put pets pets.zip --size 64x64\n"
    "epochctl data put mnist mnist/*\n"
    "epochctl data put digits train/x=mnist/train-images-idx3-ubyte.gz train/y=mnist/train-labels-idx1-ubyte.gz"};
/* clang-format on */
