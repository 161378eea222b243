/* sources.c: "data": a table a source, and what all have in common. */
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

/* Data: one table a source; what all have in common comes last. */
#define AT(member) offsetof(ep_data_spec, member)
static const ep_field normalize_rows[] = {
    {.key = "mean",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_normalize_mean_read,
     .write = ep_normalize_mean_write,
     .form = "a number, or an array of one per channel",
     .text_fallback = "0",
     .doc = "taken off",
     .schema = EP_JSON({
       "oneOf" : [
         {"type" : "number"}, {"type" : "array", "items" : {"type" : "number"}, "minItems" : 1}
       ]
     })},
    {.key = "std",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_normalize_std_read,
     .write = ep_normalize_std_write,
     .form = "a number above 0, or an array of one per channel",
     .text_fallback = "1",
     .doc = "divided by",
     .schema = EP_JSON({
       "oneOf" : [
         {"type" : "number", "exclusiveMinimum" : 0},
         {"type" : "array", "items" : {"type" : "number", "exclusiveMinimum" : 0}, "minItems" : 1}
       ]
     })},
};
static const ep_field_table normalize_table = EP_FIELD_TABLE(normalize_rows, NULL);
static const ep_field augment_rows[] = {
    {.key = "shift",
     .kind = EP_FIELD_INT,
     .offset = AT(augment_shift),
     .min = 0,
     .max = EP_LIMIT_KERNEL,
     .doc = "largest shift in pixels in each direction; filled with 0"},
    {.key = "flip",
     .kind = EP_FIELD_BOOL,
     .offset = AT(augment_flip),
     .doc = "mirrors every second image left and right"},
    {.key = "crop",
     .kind = EP_FIELD_PAIR,
     .element = EP_FIELD_INT64,
     .offset = AT(augment_crop),
     .nullable = true,
     .min = 1,
     .max = EP_LIMIT_FEATURES,
     .doc = "[height, width] cut out anywhere; out of the middle in evaluation"},
};
static const ep_field_table augment_table = EP_FIELD_TABLE(augment_rows, NULL);
#define COLUMN_NAME_SCHEMA \
  EP_JSON({"type" : "string", "minLength" : 1, "maxLength" : EP_LIMIT_NAME_BYTES})
static const ep_field window_rows[] = {
    {.key = "length",
     .kind = EP_FIELD_INT64,
     .offset = AT(window.length),
     .required = true,
     .min = 1,
     .max = EP_LIMIT_FEATURES,
     .doc = "successive rows of an example, the features of all of them: the past of the target is "
            "one of these"},
    {.key = "horizon",
     .kind = EP_FIELD_INT64,
     .offset = AT(window.horizon),
     .min = 1,
     .max = EP_LIMIT_ROWS,
     .fallback = 1,
     .doc = "the target of an example is that of the row this many rows after its last one"},
    {.key = "stride",
     .kind = EP_FIELD_INT64,
     .offset = AT(window.stride),
     .min = 1,
     .max = EP_LIMIT_ROWS,
     .fallback = 1,
     .doc = "rows from the first one of an example to the first one of the next"},
    {.key = "group",
     .kind = EP_FIELD_STRING,
     .offset = AT(window.group),
     .nullable = true,
     .capacity = EP_LIMIT_NAME_BYTES + 1,
     .form = "a column's name",
     .doc = "a category, which is then not a feature: the rows of each of its words are a series; "
            "by default all rows are one series",
     .schema = COLUMN_NAME_SCHEMA},
    {.key = "gaps",
     .kind = EP_FIELD_WORD,
     .offset = AT(window.gaps),
     .words = &ep_window_gaps_words,
     .doc = "with `time`: cut: examples over a gap, a repeated time or a much shorter step than "
            "usual are "
            "left out; keep: examples count rows, whatever their times"},
};
static const ep_field_table window_table = EP_FIELD_TABLE(window_rows, NULL);

static bool window_given(const void *data) {
  return ((const ep_data_spec *)data)->window.length > 0;
}

static bool normalize_given(const void *data) {
  return ((const ep_data_spec *)data)->normalize;
}

static bool augment_given(const void *data) {
  const ep_data_spec *spec = data;
  return spec->augment_shift || spec->augment_flip || spec->augment_crop[0];
}

static const ep_field data_rows[] = {
    {.key = "target",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_target_read,
     .write = ep_target_write,
     .form = "a column's name (a string) or index (a number)",
     .text_fallback = "null",
     .doc = "the column to predict: a string is its name, a number its index from 0, and -1 is the "
            "last; the last by default",
     .schema = EP_JSON({
       "oneOf" : [
         {"type" : "string", "minLength" : 1, "maxLength" : EP_LIMIT_NAME_BYTES},
         {"type" : "integer", "minimum" : -EP_LIMIT_COLUMNS, "exclusiveMaximum" : EP_LIMIT_COLUMNS}
       ]
     })},
    {.key = "positive",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_positive_read,
     .write = ep_positive_write,
     .form = "a word of the target",
     .text_fallback = "null",
     .doc = "for a target of two classes: the positive class of f1, precision, recall, roc_auc and "
            "thresholds; by default the one that means yes (yes, true, 1, positive, on, +), else "
            "the rarer one",
     .schema = EP_JSON({
       "oneOf" : [
         {"type" : "string", "minLength" : 1, "maxLength" : EP_LIMIT_WORD_BYTES},
         {"type" : "integer"}, {"type" : "boolean"}
       ]
     })},
    {.key = "task",
     .kind = EP_FIELD_WORD,
     .rare = true,
     .offset = AT(task),
     .words = &ep_task_words,
     .doc =
         "regression: the target is a number; classification: its values are classes, of a table "
         "also where they are numbers; auto: from the loss and the type of the target column, "
         "which must not contradict it"},
    {.key = "test",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(test),
     .min = 0,
     .max = 1,
     .open_max = true,
     .doc = "share of the rows held out for the test"},
    {.key = "validation",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(validation),
     .min = 0,
     .max = 1,
     .open_max = true,
     .doc = "share of the rows held out for validation"},
    {.key = "folds",
     .kind = EP_FIELD_INT64,
     .offset = AT(folds),
     .nullable = true,
     .min = 2,
     .max = EP_LIMIT_FOLDS,
     .doc = "instead of validation: splits the rows that are not test rows into this many parts of "
            "equal size, give or take a row"},
    {.key = "fold",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_fold_read,
     .write = ep_fold_write,
     .form = "an integer from 0 to below folds",
     .text_fallback = "null",
     .doc = "with folds: the validation part; the others train",
     .schema = EP_JSON({"type" : "integer", "minimum" : 0, "exclusiveMaximum" : EP_LIMIT_FOLDS})},
    {.key = "stratify",
     .kind = EP_FIELD_BOOL,
     .offset = AT(stratify),
     .doc = "for a classifier: test, validation and each fold keep the share of every class, give "
            "or take a row; by default true for shares (not folds) and a loss with classes"},
    {.key = "split_seed",
     .kind = EP_FIELD_UINT64,
     .offset = AT(split_seed),
     .min = 0,
     .max = EP_SEED_MAX,
     .fallback = 1,
     .doc = "which rows go where"},
    {.key = "standardize",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_standardize_read,
     .write = ep_standardize_write,
     .form = "an array of \"x\", \"y\"",
     .text_fallback = "[]",
     .doc = "\"x\", \"y\" or both: scaled to mean 0 and deviation 1 by the training rows",
     .schema = EP_JSON({"type" : "array", "items" : {"enum" : [ "x", "y" ]}, "maxItems" : 2})},
    {.key = "shape",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_shape_read,
     .write = ep_shape_write,
     .form = "[channels, height, width]",
     .text_fallback = "null",
     .doc = "rows are images of this shape; by default as given by the data, else vectors",
     .schema = EP_JSON({
       "type" : "array",
       "items" : {"type" : "integer", "minimum" : 1},
       "minItems" : 3,
       "maxItems" : 3
     })},
    {.key = "scale",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(scale),
     .nullable = true,
     .min = 0,
     .open_min = true,
     .max = EP_REAL_MAX,
     .doc = "x is multiplied with this; 1 unless given, but 1/255 for bytes with normalize"},
    {.key = "normalize",
     .kind = EP_FIELD_OBJECT,
     .nullable = true,
     .table = &normalize_table,
     .given = normalize_given,
     .doc = "subtracted from x, which is then divided by std"},
    {.key = "augment",
     .kind = EP_FIELD_OBJECT,
     .nullable = true,
     .table = &augment_table,
     .given = augment_given,
     .doc = "changes training images randomly in each epoch"},
};
static const ep_field_table data_table = EP_FIELD_TABLE(data_rows, NULL);
/* Of sources that can be tables. */
#define COLUMN_ROWS                                                                               \
  {.key = "columns",                                                                              \
   .kind = EP_FIELD_CUSTOM,                                                                       \
   .rare = true,                                                                                  \
   .read = ep_columns_read,                                                                       \
   .write = ep_columns_write,                                                                     \
   .form = "an object of names or globs, see below",                                              \
   .text_fallback = "{}",                                                                         \
   .doc = "of a table: how columns become features, instead of by their type; an exact "          \
          "name takes precedence over a glob, and the name of a column is not a glob",            \
   .schema = EP_JSON({                                                                            \
     "type" : "object",                                                                           \
     "additionalProperties" : {"$ref" : "#/components/schemas/ColumnRule"},                       \
     "maxProperties" : EP_LIMIT_COLUMN_RULES                                                      \
   })},                                                                                           \
      {.key = "features",                                                                         \
       .kind = EP_FIELD_CUSTOM,                                                                   \
       .offset = AT(features),                                                                    \
       .nullable = true,                                                                          \
       .rare = true,                                                                              \
       .read = ep_column_names_read,                                                              \
       .write = ep_column_names_write,                                                            \
       .form = "an array of names or globs",                                                      \
       .text_fallback = "null",                                                                   \
       .doc = "of a table: the columns to learn from; all but the target unless given",           \
       .schema = COLUMN_NAMES_SCHEMA},                                                            \
      {.key = "exclude",                                                                          \
       .kind = EP_FIELD_CUSTOM,                                                                   \
       .offset = AT(exclude),                                                                     \
       .nullable = true,                                                                          \
       .rare = true,                                                                              \
       .read = ep_column_names_read,                                                              \
       .write = ep_column_names_write,                                                            \
       .form = "an array of names or globs",                                                      \
       .text_fallback = "null",                                                                   \
       .doc = "of a table: columns to leave out",                                                 \
       .schema = COLUMN_NAMES_SCHEMA},                                                            \
      {.key = "time",                                                                             \
       .kind = EP_FIELD_STRING,                                                                   \
       .offset = AT(time),                                                                        \
       .nullable = true,                                                                          \
       .rare = true,                                                                              \
       .capacity = EP_LIMIT_NAME_BYTES + 1,                                                       \
       .form = "a column's name",                                                                 \
       .doc = "of a table: a column of dates or numbers; the latest rows are the test, those "    \
              "before them the validation",                                                       \
       .schema = COLUMN_NAME_SCHEMA},                                                             \
      {.key = "window",                                                                           \
       .kind = EP_FIELD_OBJECT,                                                                   \
       .nullable = true,                                                                          \
       .rare = true,                                                                              \
       .table = &window_table,                                                                    \
       .given = window_given,                                                                     \
       .doc = "of a table: a series, in the order of time or of the file; an example has "        \
              "the features of several successive rows, and the target of a later one; the "      \
              "newest rows of a series are the test, those before them the validation"},          \
  {                                                                                               \
    .key = "group", .kind = EP_FIELD_STRING, .offset = AT(group), .nullable = true, .rare = true, \
    .capacity = EP_LIMIT_NAME_BYTES + 1, .form = "a column's name",                               \
    .doc =                                                                                        \
        "of a table: a category, which is then not a feature; rows of one word are all in the "   \
        "same split, so that test and validation may differ from their shares by about a group",  \
    .schema = COLUMN_NAME_SCHEMA                                                                  \
  }
#define COLUMN_NAMES_SCHEMA                                                            \
  EP_JSON({                                                                            \
    "type" : "array",                                                                  \
    "items" : {"type" : "string", "minLength" : 1, "maxLength" : EP_LIMIT_NAME_BYTES}, \
    "minItems" : 1,                                                                    \
    "maxItems" : EP_LIMIT_COLUMN_RULES                                                 \
  })

static const ep_field dataset_rows[] = {
    {.key = "dataset",
     .kind = EP_FIELD_STRING,
     .offset = AT(dataset),
     .required = true,
     .capacity = EP_LIMIT_NAME_BYTES + 1,
     .accepts = ep_dataset_accepts,
     .form = "a dataset's name (letters, digits, '.', '_', '-')",
     .doc = "an uploaded dataset",
     .schema = EP_DATASET_SCHEMA},
    {.key = "sha256",
     .kind = EP_FIELD_STRING,
     .offset = AT(sha256),
     .nullable = true,
     .capacity = EP_SHA256_HEX_BYTES,
     .accepts = ep_sha256_accepts,
     .form = "64 hexadecimal digits in lower case",
     .doc =
         "the SHA-256 of the data at submission; filled in by the daemon; one that is sent must be "
         "that of the present rows",
     .schema = EP_SHA256_SCHEMA},
    COLUMN_ROWS,
};
static const ep_field path_rows[] = {
    {.key = "path",
     .kind = EP_FIELD_STRING,
     .offset = AT(path),
     .required = true,
     .capacity = EP_LIMIT_PATH_BYTES + 1,
     .accepts = ep_path_accepts,
     .form = "the path of a file or folder, without \"..\"",
     .doc = "data below a folder that the administrator allows: NPY and IDX files are mapped and "
            "never copied"},
    {.key = "sha256",
     .kind = EP_FIELD_STRING,
     .offset = AT(sha256),
     .nullable = true,
     .capacity = EP_SHA256_HEX_BYTES,
     .accepts = ep_sha256_accepts,
     .form = "64 hexadecimal digits in lower case",
     .doc = "the SHA-256 of the converted data, for files that cannot be mapped; filled in by the "
            "daemon; one that is sent must be that of the present rows",
     .schema = EP_SHA256_SCHEMA},
    COLUMN_ROWS,
};
static const ep_field xor_rows[] = {
    {.key = "generator",
     .kind = EP_FIELD_WORD,
     .offset = AT(generator),
     .required = true,
     .words = &ep_generator_words,
     .doc = "generated data: the four rows of XOR"},
    {.key = "seed",
     .kind = EP_FIELD_UINT64,
     .offset = AT(generator_seed),
     .min = 0,
     .max = EP_SEED_MAX,
     .fallback = 1,
     .doc = "accepted, but has no effect: the rows are fixed"},
};
static const ep_field disc_rows[] = {
    {.key = "generator",
     .kind = EP_FIELD_WORD,
     .offset = AT(generator),
     .required = true,
     .words = &ep_generator_words,
     .doc = "generated data: points inside or outside a circle"},
    {.key = "rows",
     .kind = EP_FIELD_INT64,
     .offset = AT(rows),
     .min = 1,
     .max = EP_LIMIT_GENERATOR_ROWS,
     .fallback = 1000,
     .doc = "training rows, and as many for the test"},
    {.key = "seed",
     .kind = EP_FIELD_UINT64,
     .offset = AT(generator_seed),
     .min = 0,
     .max = EP_SEED_MAX,
     .fallback = 1,
     .doc = "which points"},
};
static const ep_field inline_rows[] = {
    {.key = "inline",
     .kind = EP_FIELD_OBJECT,
     .required = true,
     .table = &ep_inline_table,
     .doc = "{\"x\": [[…], …], \"y\": […]}: rows in the job itself, for small things"},
};
#undef AT
static const ep_field_table dataset_table = EP_FIELD_TABLE(dataset_rows, &data_table);
static const ep_field_table path_table = EP_FIELD_TABLE(path_rows, &data_table);
static const ep_field_table inline_table = EP_FIELD_TABLE(inline_rows, &data_table);
static const ep_field_table xor_table = EP_FIELD_TABLE(xor_rows, &data_table);
static const ep_field_table disc_table = EP_FIELD_TABLE(disc_rows, &data_table);
static const ep_field_table *const generator_tables[EP_GENERATOR_COUNT] = {
    [EP_GENERATOR_XOR] = &xor_table,
    [EP_GENERATOR_DISC] = &disc_table,
};

const ep_field_table *ep_data_table(ep_data_source source, ep_generator generator) {
  switch (source) {
  case EP_DATA_DATASET: return &dataset_table;
  case EP_DATA_GENERATOR: return generator_tables[generator];
  case EP_DATA_PATH: return &path_table;
  default: return &inline_table;
  }
}

static const char *const source_keys[] = {"dataset", "generator", "inline", "path"};
enum { SOURCES = sizeof source_keys / sizeof source_keys[0] };

/* Which one source is given: its number, or -1 after adding an error. */
static int source_find(ep_field_reader *reader, const json_t *value) {
  int found = -1;
  for (int i = 0; i < SOURCES; i++) {
    if (!json_object_get(value, source_keys[i])) continue;
    if (found >= 0) {
      size_t place = ep_field_reader_enter(reader, source_keys[i]);
      ep_field_reader_fail(reader, "\"%s\" and \"%s\" are both given: data comes from one of them",
                           source_keys[found], source_keys[i]);
      ep_field_reader_leave(reader, place);
      return -1;
    }
    found = i;
  }
  if (found >= 0) return found;
  ep_field_reader_fail(reader, "needs one of \"dataset\", \"generator\", \"inline\", \"path\"");
  return -1;
}

void ep_data_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base) {
  (void)field;
  ep_data_spec *data = &((ep_job_spec *)base)->data;
  if (!json_is_object(value)) {
    ep_field_reader_fail(reader, "must be an object, not %s", ep_json_type_name(value));
    return;
  }
  int source = source_find(reader, value);
  if (source < 0) return;
  data->source = (ep_data_source)source;
  data->generator_seed = 1;
  int generator = 0;
  if (data->source == EP_DATA_GENERATOR) {
    /* A word that is none: the table of the first generator reports it. */
    const char *word = json_string_value(json_object_get(value, "generator"));
    generator = word ? ep_generator_from_name(word) : -1;
    if (generator < 0) generator = EP_GENERATOR_DISC;
  }
  ep_fields_read(reader, ep_data_table(data->source, (ep_generator)generator), NULL, value, data);
  ep_folds_check(reader, value, data);
  if (data->test + data->validation >= 1) {
    size_t place = ep_field_reader_enter(reader, "validation");
    ep_field_reader_fail(reader, "test and validation together leave no rows to train on");
    ep_field_reader_leave(reader, place);
  }
  if (data->standardize_x && (data->normalize || data->scale != 0)) {
    size_t place = ep_field_reader_enter(reader, data->normalize ? "normalize" : "scale");
    ep_field_reader_fail(reader, "x is standardized already: choose one of the two");
    ep_field_reader_leave(reader, place);
  }
}

void ep_data_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_data_spec *data = &((const ep_job_spec *)base)->data;
  ep_writer_open(writer, '{');
  ep_fields_write(writer, ep_data_table(data->source, data->generator), data);
  ep_writer_close(writer, '}');
}
