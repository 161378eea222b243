#include "api/spec/fields.h"

#include <ctype.h>
#include <string.h>

#define WORDS(word, prefix, what, later_words) \
  { what, EP_##prefix##_COUNT, ep_##word##_name, ep_##word##_from_name, later_words }
const ep_field_words ep_layer_words = WORDS(layer_type, LAYER, "layer", NULL);
const ep_field_words ep_loss_words = WORDS(loss_type, LOSS, "loss", NULL);
const ep_field_words ep_optimizer_words = WORDS(optimizer_type, OPTIMIZER, "optimizer", NULL);
const ep_field_words ep_schedule_words = WORDS(schedule_type, SCHEDULE, "schedule", NULL);
const ep_field_words ep_init_words = WORDS(init_type, INIT, "init", NULL);
const ep_field_words ep_generator_words = WORDS(generator, GENERATOR, "generator", NULL);
static const ep_field_words precision_words = WORDS(precision, PRECISION, "precision", "fp16");

static bool device_accepts(const char *text) {
  if (strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0)
    return true;
  if (strncmp(text, "cuda:", 5) != 0) return false;
  size_t digits = strspn(text + 5, "0123456789");
  return digits >= 1 && digits <= 4 && text[5 + digits] == 0 && (digits == 1 || text[5] != '0');
}

static bool executor_accepts(const char *text) {
  size_t kind = strncmp(text, "cpu/", 4) == 0 ? 4 : strncmp(text, "cuda/", 5) == 0 ? 5 : 0;
  if (!kind || !text[kind]) return false;
  return strspn(text + kind, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(text + kind);
}

bool ep_sha256_accepts(const char *text) {
  return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

bool ep_dataset_name_valid(const char *name) {
  if (!isalnum((unsigned char)name[0])) return false;
  for (size_t i = 0; name[i]; i++) {
    if (i >= EP_LIMIT_NAME_BYTES) return false;
    if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i])) return false;
  }
  return true;
}

static bool job_accepts(const char *text) {
  return strncmp(text, "job_", 4) == 0 &&
         strspn(text + 4, "0123456789abcdefghijklmnopqrstuvwxyz") == strlen(text) - 4;
}

/* The job. */
#define AT(member) offsetof(ep_job_spec, member)
static const ep_field init_rows[] = {
    {.key = "job",
     .kind = EP_FIELD_STRING,
     .offset = AT(init_job),
     .nullable = true,
     .capacity = sizeof((ep_job_spec *)0)->init_job,
     .accepts = job_accepts,
     .form = "a job's id",
     .doc = "a job that succeeded: its weights"},
    {.key = "weights",
     .kind = EP_FIELD_STRING,
     .offset = AT(init_weights),
     .nullable = true,
     .capacity = EP_LIMIT_NAME_BYTES + 1,
     .accepts = ep_dataset_name_valid,
     .form = "a dataset's name (letters, digits, '.', '_', '-')",
     .doc = "an uploaded safetensors file"},
    {.key = "sha256",
     .kind = EP_FIELD_STRING,
     .offset = AT(init_sha256),
     .nullable = true,
     .capacity = EP_SHA256_HEX_BYTES,
     .accepts = ep_sha256_accepts,
     .form = "64 hexadecimal digits in lower case",
     .doc = "the content that the name meant at submission; filled in"},
};
static const ep_field_table init_table = EP_FIELD_TABLE(init_rows, NULL);
static bool init_given(const void *spec) {
  const ep_job_spec *job = spec;
  return job->init_job[0] || job->init_weights[0];
}

static const ep_field model_rows[] = {
    {.key = "layers",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_layers_read,
     .write = ep_layers_write,
     .form = "an array of layers",
     .doc = "the layers, from the input to the output"},
    {.key = "freeze",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_freeze_read,
     .write = ep_freeze_write,
     .form = "an array of indices into layers",
     .text_fallback = "[]",
     .doc = "layers whose parameters stay as they are; of a residual: all within"},
    {.key = "init",
     .kind = EP_FIELD_OBJECT,
     .nullable = true,
     .table = &init_table,
     .given = init_given,
     .doc = "where the first weights come from: every tensor must be there, with its shape; drawn "
            "unless given"},
};
static const ep_field_table model_table = EP_FIELD_TABLE(model_rows, NULL);
static const ep_field checkpoint_rows[] = {
    {.key = "every_seconds",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(checkpoint_every_seconds),
     .min = 0,
     .open_min = true,
     .max = 1e9,
     .fallback = 30,
     .doc = "kept with the job; checkpoints come with a later release"},
};
static const ep_field_table checkpoint_table = EP_FIELD_TABLE(checkpoint_rows, NULL);
static const ep_field clip_rows[] = {
    {.key = "norm",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(clip_norm),
     .nullable = true,
     .min = 0,
     .open_min = true,
     .max = EP_REAL_MAX,
     .doc = "the gradient is scaled to at most this norm, over all parameters; first"},
    {.key = "value",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(clip_value),
     .nullable = true,
     .min = 0,
     .open_min = true,
     .max = EP_REAL_MAX,
     .doc = "then each value of it is cut to plus and minus this"},
};
static const ep_field_table clip_table = EP_FIELD_TABLE(clip_rows, NULL);
static bool clip_given(const void *spec) {
  const ep_job_spec *job = spec;
  return job->clip_norm != 0 || job->clip_value != 0;
}

static const ep_field early_stopping_rows[] = {
    {.key = "patience",
     .kind = EP_FIELD_INT64,
     .offset = AT(early_stopping_patience),
     .required = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs without a better figure after which training ends"},
    {.key = "metric",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_metric_read,
     .write = ep_metric_write,
     .form = "\"validation.loss\" or \"validation.error\"",
     .text_fallback = "\"validation.loss\"",
     .doc = "the figure, looked at in every reported epoch; error: of a classifier"},
    {.key = "min_delta",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(early_stopping_min_delta),
     .min = 0,
     .max = EP_REAL_MAX,
     .doc = "better means: by more than this"},
};
static const ep_field_table early_stopping_table = EP_FIELD_TABLE(early_stopping_rows, NULL);
static bool early_stopping_given(const void *spec) {
  return ((const ep_job_spec *)spec)->early_stopping_patience > 0;
}

/* What PATCH may change. */
static const ep_field label_rows[] = {
    {.key = "name",
     .kind = EP_FIELD_STRING,
     .offset = AT(name),
     .capacity = EP_LIMIT_NAME_BYTES + 1,
     .doc = "for people; need not be unique"},
    {.key = "tags",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_tags_read,
     .write = ep_tags_write,
     .form = "an array of strings",
     .text_fallback = "[]",
     .doc = "short texts to find jobs by"},
    {.key = "priority",
     .kind = EP_FIELD_INT,
     .offset = AT(priority),
     .min = -100,
     .max = 100,
     .doc = "higher goes first"},
};
const ep_field_table ep_label_table = EP_FIELD_TABLE(label_rows, NULL);

static const ep_field spec_rows[] = {
    {.key = "data",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_data_read,
     .write = ep_data_write,
     .form = "an object",
     .doc = "where the rows come from: one of dataset, generator, inline, path"},
    {.key = "model",
     .kind = EP_FIELD_OBJECT,
     .required = true,
     .table = &model_table,
     .doc = "the network"},
    {.key = "loss",
     .kind = EP_FIELD_VARIANT,
     .required = true,
     .variants = &ep_loss_variants,
     .doc = "what is made small: a word, or an object for a loss with figures"},
    {.key = "optimizer",
     .kind = EP_FIELD_VARIANT,
     .offset = AT(optimizer),
     .variants = &ep_optimizer_variants,
     .fallback = EP_OPTIMIZER_SGD,
     .doc = "how it is made small"},
    {.key = "schedule",
     .kind = EP_FIELD_VARIANT,
     .offset = AT(schedule),
     .variants = &ep_schedule_variants,
     .fallback = EP_SCHEDULE_CONSTANT,
     .doc = "how the learning rate changes"},
    {.key = "clip",
     .kind = EP_FIELD_OBJECT,
     .nullable = true,
     .table = &clip_table,
     .given = clip_given,
     .doc = "cuts large gradients"},
    {.key = "early_stopping",
     .kind = EP_FIELD_OBJECT,
     .nullable = true,
     .table = &early_stopping_table,
     .given = early_stopping_given,
     .doc = "ends a training that does not get better; needs a validation split"},
    {.key = "keep",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_keep_read,
     .write = ep_keep_write,
     .form = "\"last\" or \"best\"",
     .text_fallback = "\"last\"",
     .doc =
         "which weights the job ends with: \"best\" needs a validation split, and is the default "
         "with early_stopping"},
    {.key = "epochs",
     .kind = EP_FIELD_INT64,
     .offset = AT(epochs),
     .required = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "passes over the training rows"},
    {.key = "batch_size",
     .kind = EP_FIELD_INT64,
     .offset = AT(batch_size),
     .zero_word = "full",
     .min = 1,
     .max = (double)EP_LIMIT_ROWS,
     .doc = "rows of one step"},
    {.key = "shuffle",
     .kind = EP_FIELD_BOOL,
     .offset = AT(shuffle),
     .fallback = 1,
     .doc = "a new order of the rows in each epoch"},
    {.key = "seed",
     .kind = EP_FIELD_UINT64,
     .offset = AT(seed),
     .min = 0,
     .max = EP_SEED_MAX,
     .fallback = 1,
     .doc = "of the first weights and the order of the rows"},
    {.key = "device",
     .kind = EP_FIELD_STRING,
     .offset = AT(device),
     .capacity = EP_DEVICE_ID_BYTES,
     .text_fallback = "auto",
     .accepts = device_accepts,
     .form = "\"auto\", \"cpu\", \"cuda\" or \"cuda:N\"",
     .doc = "where to train"},
    {.key = "executor",
     .kind = EP_FIELD_STRING,
     .offset = AT(executor),
     .nullable = true,
     .capacity = EP_EXECUTOR_BYTES,
     .accepts = executor_accepts,
     .form = "an executor's name like \"cpu/fused\"",
     .doc = "asks for one executor by name; chosen unless given"},
    {.key = "precision",
     .kind = EP_FIELD_WORD,
     .offset = AT(precision),
     .words = &precision_words,
     .fallback = EP_PRECISION_FP32,
     .doc = "of the arithmetic"},
    {.key = "report_every",
     .kind = EP_FIELD_INT64,
     .offset = AT(report_every),
     .nullable = true,
     .min = 1,
     .max = (double)EP_LIMIT_EPOCHS,
     .doc = "epochs between two events; a thousandth of all unless given"},
    {.key = "checkpoint",
     .kind = EP_FIELD_OBJECT,
     .table = &checkpoint_table,
     .doc = "when the state is saved"},
};
#undef AT
static const ep_field_table spec_table = EP_FIELD_TABLE(spec_rows, NULL);
const ep_field_table ep_spec_table = EP_FIELD_TABLE(label_rows, &spec_table);
