#include "engine/data/prepare/positive_class.h"

#include <stdio.h>

#include "engine/data/columns/positive.h"
#include "engine/data/sources/target.h"
#include "engine/files/excerpt.h"

static const char pointer[] = "/data/positive";

static ep_status classes_find(const ep_data_spec *data, const ep_dataset_meta *meta, ep_words *out,
                              ep_error *error) {
  const ep_part *table = meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] : NULL;
  int64_t target = -1;
  *out = (ep_words){0};
  ep_status status = table && table->rows > 0 ? ep_target_find(data, table, &target, error) : EP_OK;
  return status == EP_OK ? ep_target_classes_find(meta, target, out, error) : status;
}

static ep_status unknown_fail(const ep_data_spec *data, const ep_words *classes,
                              ep_problem *problem) {
  char asked[EP_EXCERPT_BYTES], first[EP_EXCERPT_BYTES], second[EP_EXCERPT_BYTES];
  return ep_problem_add(problem, EP_INVALID, pointer,
                        "the target has no class \"%s\": its classes are \"%s\" and \"%s\"",
                        ep_excerpt(asked, data->positive, strlen(data->positive)),
                        ep_excerpt(first, classes->word[0], strlen(classes->word[0])),
                        ep_excerpt(second, classes->word[1], strlen(classes->word[1])));
}

static ep_status class_choose(ep_data_spec *data, const ep_words *classes, bool words,
                              ep_problem *problem) {
  int64_t found = data->positive[0] ? ep_positive_find(classes, data->positive)
                  : words           ? ep_positive_default(classes)
                                    : -1;
  if (found >= 0)
    snprintf(data->positive, sizeof data->positive, "%s", classes->word[found]);
  else if (data->positive[0])
    return unknown_fail(data, classes, problem);
  return EP_OK;
}

ep_status ep_positive_class_resolve(ep_data_spec *data, ep_loss_type loss,
                                    const ep_dataset_meta *meta, const ep_data_shape *shape,
                                    ep_problem *problem) {
  ep_words classes;
  ep_error error = {0};
  bool given = data->positive[0], classifies = ep_loss_is_classifier(loss);
  if (given && !classifies)
    return ep_problem_add(problem, EP_INVALID, pointer,
                          "requires a classifier, and the loss \"%s\" predicts numbers: remove it",
                          ep_loss_type_name((int)loss));
  if (given && shape->target_columns != 1)
    return ep_problem_add(problem, EP_INVALID, pointer,
                          "requires a single target column, and the data has %lld: remove it",
                          (long long)shape->target_columns);
  if (given && shape->classes != EP_BINARY_CLASSES)
    return ep_problem_add(problem, EP_INVALID, pointer,
                          "requires a target of two classes, and this one has %lld: remove it",
                          (long long)shape->classes);
  if (!classifies || shape->target_columns != 1 || shape->classes != EP_BINARY_CLASSES)
    return EP_OK;
  ep_status status = classes_find(data, meta, &classes, &error);
  bool words = shape->target_words > 0 || (meta && meta->classes > 0);
  if (status == EP_OK)
    status = class_choose(data, &classes, words, problem);
  else
    ep_problem_from_error(problem, &error);
  ep_words_deinit(&classes);
  return status;
}
