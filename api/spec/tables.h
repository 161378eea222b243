/* tables.h: what the tables of a job's spec share: the tables themselves, one file for each part of
 * the spec, and what their rows are written with. The parser, the writer and the documentation walk
 * them. */
#ifndef EP_API_SPEC_TABLES_H
#define EP_API_SPEC_TABLES_H

#include "api/json/fields.h"
#include "api/limits.h"
#include "api/spec/job_spec.h"

/* fields.c: the whole spec, of ep_job_spec; what PATCH may change alone. */
extern const ep_field_table ep_spec_table;
extern const ep_field_table ep_label_table;
extern const ep_field_table ep_visibility_table; /* the row of it that datasets and models have */

/* sources.c: the fields of a source of data, of ep_data_spec; generators have a table each. */
const ep_field_table *ep_data_table(ep_data_source source, ep_generator generator);

/* inline.c: {"x": …, "y": …}, of ep_data_spec. */
extern const ep_field_table ep_inline_table;

/* layers.c, losses.c, optimizers.c, schedules.c: the fields of each type, of ep_layer_spec,
 * ep_job_spec, ep_optimizer_spec, ep_schedule_spec. Names and defaults are torch's. */
extern const ep_field_variants ep_layer_variants, ep_loss_variants, ep_optimizer_variants,
    ep_schedule_variants;

/* webhooks.c: the fields of one, of ep_webhook_spec. */
extern const ep_field_table ep_webhook_table;

/* parallel.c: "parallel", of ep_job_spec; whether it is more than the default; and its checks and
 * defaults, after all fields were read. */
extern const ep_field_table ep_parallel_table;
bool ep_parallel_given(const void *spec);
void ep_parallel_finish(ep_field_reader *reader, ep_job_spec *spec);

/* slurm.c: "slurm", of ep_job_spec. */
extern const ep_field_table ep_slurm_table;

/* words.c: the vocabularies of fields that hold a word. */
extern const ep_field_words ep_layer_words, ep_loss_words, ep_optimizer_words, ep_schedule_words,
    ep_init_words, ep_generator_words, ep_precision_words, ep_task_words, ep_column_as_words,
    ep_fill_words, ep_category_words, ep_unknown_word_words, ep_column_scale_words,
    ep_webhook_words, ep_window_gaps_words;

/* accepts.c: which texts a field takes: `accepts` of its row. */
bool ep_device_accepts(const char *text);   /* "auto", "cpu", "cuda", "cuda:N", "slurm:NAME" */
bool ep_executor_accepts(const char *text); /* "cpu/fused" */
bool ep_find_accepts(const char *text);     /* "lr" */
bool ep_job_accepts(const char *text);      /* an id */
bool ep_sha256_accepts(const char *text);   /* 64 hexadecimal digits in lower case */

/* A dataset's name: 1 to EP_LIMIT_NAME_BYTES letters, digits, '.', '_', '-'; a letter or digit
 * first. */
bool ep_dataset_accepts(const char *text);

/* A tag: each character shows, so that it reads as what it is. */
bool ep_name_accepts(const char *text);
/* A job's name: such a text that stands for nothing else where a path names a job (api/names.h). */
bool ep_job_name_accepts(const char *text);

/* A path without "..". Whether it lies below an allowed folder, epochd checks. */
bool ep_path_accepts(const char *text);

/* A webhook's URL: http or https, a host, printable ASCII, no user and no fragment. */
bool ep_url_accepts(const char *text);

/* The largest float32, rounded down: what a backend gets as a float stays finite. */
#define EP_REAL_MAX 3e38
#define EP_SEED_MAX 9007199254740991.0 /* 2^53 - 1: exact in every JSON reader */

/* `schema` of rows that several tables have. */
#define EP_LAYERS_SCHEMA                               \
  EP_JSON({                                            \
    "type" : "array",                                  \
    "items" : {"$ref" : "#/components/schemas/Layer"}, \
    "minItems" : 1,                                    \
    "maxItems" : EP_LIMIT_LAYERS                       \
  })
#define EP_DATASET_SCHEMA EP_JSON({"pattern" : "^[A-Za-z0-9][A-Za-z0-9._-]*$"})
#define EP_SHA256_SCHEMA EP_JSON({"pattern" : "^[0-9a-f]{64}$"})

/* A number in a range, ends included; then further members of the row. */
#define EP_ROW_REAL(key_, member, doc_, least, greatest, fallback_, ...)                       \
  {                                                                                            \
    .key = key_, .kind = EP_FIELD_DOUBLE, .offset = AT(member), .min = least, .max = greatest, \
    .fallback = fallback_, .doc = doc_, __VA_ARGS__                                            \
  }
#define EP_ROW_PLAIN .nullable = false /* no further members */

/* A metric of the validation split, member of what `at` is the offset in. */
#define EP_METRIC_ROW(at, what)                                                                    \
  {                                                                                                \
    .key = "metric", .kind = EP_FIELD_CUSTOM, .offset = at, .read = ep_metric_read,                \
    .write = ep_metric_write,                                                                      \
    .form = "a metric of the validation split: \"validation.loss\", or error, accuracy, "          \
            "precision, recall, f1 or roc_auc of a classifier, mse, rmse, mae or r2 of a "         \
            "regression",                                                                          \
    .text_fallback = "\"validation.loss\"", .doc = what,                                           \
    .schema = EP_JSON({                                                                            \
      "enum" : [                                                                                   \
        "validation.loss", "validation.mse", "validation.rmse", "validation.mae", "validation.r2", \
        "validation.accuracy", "validation.precision", "validation.recall", "validation.f1",       \
        "validation.roc_auc", "validation.error"                                                   \
      ]                                                                                            \
    })                                                                                             \
  }

/* The fields of an ep_parts_spec, a member of `type`. what: "each trial trains", say. */
#define EP_PARTS_ROWS(type, member, what)                                                         \
  {.key = "repeats",                                                                              \
   .kind = EP_FIELD_CUSTOM,                                                                       \
   .offset = offsetof(type, member),                                                              \
   .rare = true,                                                                                  \
   .read = ep_repeats_read,                                                                       \
   .write = ep_repeats_write,                                                                     \
   .form = "a number, or {\"seeds\": […]}",                                                       \
   .text_fallback = "1",                                                                          \
   .doc =                                                                                         \
       what " this many times, with different seeds: the job's and those after it, or the given " \
            "ones",                                                                               \
   .schema = EP_JSON({                                                                            \
     "oneOf" : [                                                                                  \
       {"type" : "integer", "minimum" : 1, "maximum" : EP_LIMIT_REPEATS}, {                       \
         "type" : "object",                                                                       \
         "required" : ["seeds"],                                                                  \
         "properties" : {                                                                         \
           "seeds" :                                                                              \
               {"type" : "array", "items" : {"type" : "integer", "minimum" : 0}, "minItems" : 1}  \
         }                                                                                        \
       }                                                                                          \
     ]                                                                                            \
   })},                                                                                           \
      {.key = "folds",                                                                            \
       .kind = EP_FIELD_INT,                                                                      \
       .offset = offsetof(type, member.folds),                                                    \
       .nullable = true,                                                                          \
       .rare = true,                                                                              \
       .min = 2,                                                                                  \
       .max = EP_LIMIT_FOLDS,                                                                     \
       .doc = what " once with each fold of the rows as its validation split"},                   \
  {                                                                                               \
    .key = "stratify", .kind = EP_FIELD_BOOL, .offset = offsetof(type, member.stratify),          \
    .rare = true, .doc = "the folds keep the share of each class"                                 \
  }

/* "webhooks", of an ep_job_spec. */
#define EP_WEBHOOKS_ROW                                                                            \
  {                                                                                                \
    .key = "webhooks", .kind = EP_FIELD_CUSTOM, .rare = true, .read = ep_webhooks_read,            \
    .write = ep_webhooks_write, .form = "an array of objects with \"url\"", .text_fallback = "[]", \
    .doc = "URLs that receive signed messages of the end and of the other events listed",          \
    .schema = EP_JSON({                                                                            \
      "type" : "array",                                                                            \
      "items" : {                                                                                  \
        "type" : "object",                                                                         \
        "required" : ["url"],                                                                      \
        "properties" : {                                                                           \
          "url" : {                                                                                \
            "type" : "string",                                                                     \
            "maxLength" : EP_LIMIT_URL_BYTES,                                                      \
            "pattern" : "^https?://[^/?@#][^@#]*"                                                  \
          },                                                                                       \
          "events" :                                                                               \
              {"type" : "array", "items" : {"enum" : [ "end", "failed", "best" ]}, "minItems" : 1} \
        }                                                                                          \
      },                                                                                           \
      "maxItems" : EP_LIMIT_WEBHOOKS                                                               \
    })                                                                                             \
  }

/* The reader and the writer of a field that is no plain value. */
#define EP_CUSTOM_FIELD(word)                                                                \
  void ep_##word##_read(ep_field_reader *reader, const ep_field *field, const json_t *value, \
                        void *base);                                                         \
  void ep_##word##_write(ep_writer *writer, const ep_field *field, const void *base);

/* sources.c, layers.c, tags.c, choices.c: of ep_job_spec; milestones of ep_schedule_spec. A field
 * that depends on another comes after it: freeze after layers, keep after early_stopping. */
EP_CUSTOM_FIELD(data)
EP_CUSTOM_FIELD(layers)
EP_CUSTOM_FIELD(freeze)
EP_CUSTOM_FIELD(tags)
EP_CUSTOM_FIELD(webhooks) /* webhooks.c */
EP_CUSTOM_FIELD(visibility)
EP_CUSTOM_FIELD(class_weights)
EP_CUSTOM_FIELD(milestones)
EP_CUSTOM_FIELD(repeats) /* parts.c: of the ep_parts_spec at the offset */
EP_CUSTOM_FIELD(metric)  /* an ep_metric of the validation split, at the offset */
EP_CUSTOM_FIELD(validation_metrics)
EP_CUSTOM_FIELD(keep)
EP_CUSTOM_FIELD(init_checkpoint)

/* data.c: of ep_data_spec. fold is -1 where folds lacks it, which ep_folds_check reports.
 * normalize_std comes after normalize_mean: both end with as many numbers. */
EP_CUSTOM_FIELD(target)
EP_CUSTOM_FIELD(positive)
EP_CUSTOM_FIELD(fold)
EP_CUSTOM_FIELD(standardize)
EP_CUSTOM_FIELD(shape)
EP_CUSTOM_FIELD(normalize_mean)
EP_CUSTOM_FIELD(normalize_std)

/* columns.c: of ep_data_spec; names: of the ep_column_names at the offset. column_table: what is
 * said of one column, of ep_column_rule. */
EP_CUSTOM_FIELD(columns)
EP_CUSTOM_FIELD(column_names)
EP_CUSTOM_FIELD(column_missing)
EP_CUSTOM_FIELD(column_indicator)
extern const ep_field_table ep_column_table;

/* data.c: folds, fold and validation against each other, after all fields of `object` were read
 * into *data. */
void ep_folds_check(ep_field_reader *reader, const json_t *object, const ep_data_spec *data);

/* lists.c: arrays of at most `limit` numbers in the range of `row` (its min, max, open_min); an
 * error names the item. The caller owns what comes back; NULL and *count 0 for an empty array or
 * after adding an error. */
double *ep_reals_take(ep_field_reader *reader, const ep_field *row, const json_t *value,
                      size_t limit, int *count);
int64_t *ep_integers_take(ep_field_reader *reader, const ep_field *row, const json_t *value,
                          size_t limit, int *count);
void ep_reals_write(ep_writer *writer, const double *numbers, int count);
void ep_integers_write(ep_writer *writer, const int64_t *numbers, int count);

#endif
