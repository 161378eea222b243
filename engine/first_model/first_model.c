#include "engine/first_model/first_model.h"

#include <math.h>

#include "api/json/writer.h"

static const double test_share = 0.2, validation_share = 0.1, lr = 0.003;
static const double tolerance_max = 0.3;

/* How much a network is held back. */
typedef struct {
  double dropout, weight_decay;
} restraint;

/* What suits vectors where so many rows train or validate, found by tests/real/run: the fewer, the
 * more a network is held back, and the smoother it has to be. A label of few classes says little,
 * and a network learns its noise sooner than that of a number. */
typedef struct {
  int64_t rows; /* at least */
  ep_layer_type activation;
  int64_t width; /* of the first layer, the second has half of it */
  restraint usual, few_classes;
} regime;
static const regime regimes[] = {
    {5000, EP_LAYER_SILU, 128, {0.1, 0.1}, {0.1, 0.1}},
    {250, EP_LAYER_RELU, 128, {0.2, 0.3}, {0.5, 0.6}},
    {0, EP_LAYER_SILU, 64, {0.2, 1}, {0.5, 1}},
};
static const double weight_decay_images = 0.3;

enum {
  RESTRAINED_CLASSES = 3, /* so few are held back more */
  TEST_ROWS = 10,         /* fewer are all trained on, */
  VALIDATION_ROWS = 250,  /* fewer are worth more in the training than the epoch they would find, */
  ROWS_SURE = 5000,       /* and so are fewer of groups; of as many the best epoch is one */
  STEPS = 6000,
  EPOCHS_MIN = 20,
  EPOCHS_MAX = 200,
  EPOCHS_IMAGES = 40,
  EPOCHS_TINY = 1000, /* of fewer rows than a batch */
  PATIENCE_MIN = 10,
  BATCH_MIN = 32,
  BATCH_MAX = 1024,
  BATCHES = 100,  /* of an epoch, at least, where batches are larger than the least */
  IMAGE_SIDE = 8, /* images are halved down to this, and smaller ones are vectors */
  CHANNELS_MIN = 16,
  CHANNELS_MAX = 64,
  IMAGE_FEATURES = 64,
  TEXT_BYTES = 1 << 24 /* names of all columns of a table */
};

static int64_t clamp(int64_t value, int64_t least, int64_t greatest) {
  return value < least ? least : value > greatest ? greatest : value;
}

static bool is_image(const ep_model_facts *facts) {
  return facts->row.height >= IMAGE_SIDE && facts->row.width >= IMAGE_SIDE;
}

static ep_loss_type loss_choose(const ep_model_facts *facts) {
  if (!facts->loss) return facts->given_loss;
  if (facts->classes == 0) return EP_LOSS_MSE;
  if (facts->model) return EP_LOSS_CROSS_ENTROPY;
  if (facts->last == EP_LAYER_LOG_SOFTMAX) return EP_LOSS_NLL;
  if (facts->last == EP_LAYER_SIGMOID) return EP_LOSS_BCE;
  return facts->last_outputs == 1 ? EP_LOSS_BCE_WITH_LOGITS : EP_LOSS_CROSS_ENTROPY;
}

/* What has to be known before the fields are written. */
typedef struct {
  const ep_model_facts *facts;
  ep_loss_type loss;
  bool test, validation; /* chosen */
  const regime *regime;
  int64_t batch, epochs, train_rows;
} choice;

static const regime *regime_choose(int64_t rows) {
  const regime *found = regimes;
  while (rows < found->rows) found++;
  return found;
}

static const restraint *restraint_of(const choice *made) {
  int64_t labels = made->facts->labels;
  bool few = labels > 0 && labels <= RESTRAINED_CLASSES;
  return few ? &made->regime->few_classes : &made->regime->usual;
}

/* Fewer rows have no validation split. One of a series has room for two examples. */
static int64_t validation_rows(const ep_model_facts *facts) {
  int64_t example = (int64_t)(2 * (double)facts->example_rows / validation_share);
  if (facts->compared) return TEST_ROWS;
  if (facts->grouped) return ROWS_SURE;
  return example > VALIDATION_ROWS ? example : VALIDATION_ROWS;
}

static choice choice_make(const ep_model_facts *facts) {
  choice made = {.facts = facts, .loss = loss_choose(facts)};
  made.test = facts->test && facts->rows >= TEST_ROWS;
  made.validation = facts->validation && facts->rows >= validation_rows(facts);
  double share = 1 - (made.test ? test_share : 0);
  made.regime = regime_choose((int64_t)((double)facts->rows * share));
  if (made.validation) share -= validation_share;
  made.train_rows = (int64_t)((double)facts->rows * share);
  made.batch = BATCH_MIN;
  while (made.batch < BATCH_MAX && 2 * made.batch * BATCHES <= made.train_rows) made.batch *= 2;
  int64_t steps = (made.train_rows + made.batch - 1) / made.batch;
  int64_t most = is_image(facts)                ? EPOCHS_IMAGES
                 : made.train_rows < made.batch ? EPOCHS_TINY
                                                : EPOCHS_MAX;
  made.epochs = clamp(STEPS / (steps > 0 ? steps : 1), EPOCHS_MIN, most);
  made.batch = clamp(made.batch, 1, made.train_rows > 0 ? made.train_rows : 1);
  return made;
}

static void layer_open(ep_writer *writer, ep_layer_type type) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "type", ep_layer_type_name((int)type));
}

static void layer_write(ep_writer *writer, ep_layer_type type) {
  layer_open(writer, type);
  ep_writer_close(writer, '}');
}

static void linear_write(ep_writer *writer, int64_t out_features) {
  layer_open(writer, EP_LAYER_LINEAR);
  ep_writer_member_integer(writer, "out_features", out_features);
  ep_writer_close(writer, '}');
}

static void convolution_write(ep_writer *writer, int64_t channels) {
  layer_open(writer, EP_LAYER_CONV2D);
  ep_writer_member_integer(writer, "out_channels", channels);
  ep_writer_member_integer(writer, "kernel_size", 3);
  ep_writer_member_integer(writer, "padding", 1);
  ep_writer_close(writer, '}');
  layer_write(writer, EP_LAYER_RELU);
  layer_open(writer, EP_LAYER_MAX_POOL2D);
  ep_writer_member_integer(writer, "kernel_size", 2);
  ep_writer_close(writer, '}');
}

static void image_layers_write(ep_writer *writer, const ep_model_facts *facts) {
  int64_t side = facts->row.height < facts->row.width ? facts->row.height : facts->row.width;
  int64_t channels = CHANNELS_MIN;
  for (; side >= IMAGE_SIDE; side /= 2) {
    convolution_write(writer, channels);
    channels = clamp(2 * channels, CHANNELS_MIN, CHANNELS_MAX);
  }
  layer_write(writer, EP_LAYER_FLATTEN);
  linear_write(writer, IMAGE_FEATURES);
  layer_write(writer, EP_LAYER_RELU);
}

static void vector_layers_write(ep_writer *writer, const choice *made) {
  const ep_model_facts *facts = made->facts;
  int64_t width = made->regime->width;
  if (facts->row.height > 1 || facts->row.width > 1) layer_write(writer, EP_LAYER_FLATTEN);
  for (int i = 0; i < 2; i++, width /= 2) {
    linear_write(writer, width);
    layer_write(writer, made->regime->activation);
    layer_open(writer, EP_LAYER_DROPOUT);
    ep_writer_member_number(writer, "p", restraint_of(made)->dropout);
    ep_writer_close(writer, '}');
  }
}

static void model_write(ep_writer *writer, const choice *made) {
  const ep_model_facts *facts = made->facts;
  ep_writer_member_open(writer, "model", '{');
  ep_writer_member_open(writer, "layers", '[');
  if (is_image(facts))
    image_layers_write(writer, facts);
  else
    vector_layers_write(writer, made);
  linear_write(writer, ep_loss_takes_classes(made->loss) ? facts->classes : facts->target_columns);
  if (made->loss == EP_LOSS_BCE) layer_write(writer, EP_LAYER_SIGMOID);
  if (made->loss == EP_LOSS_NLL) layer_write(writer, EP_LAYER_LOG_SOFTMAX);
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

/* Columns of a table are scaled one by one, which also gives them their names in predictions. */
static void columns_write(ep_writer *writer, const ep_model_facts *facts) {
  ep_writer_member_open(writer, "columns", '{');
  ep_writer_member_open(writer, "*", '{');
  ep_writer_close(writer, '}');
  ep_writer_close(writer, '}');
  if (facts->exclude_count == 0) return;
  ep_writer_member_open(writer, "exclude", '[');
  for (int64_t i = 0; i < facts->exclude_count; i++)
    ep_writer_string(writer, facts->exclude[i].name);
  ep_writer_close(writer, ']');
}

/* Bytes from 0 to 255, or 16 bits from the least to the most, become -2 to 2. */
static void pixels_write(ep_writer *writer, const ep_model_facts *facts) {
  double range = facts->most - facts->least, least = range > 0 ? facts->least / range : 0;
  if (range > 0) ep_writer_member_number(writer, "scale", 1 / range);
  ep_writer_member_open(writer, "normalize", '{');
  ep_writer_member_number(writer, "mean", least + 0.5);
  ep_writer_member_number(writer, "std", 0.25);
  ep_writer_close(writer, '}');
}

static void data_write(ep_writer *writer, const choice *made) {
  const ep_model_facts *facts = made->facts;
  bool classifier = ep_loss_is_classifier(made->loss);
  ep_writer_member_open(writer, "data", '{');
  if (made->test) ep_writer_member_number(writer, "test", test_share);
  if (made->validation) ep_writer_member_number(writer, "validation", validation_share);
  if (facts->classes > 0 && classifier && (made->test || made->validation) && !facts->ordered)
    ep_writer_member_boolean(writer, "stratify", true);
  if (facts->table) columns_write(writer, facts);
  if (facts->columns && facts->pixels) pixels_write(writer, facts);
  bool x = facts->columns && !facts->table && !facts->pixels;
  ep_writer_member_open(writer, "standardize", '[');
  if (x) ep_writer_string(writer, "x");
  if (!classifier) ep_writer_string(writer, "y");
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

/* The standard error of a mean of losses, as a share of it, where they vary as much as they are
 * large: an epoch that is worse by no more may be as good. */
static double tolerance_choose(const ep_model_facts *facts) {
  double hundredths = round(100 / sqrt(validation_share * (double)facts->rows));
  return fmin(hundredths / 100, tolerance_max);
}

static void training_write(ep_writer *writer, const choice *made) {
  bool validated = made->validation || made->facts->validated;
  ep_writer_member_open(writer, "optimizer", '{');
  ep_writer_member_string(writer, "type", ep_optimizer_type_name(EP_OPTIMIZER_ADAMW));
  ep_writer_member_number(writer, "lr", lr);
  ep_writer_member_number(writer, "weight_decay",
                          is_image(made->facts) ? weight_decay_images
                                                : restraint_of(made)->weight_decay);
  ep_writer_close(writer, '}');
  ep_writer_member_string(writer, "schedule", ep_schedule_type_name(EP_SCHEDULE_COSINE));
  ep_writer_member_integer(writer, "epochs", made->epochs);
  ep_writer_member_integer(writer, "batch_size", made->batch);
  if (!validated) return;
  int64_t patience = made->epochs / 4;
  ep_writer_member_open(writer, "early_stopping", '{');
  ep_writer_member_integer(writer, "patience", patience < PATIENCE_MIN ? PATIENCE_MIN : patience);
  if (made->facts->rows < ROWS_SURE && !is_image(made->facts))
    ep_writer_member_number(writer, "tolerance", tolerance_choose(made->facts));
  ep_writer_close(writer, '}');
}

char *ep_first_model_choose(const ep_model_facts *facts) {
  choice made = choice_make(facts);
  ep_writer writer;
  ep_writer_init(&writer, TEXT_BYTES);
  ep_writer_open(&writer, '{');
  if (facts->model) {
    data_write(&writer, &made);
    model_write(&writer, &made);
    training_write(&writer, &made);
  }
  ep_writer_member_string(&writer, "loss", ep_loss_type_name((int)made.loss));
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
