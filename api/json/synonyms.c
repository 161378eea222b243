#include "api/json/synonyms.h"

#include <stddef.h>
#include <string.h>

#include "api/json/nearest.h"

/* Keras, scikit-learn, PyTorch and habit. Of rows for one word the first counts whose own name is
 * known. */
static const char *const synonyms[][2] = {
    {"dense", "linear"},
    {"fully_connected", "linear"},
    {"conv", "conv2d"},
    {"convolution", "conv2d"},
    {"maxpool", "max_pool2d"},
    {"maxpool2d", "max_pool2d"},
    {"max_pooling2d", "max_pool2d"},
    {"batchnorm", "batch_norm"},
    {"batchnorm2d", "batch_norm"},
    {"batch_normalization", "batch_norm"},
    {"swish", "silu"},
    {"units", "out_features"},
    {"neurons", "out_features"},
    {"filters", "out_channels"},
    {"rate", "p"},
    {"kind", "type"},
    {"name", "type"},
    {"mean_squared_error", "mse"},
    {"l2", "mse"},
    {"mean_absolute_error", "mae"},
    {"l1", "mae"},
    {"smooth_l1", "huber"},
    {"binary_crossentropy", "bce_with_logits"},
    {"binary_cross_entropy", "bce_with_logits"},
    {"log_loss", "bce_with_logits"},
    {"categorical_crossentropy", "cross_entropy"},
    {"sparse_categorical_crossentropy", "cross_entropy"},
    {"pinball", "quantile"},
    {"learning_rate", "lr"},
    {"rate", "lr"},
    {"l2", "weight_decay"},
    {"iterations", "epochs"},
    {"max_iter", "epochs"},
    {"num_epochs", "epochs"},
    {"random_state", "seed"},
    {"test_size", "test"},
    {"validation_split", "validation"},
    {"scheduler", "schedule"},
    {"criterion", "loss"},
    {"network", "model"},
    {"gpu", "device"},
};

static const ep_misplaced_field misplaced[] = {
    {"lr", "optimizer", "lr"},
    {"learning_rate", "optimizer", "lr"},
    {"momentum", "optimizer", "momentum"},
    {"weight_decay", "optimizer", "weight_decay"},
    {"layers", "model", "layers"},
    {"dataset", "data", "dataset"},
    {"generator", "data", "generator"},
    {"target", "data", "target"},
    {"features", "data", "features"},
    {"standardize", "data", "standardize"},
    {"normalize", "data", "normalize"},
    {"augment", "data", "augment"},
    {"test", "data", "test"},
    {"test_size", "data", "test"},
    {"validation", "data", "validation"},
    {"validation_split", "data", "validation"},
    {"patience", "early_stopping", "patience"},
    {"label_smoothing", "loss", "label_smoothing"},
    {"class_weights", "loss", "class_weights"},
};

static const char *name_find(const char *name, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (names[i] && strcmp(names[i], name) == 0) return names[i];
  return NULL;
}

const char *ep_synonym_find(const char *name, const char *const *names, int count) {
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
    const char *meant = ep_names_alike(name, synonyms[i][0]) ? synonyms[i][1] : NULL;
    if (meant && name_find(meant, names, count)) return name_find(meant, names, count);
  }
  return NULL;
}

const ep_misplaced_field *ep_misplaced_find(const char *name, const char *const *names, int count) {
  for (size_t i = 0; i < sizeof misplaced / sizeof *misplaced; i++)
    if (ep_names_alike(name, misplaced[i].given) && name_find(misplaced[i].object, names, count))
      return &misplaced[i];
  return NULL;
}
