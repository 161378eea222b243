/* ROC, precision over recall, calibration: a class against the rest. */
#include <math.h>
#include <stdlib.h>

#include "engine/metrics/roc_auc.h"
#include "engine/plots/parts.h"

enum { BINS = 10 };

/* What is so at the scores that occur, the greatest first: rows of at least that score are taken
 * for the class. */
typedef struct {
  double *score, *hits, *false_hits; /* [count], in one block that begins with score */
  int64_t count;
  double positives, negatives;
  double auc;
} steps;

static int score_compare(const void *a, const void *b) {
  double first = ((const ep_scored *)a)->score, second = ((const ep_scored *)b)->score;
  return (first < second) - (first > second);
}

static ep_status scores_read(const ep_plot_model *model, int64_t class, ep_scored *rows,
                             ep_error *error) {
  for (int64_t i = 0; i < model->rows.rows; i++) {
    rows[i].score = ep_plot_score(model, model->output + i * model->outputs, class);
    rows[i].positive = (int64_t)model->rows.y[i * model->rows.targets] == class;
    if (isnan(rows[i].score))
      return ep_fail(error, EP_CONFLICT, "the network's output for row %lld is not a number",
                     (long long)i);
  }
  return EP_OK;
}

static void steps_count(const ep_scored *rows, int64_t count, steps *out) {
  double hits = 0, false_hits = 0;
  for (int64_t i = 0; i < count; i++) {
    hits += rows[i].positive;
    false_hits += !rows[i].positive;
    if (i + 1 < count && rows[i + 1].score == rows[i].score) continue;
    out->score[out->count] = rows[i].score;
    out->hits[out->count] = hits;
    out->false_hits[out->count++] = false_hits;
  }
  out->positives = hits;
  out->negatives = false_hits;
}

static ep_status steps_find(const ep_plot_model *model, int64_t class, steps *out,
                            ep_error *error) {
  size_t rows = (size_t)model->rows.rows;
  ep_scored *scored = malloc((2 * rows + 1) * sizeof *scored);
  *out = (steps){.score = malloc((3 * rows + 1) * sizeof *out->score)};
  out->hits = out->score + rows;
  out->false_hits = out->hits + rows;
  ep_status status =
      scored && out->score ? scores_read(model, class, scored, error) : ep_fail_memory(error);
  if (status == EP_OK) {
    out->auc = ep_roc_auc(scored, scored + rows, (int64_t)rows);
    scores_read(model, class, scored, error); /* that has written over them */
    qsort(scored, rows, sizeof *scored, score_compare);
    steps_count(scored, (int64_t)rows, out);
  }
  free(scored);
  if (status == EP_OK && (out->positives == 0 || out->negatives == 0)) {
    char label[EP_PLOT_LABEL_BYTES];
    ep_plot_class_label(model, class, label);
    status =
        ep_fail(error, EP_CONFLICT, "%s rows are of the class \"%.64s\": no curve can be drawn",
                out->positives == 0 ? "no" : "all", label);
  }
  if (status != EP_OK) {
    free(out->score);
    out->score = NULL;
  }
  return status;
}

static double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

/* What follows from taking rows of at least `score`. */
static void decision_write(const ep_plot_model *model, const char *key, const steps *of,
                           double score, double hits, double false_hits, double cost,
                           ep_writer *writer) {
  double misses = of->positives - hits;
  ep_writer_member_open(writer, key, '{');
  ep_writer_member_number(writer, "threshold", score);
  ep_writer_member_number(writer, "probability", ep_plot_probability_of_score(model, score));
  ep_writer_member_number(writer, "precision", ratio(hits, hits + false_hits));
  ep_writer_member_number(writer, "recall", ratio(hits, of->positives));
  ep_writer_member_number(writer, "false_positive_rate", ratio(false_hits, of->negatives));
  ep_writer_member_number(writer, "f1", ratio(2 * hits, 2 * hits + false_hits + misses));
  if (!isnan(cost)) ep_writer_member_number(writer, "cost", cost);
  ep_writer_close(writer, '}');
}

/* The first, and so the greatest, of those that are equally good. */
static void decisions_write(const ep_plot_model *model, const ep_plot_request *request,
                            const steps *of, ep_writer *writer) {
  double best = -1, hits = 0, false_hits = 0;
  double cheapest = of->positives * request->cost_fn; /* nothing is taken */
  int64_t by_f1 = 0, by_cost = -1;
  for (int64_t i = 0; i < of->count; i++) {
    double f1 = 2 * of->hits[i] / (of->hits[i] + of->false_hits[i] + of->positives);
    double cost =
        of->false_hits[i] * request->cost_fp + (of->positives - of->hits[i]) * request->cost_fn;
    if (f1 > best) best = f1, by_f1 = i;
    if (cost < cheapest) cheapest = cost, by_cost = i;
    bool taken = ep_plot_probability_of_score(model, of->score[i]) >= 0.5;
    if (taken) hits = of->hits[i], false_hits = of->false_hits[i];
  }
  decision_write(model, "best_f1", of, of->score[by_f1], of->hits[by_f1], of->false_hits[by_f1],
                 NAN, writer);
  double half = ep_loss_takes_classes(model->loss) || model->loss == EP_LOSS_BCE ? 0.5 : 0;
  decision_write(model, "at_half", of, half, hits, false_hits, NAN, writer);
  if (isnan(request->cost_fp)) return;
  if (by_cost < 0)
    decision_write(model, "best_cost", of, INFINITY, 0, 0, cheapest, writer);
  else
    decision_write(model, "best_cost", of, of->score[by_cost], of->hits[by_cost],
                   of->false_hits[by_cost], cheapest, writer);
}

static ep_status steps_begin(const ep_plot_model *model, const ep_plot_request *request, steps *out,
                             ep_writer *writer, ep_error *error) {
  int64_t class;
  char label[EP_PLOT_LABEL_BYTES];
  ep_status status = ep_plot_class_find(model, request->output, &class, error);
  if (status == EP_OK) status = steps_find(model, class, out, error);
  if (status != EP_OK) return status;
  bool logit = model->loss == EP_LOSS_BCE_WITH_LOGITS;
  ep_plot_class_label(model, class, label);
  ep_plot_classes_write(model, writer);
  ep_writer_member_string(writer, "class", label);
  ep_writer_member_string(writer, "positive", label);
  ep_writer_member_string(writer, "score", logit ? "logit" : "probability");
  ep_writer_member_integer(writer, "positives", (int64_t)out->positives);
  ep_writer_member_integer(writer, "negatives", (int64_t)out->negatives);
  return EP_OK;
}

/* Points on a straight line between their neighbours are left out, as roc_curve does. */
static void roc_points_thin(steps *of) {
  int64_t kept = 0;
  double hits[2] = {0}, false_hits[2] = {0}; /* of the two before, as they were */
  for (int64_t i = 0; i < of->count; i++) {
    double here = of->hits[i], wrong = of->false_hits[i];
    bool end = i == 0 || i + 1 == of->count;
    bool bent = !end && (of->hits[i + 1] - 2 * here + hits[0] != 0 ||
                         of->false_hits[i + 1] - 2 * wrong + false_hits[0] != 0);
    hits[0] = here, false_hits[0] = wrong;
    if (!end && !bent) continue;
    of->score[kept] = of->score[i];
    of->hits[kept] = here;
    of->false_hits[kept++] = wrong;
  }
  of->count = kept;
}

ep_status ep_plot_roc_write(const ep_plot_model *model, const ep_plot_request *request,
                            ep_writer *writer, ep_error *error) {
  steps of;
  ep_status status = steps_begin(model, request, &of, writer, error);
  if (status != EP_OK) return status;
  ep_writer_member_number(writer, "auc", of.auc);
  decisions_write(model, request, &of, writer);
  roc_points_thin(&of);
  ep_writer_member_open(writer, "fpr", '[');
  ep_writer_number(writer, 0);
  for (int64_t i = 0; i < of.count; i++) ep_writer_number(writer, of.false_hits[i] / of.negatives);
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "tpr", '[');
  ep_writer_number(writer, 0);
  for (int64_t i = 0; i < of.count; i++) ep_writer_number(writer, of.hits[i] / of.positives);
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "thresholds", '[');
  ep_writer_number(writer, INFINITY);
  for (int64_t i = 0; i < of.count; i++) ep_writer_number(writer, of.score[i]);
  ep_writer_close(writer, ']');
  free(of.score);
  return EP_OK;
}

/* The sum of precision times the recall that each step adds. */
static double average_precision(const steps *of) {
  double sum = 0, before = 0;
  for (int64_t i = 0; i < of->count; i++) {
    double recall = of->hits[i] / of->positives;
    sum += (recall - before) * of->hits[i] / (of->hits[i] + of->false_hits[i]);
    before = recall;
  }
  return sum;
}

ep_status ep_plot_pr_write(const ep_plot_model *model, const ep_plot_request *request,
                           ep_writer *writer, ep_error *error) {
  steps of;
  ep_status status = steps_begin(model, request, &of, writer, error);
  if (status != EP_OK) return status;
  ep_writer_member_number(writer, "average_precision", average_precision(&of));
  decisions_write(model, request, &of, writer);
  ep_writer_member_open(writer, "precision", '[');
  for (int64_t i = of.count - 1; i >= 0; i--)
    ep_writer_number(writer, of.hits[i] / (of.hits[i] + of.false_hits[i]));
  ep_writer_number(writer, 1);
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "recall", '[');
  for (int64_t i = of.count - 1; i >= 0; i--) ep_writer_number(writer, of.hits[i] / of.positives);
  ep_writer_number(writer, 0);
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "thresholds", '[');
  for (int64_t i = of.count - 1; i >= 0; i--) ep_writer_number(writer, of.score[i]);
  ep_writer_close(writer, ']');
  free(of.score);
  return EP_OK;
}

ep_status ep_plot_calibration_write(const ep_plot_model *model, const ep_plot_request *request,
                                    ep_writer *writer, ep_error *error) {
  double sum[BINS] = {0}, so[BINS] = {0}, count[BINS] = {0}, brier = 0;
  double predicted[BINS], fraction[BINS], rows[BINS];
  int64_t class, bins = 0;
  char label[EP_PLOT_LABEL_BYTES];
  ep_status status = ep_plot_class_find(model, request->output, &class, error);
  if (status != EP_OK) return status;
  for (int64_t i = 0; i < model->rows.rows; i++) {
    double p = ep_plot_probability(model, model->output + i * model->outputs, class);
    double truth = (int64_t)model->rows.y[i * model->rows.targets] == class;
    int bin = 0;
    while (bin < BINS - 1 && p > (bin + 1) * 0.1) bin++;
    sum[bin] += p, so[bin] += truth, count[bin]++;
    brier += (p - truth) * (p - truth);
  }
  for (int bin = 0; bin < BINS; bin++) {
    if (count[bin] == 0) continue;
    predicted[bins] = sum[bin] / count[bin];
    fraction[bins] = so[bin] / count[bin];
    rows[bins++] = count[bin];
  }
  ep_plot_class_label(model, class, label);
  ep_plot_classes_write(model, writer);
  ep_writer_member_string(writer, "class", label);
  ep_writer_member_number(writer, "brier", brier / (double)model->rows.rows);
  ep_plot_numbers_write(writer, "predicted", predicted, bins);
  ep_plot_numbers_write(writer, "observed", fraction, bins);
  ep_plot_numbers_write(writer, "count", rows, bins);
  return EP_OK;
}
