/* positive.h: which of two classes is the positive one, of which precision, recall, ROC curves and
 * thresholds are. A network has it as class 1: where the data have it first, the classes change
 * places. */
#ifndef EP_ENGINE_DATA_COLUMNS_POSITIVE_H
#define EP_ENGINE_DATA_COLUMNS_POSITIVE_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

enum { EP_BINARY_CLASSES = 2 };

/* The classes of a target of the numbers 0 and 1: "0", "1". */
extern const ep_words ep_binary_numbers;

/* The class that `word` names: by its bytes, else the only one with the same meaning (boolean.h),
 * else the only one that differs in case and surrounding spaces alone; -1: none. */
int64_t ep_positive_find(const ep_words *classes, const char *word);

/* Of two classes, the more frequent one first: the one that means yes, or whose other means no;
 * else the second. */
int64_t ep_positive_default(const ep_words *classes);

/* Whether data->positive is the first of these classes, and they are two. */
bool ep_classes_are_swapped(const ep_data_spec *data, const ep_words *classes);

/* Exchanges the words of two classes. */
void ep_classes_swap(ep_words *classes);

#endif
