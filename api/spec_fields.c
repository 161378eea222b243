#include "api/spec_fields.h"

#include <ctype.h>
#include <string.h>

/* The largest float32, rounded down: what a backend gets as a float stays finite. */
#define REAL_MAX 3e38
#define SEED_MAX 9007199254740991.0 /* 2^53 - 1: exact in every JSON reader */

#define WORDS(word, prefix, what, later_words) \
  { what, EP_##prefix##_COUNT, ep_##word##_name, ep_##word##_from_name, later_words }
static const ep_field_words layer_words =
    WORDS(layer_type, LAYER, "layer",
          "conv2d maxpool2d avgpool2d flatten dropout dropout2d batchnorm1d batchnorm2d layernorm "
          "embedding");
static const ep_field_words loss_words = WORDS(loss_type, LOSS, "loss", NULL);
static const ep_field_words optimizer_words =
    WORDS(optimizer_type, OPTIMIZER, "optimizer", "adam adamw rmsprop adagrad");
static const ep_field_words init_words = WORDS(init_type, INIT, "init", NULL);
static const ep_field_words precision_words =
    WORDS(precision, PRECISION, "precision", "tf32 bf16 fp16");
static const ep_field_words generator_words = WORDS(generator, GENERATOR, "generator", NULL);

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

static bool sha256_accepts(const char *text) {
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

static const ep_field_table no_fields = {NULL, 0, NULL};

/* Layers. */
#define AT(member) offsetof(ep_layer_spec, member)
static const ep_field linear_rows[] = {
    {.key = "in_features",
     .kind = EP_FIELD_INT64,
     .offset = AT(in_features),
     .nullable = true,
     .min = 1,
     .max = EP_LIMIT_FEATURES,
     .doc = "columns that come in; inferred unless given, checked if given"},
    {.key = "out_features",
     .kind = EP_FIELD_INT64,
     .offset = AT(out_features),
     .required = true,
     .min = 1,
     .max = EP_LIMIT_FEATURES,
     .doc = "columns that go out"},
    {.key = "bias",
     .kind = EP_FIELD_BOOL,
     .offset = AT(bias),
     .fallback = 1,
     .doc = "adds a bias to each column that goes out"},
    {.key = "init",
     .kind = EP_FIELD_WORD,
     .offset = AT(init),
     .words = &init_words,
     .fallback = EP_INIT_DEFAULT,
     .doc = "how the first weights are drawn"},
};
static const ep_field leaky_relu_rows[] = {
    {.key = "negative_slope",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(negative_slope),
     .min = -REAL_MAX,
     .max = REAL_MAX,
     .fallback = 0.01,
     .doc = "slope below zero"},
};
#undef AT
static const ep_field_table linear_table = EP_FIELD_TABLE(linear_rows, NULL);
static const ep_field_table leaky_relu_table = EP_FIELD_TABLE(leaky_relu_rows, NULL);
static const ep_field_table *const layer_tables[EP_LAYER_COUNT] = {
    [EP_LAYER_LINEAR] = &linear_table,
    [EP_LAYER_RELU] = &no_fields,
    [EP_LAYER_LEAKY_RELU] = &leaky_relu_table,
    [EP_LAYER_TANH] = &no_fields,
    [EP_LAYER_SIGMOID] = &no_fields,
    [EP_LAYER_GELU] = &no_fields,
    [EP_LAYER_SIN] = &no_fields,
    [EP_LAYER_SOFTMAX] = &no_fields,
    [EP_LAYER_LOG_SOFTMAX] = &no_fields,
};
const ep_field_variants ep_layer_variants = {&layer_words, offsetof(ep_layer_spec, type), false,
                                             layer_tables, -1};

/* Losses: their figures stand in the spec itself. */
static const ep_field huber_rows[] = {
    {.key = "delta",
     .kind = EP_FIELD_DOUBLE,
     .offset = offsetof(ep_job_spec, huber_delta),
     .min = 0,
     .open_min = true,
     .max = REAL_MAX,
     .fallback = 1,
     .doc = "where the square turns into a line"},
};
static const ep_field_table huber_table = EP_FIELD_TABLE(huber_rows, NULL);
static const ep_field_table *const loss_tables[EP_LOSS_COUNT] = {
    [EP_LOSS_MSE] = &no_fields,
    [EP_LOSS_MAE] = &no_fields,
    [EP_LOSS_HUBER] = &huber_table,
    [EP_LOSS_BCE] = &no_fields,
    [EP_LOSS_BCE_WITH_LOGITS] = &no_fields,
    [EP_LOSS_CROSS_ENTROPY] = &no_fields,
    [EP_LOSS_NLL] = &no_fields,
};
const ep_field_variants ep_loss_variants = {&loss_words, offsetof(ep_job_spec, loss), true,
                                            loss_tables, -1};

/* Optimizers. */
#define AT(member) offsetof(ep_optimizer_spec, member)
static const ep_field sgd_rows[] = {
    {.key = "lr",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(lr),
     .min = 0,
     .max = REAL_MAX,
     .fallback = 0.01,
     .doc = "learning rate"},
    {.key = "momentum",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(momentum),
     .min = 0,
     .max = 1,
     .doc = "share of the last step that goes into the next"},
    {.key = "nesterov",
     .kind = EP_FIELD_BOOL,
     .offset = AT(nesterov),
     .doc = "looks ahead by the momentum, which it needs"},
    {.key = "weight_decay",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(weight_decay),
     .min = 0,
     .max = REAL_MAX,
     .doc = "adds this times the parameter to its gradient"},
};
#undef AT
static const ep_field_table sgd_table = EP_FIELD_TABLE(sgd_rows, NULL);
static const ep_field_table *const optimizer_tables[EP_OPTIMIZER_COUNT] = {
    [EP_OPTIMIZER_SGD] = &sgd_table,
};
const ep_field_variants ep_optimizer_variants = {
    &optimizer_words, offsetof(ep_optimizer_spec, type), true, optimizer_tables, EP_OPTIMIZER_SGD};

/* Data: one table a source; what all have in common comes last. */
#define AT(member) offsetof(ep_data_spec, member)
static const ep_field data_rows[] = {
    {.key = "target",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = ep_target_read,
     .write = ep_target_write,
     .doc = "the column to predict: its name or its index, -1 is the last; the last unless given"},
    {.key = "test",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(test),
     .min = 0,
     .max = 1,
     .open_max = true,
     .doc = "share of the rows kept for the test"},
    {.key = "validation",
     .kind = EP_FIELD_DOUBLE,
     .offset = AT(validation),
     .min = 0,
     .max = 1,
     .open_max = true,
     .doc = "share of the rows kept for validation"},
    {.key = "split_seed",
     .kind = EP_FIELD_UINT64,
     .offset = AT(split_seed),
     .min = 0,
     .max = SEED_MAX,
     .fallback = 1,
     .doc = "which rows go where"},
    {.key = "standardize",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_standardize_read,
     .write = ep_standardize_write,
     .doc = "\"x\", \"y\" or both: scaled to mean 0 and deviation 1 by the training rows"},
    {.key = "path",
     .kind = EP_FIELD_LATER,
     .doc = "upload the file as a dataset and name it in \"dataset\""},
};
static const ep_field_table data_table = EP_FIELD_TABLE(data_rows, NULL);
static const ep_field dataset_rows[] = {
    {.key = "dataset",
     .kind = EP_FIELD_STRING,
     .offset = AT(dataset),
     .required = true,
     .capacity = EP_LIMIT_NAME_BYTES + 1,
     .accepts = ep_dataset_name_valid,
     .form = "a dataset's name (letters, digits, '.', '_', '-')",
     .doc = "an uploaded dataset"},
    {.key = "sha256",
     .kind = EP_FIELD_STRING,
     .offset = AT(sha256),
     .nullable = true,
     .capacity = 65,
     .accepts = sha256_accepts,
     .form = "64 hexadecimal digits in lower case",
     .doc = "the content that the name meant at submission; filled in"},
};
static const ep_field xor_rows[] = {
    {.key = "generator",
     .kind = EP_FIELD_WORD,
     .offset = AT(generator),
     .required = true,
     .words = &generator_words,
     .doc = "made-up data: the four rows of XOR"},
    {.key = "seed",
     .kind = EP_FIELD_UINT64,
     .offset = AT(generator_seed),
     .min = 0,
     .max = SEED_MAX,
     .fallback = 1,
     .doc = "kept, and without effect: the rows are fixed"},
};
static const ep_field disc_rows[] = {
    {.key = "generator",
     .kind = EP_FIELD_WORD,
     .offset = AT(generator),
     .required = true,
     .words = &generator_words,
     .doc = "made-up data: points inside or outside of a circle"},
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
     .max = SEED_MAX,
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
  default: return &inline_table;
  }
}

/* The job. */
#define AT(member) offsetof(ep_job_spec, member)
static const ep_field model_rows[] = {
    {.key = "layers",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_layers_read,
     .write = ep_layers_write,
     .doc = "the layers, from the input to the output"},
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
static const ep_field spec_rows[] = {
    {.key = "name",
     .kind = EP_FIELD_STRING,
     .offset = AT(name),
     .capacity = EP_LIMIT_NAME_BYTES + 1,
     .doc = "for people; need not be unique"},
    {.key = "tags",
     .kind = EP_FIELD_CUSTOM,
     .read = ep_tags_read,
     .write = ep_tags_write,
     .doc = "short texts to find jobs by"},
    {.key = "priority",
     .kind = EP_FIELD_INT,
     .offset = AT(priority),
     .min = -100,
     .max = 100,
     .doc = "higher goes first"},
    {.key = "data",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_data_read,
     .write = ep_data_write,
     .doc = "where the rows come from, one of dataset, generator, inline"},
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
     .max = SEED_MAX,
     .fallback = 1,
     .doc = "of the first weights and the order of the rows"},
    {.key = "device",
     .kind = EP_FIELD_STRING,
     .offset = AT(device),
     .capacity = 16,
     .text_fallback = "auto",
     .accepts = device_accepts,
     .form = "\"auto\", \"cpu\", \"cuda\" or \"cuda:N\"",
     .doc = "where to train"},
    {.key = "executor",
     .kind = EP_FIELD_STRING,
     .offset = AT(executor),
     .nullable = true,
     .capacity = 32,
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
const ep_field_table ep_spec_table = EP_FIELD_TABLE(spec_rows, NULL);
