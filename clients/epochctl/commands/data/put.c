/* put.c: epochctl data put. */
#include <stdio.h>
#include <string.h>

#include "api/visibility.h"
#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/client/upload.h"
#include "clients/epochctl/commands/data/dataset.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/text.h"

enum { PART_BYTES = 16, NOTE_BYTES = 1024 };

/* Splits "train/x=FILE" and returns the file; any other word is the file, of the part "". */
static const char *part_split(const char *word, char part[PART_BYTES]) {
  static const char *const PARTS[] = {"train/x",      "train/y", "validation/x",
                                      "validation/y", "test/x",  "test/y"};
  *part = 0;
  for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
    size_t bytes = strlen(PARTS[i]);
    if (strncmp(word, PARTS[i], bytes) != 0 || word[bytes] != '=') continue;
    snprintf(part, PART_BYTES, "%s", PARTS[i]);
    return word + bytes + 1;
  }
  return word;
}

static ep_status words_check(const ep_arguments *arguments, ep_error *error) {
  char part[PART_BYTES];
  for (int i = 1; i < arguments->words_count; i++) {
    part_split(arguments->words[i], part);
    if (!*part && arguments->words_count > 2)
      return ep_fail(error, EP_INVALID,
                     "several files must be parts, as train/x=FILE, and \"%.200s\" is none",
                     arguments->words[i]);
  }
  return EP_OK;
}

/* The options that are query parameters of the upload, by their own names. */
static void query_add(char path[EP_REQUEST_PATH_BYTES], const ep_arguments *arguments) {
  static const char *const names[] = {"size", "channels", "broken", "table", "visibility"};
  ep_dialect_query(arguments, path);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = ep_arguments_value(arguments, names[i]);
    if (value) ep_path_query(path, names[i], value);
  }
}

/* What was stored, and what was read otherwise than might be thought. */
static void upload_print(const json_t *dataset) {
  char note[NOTE_BYTES];
  ep_dataset_print(dataset);
  ep_text_copy(note, sizeof note, ep_json_text_at(dataset, "note"));
  if (note[0]) printf("%s\n", note);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], part[PART_BYTES];
  ep_status status = words_check(arguments, error);
  for (int i = 1; i < arguments->words_count && status == EP_OK; i++) {
    const char *file = part_split(arguments->words[i], part);
    char after[PART_BYTES + 1] = "";
    json_t *dataset = NULL;
    if (*part) snprintf(after, sizeof after, "/%s", part);
    ep_path_make(path, "/v1/datasets/", arguments->words[0], after);
    query_add(path, arguments);
    bool is_last = i == arguments->words_count - 1;
    status = ep_file_upload(client, path, file, &dataset, error);
    if (status == EP_OK && dataset && is_last) upload_print(dataset);
    json_decref(dataset);
  }
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  EP_DIALECT_OPTIONS,
  {.name = "size", .kind = EP_OPTION_TEXT, .value = "HxW",
   .doc = "of pictures: height and width, as 64x64 (the commonest, or 128 the longer side)"},
  {.name = "channels", .kind = EP_OPTION_CHOICE, .value = "1|3",
   .doc = "of pictures: grey or RGB (1 if all are grey)"},
  {.name = "broken", .kind = EP_OPTION_CHOICE, .value = "refuse|skip",
   .doc = "of pictures that cannot be read: refuse all, or leave these out (refuse)"},
  {.name = "table", .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "of a JSON object of several tables: the one to take"},
  {.name = "visibility", .kind = EP_OPTION_CHOICE, .value = EP_VISIBILITY_CHOICE,
   .doc = "private: its owner alone sees it, and admins (as the daemon is set; as it was)"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_data_put = {
  .name = "data put", .words = "NAME FILE…", .kind = EP_WORD_FILE, .least = 2, .most = 7,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "upload a data set",
  .details =
    "FILE is one file with all rows (CSV, NPY, NPZ, IDX, safetensors, JSON, a ZIP or TAR of pictures in class folders; "
    "gz of any; - is standard input), or parts, each SPLIT/PART=FILE: train, validation or test; x or y. How a CSV is "
    "written is detected; \"epochctl data show\" has what was found, and why, and the same options set it.",
  .examples =
    "epochctl data put houses houses.csv\n"
    "epochctl data put houses houses.csv --delimiter comma --decimal . --missing '-,unknown'\n"
    "epochctl data put pets pets.zip --size 64x64\n"
    "epochctl data put mnist train/x=train-images-idx3-ubyte.gz train/y=train-labels-idx1-ubyte.gz \\\n"
    "  test/x=t10k-images-idx3-ubyte.gz test/y=t10k-labels-idx1-ubyte.gz"};
/* clang-format on */
