/* roc_auc.h: how well scores tell two kinds of things apart. */
#ifndef EP_ENGINE_METRICS_ROC_AUC_H
#define EP_ENGINE_METRICS_ROC_AUC_H

#include <stdbool.h>
#include <stdint.h>

/* One decision of a classifier. */
typedef struct {
  double score;
  bool positive;
} ep_scored;

/* The area under the ROC curve: the probability that a random positive scores above a random
 * negative, ties counting half (the Mann-Whitney U statistic). NaN unless both kinds occur, and
 * when a score is NaN: it has no place in an order. rows: [count], written over; spare: [count] of
 * working memory. */
double ep_roc_auc(ep_scored *rows, ep_scored *spare, int64_t count);

#endif
