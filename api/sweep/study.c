#include "api/sweep/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/sweep/sweep_json.h"

enum { COMPARED_LEVELS = 16 }; /* of an axis of words: each is held against each other */

/* The grid as a table. */
typedef struct {
  const ep_sweep_spec *sweep;
  const ep_trial_record *records;
  const ep_trial_row *rows;
  int64_t count; /* of rows */
  int64_t levels[EP_LIMIT_SWEEP_AXES];
  int64_t strides[EP_LIMIT_SWEEP_AXES];
  int64_t cells;
  const ep_trial_row **row; /* [cells]: NULL = not trained; owned */
  int parts;
} grid;

/* x of a crossover, and how much longer one level takes there, as a logarithm. */
typedef struct {
  double x, difference;
} difference_at;

int64_t ep_study_levels(const ep_sweep_axis *axis) {
  return axis->kind == EP_AXIS_VALUES ? axis->count : (int64_t)(axis->high - axis->low) + 1;
}

double ep_study_number(const ep_sweep_axis *axis, int64_t level) {
  if (axis->kind != EP_AXIS_VALUES) return axis->low + (double)level;
  const json_t *value = json_array_get(axis->lists[0], (size_t)level);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool is_numeric(const ep_sweep_axis *axis) {
  for (int64_t i = 0; i < ep_study_levels(axis); i++)
    if (isnan(ep_study_number(axis, i))) return false;
  return true;
}

static int64_t level_of(const ep_sweep_axis *axis, double value) {
  return axis->kind == EP_AXIS_VALUES ? (int64_t)value : (int64_t)(value - axis->low);
}

static ep_status grid_make(grid *g, ep_error *error) {
  const ep_sweep_spec *sweep = g->sweep;
  g->cells = 1;
  for (int i = sweep->axes_count - 1; i >= 0; i--) {
    ep_axis_kind kind = sweep->axes[i].kind;
    if (kind != EP_AXIS_VALUES && kind != EP_AXIS_INT_UNIFORM)
      return ep_fail(error, EP_CONFLICT,
                     "a study needs levels, and %s is a range: give \"values\" for it",
                     sweep->axes[i].pointers[0]);
    g->levels[i] = ep_study_levels(&sweep->axes[i]);
    g->strides[i] = g->cells;
    if (g->levels[i] > EP_LIMIT_STUDY_CELLS || g->cells > EP_LIMIT_STUDY_CELLS / g->levels[i])
      return ep_fail(error, EP_TOO_LARGE, "a study has at most %d cells", EP_LIMIT_STUDY_CELLS);
    g->cells *= g->levels[i];
  }
  g->row = calloc((size_t)g->cells, sizeof *g->row);
  if (!g->row) return ep_fail_memory(error);
  for (int64_t r = 0; r < g->count; r++) {
    const double *point = g->records[g->rows[r].first].point;
    int64_t cell = 0;
    for (int i = 0; i < sweep->axes_count; i++)
      cell += level_of(&sweep->axes[i], point[i]) * g->strides[i];
    if (cell >= 0 && cell < g->cells) g->row[cell] = &g->rows[r];
  }
  return EP_OK;
}

static int64_t level_at(const grid *g, int64_t cell, int axis) {
  return cell / g->strides[axis] % g->levels[axis];
}

/* The logarithm of a cell's metric; part: of one repeat and fold, -1 = of the mean. NaN: none. */
static double log_of(const grid *g, int64_t cell, int part) {
  const ep_trial_row *row = g->row[cell];
  if (!row) return NAN;
  double metric = part < 0 ? row->metric : g->records[row->first + part].metric;
  return metric > 0 ? log(metric) : NAN;
}

/* 97.5 % of Student's t, to three digits (Abramowitz and Stegun, 26.7.5, beyond the table). */
static double student(int64_t freedom) {
  static const double table[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  if (freedom <= (int64_t)(sizeof table / sizeof *table)) return table[freedom - 1];
  double z = 1.959964, n = (double)freedom;
  return z + (z * z * z + z) / (4 * n) + (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

/* The effects of an axis, in one look at the cells. */
static ep_status axis_effects_fill(const grid *g, int axis, ep_study_effect *effects,
                                   ep_error *error) {
  double *squares = calloc((size_t)g->levels[axis], sizeof *squares);
  if (!squares) return ep_fail_memory(error);
  for (int64_t cell = 0; cell < g->cells; cell++) {
    int64_t level = level_at(g, cell, axis);
    double ratio =
        level > 0 ? log_of(g, cell, -1) - log_of(g, cell - level * g->strides[axis], -1) : NAN;
    if (isnan(ratio)) continue;
    effects[level - 1].ratio += ratio; /* sums, for now */
    squares[level] += ratio * ratio;
    effects[level - 1].cells++;
  }
  for (int64_t level = 1; level < g->levels[axis]; level++) {
    ep_study_effect *effect = &effects[level - 1];
    double n = (double)effect->cells, mean = effect->ratio / n;
    effect->ratio = effect->cells > 0 ? exp(mean) : NAN;
    effect->low = effect->high = NAN;
    if (effect->cells < 2) continue;
    double variance = fmax(0, squares[level] - n * mean * mean) / (n - 1);
    double half = student(effect->cells - 1) * sqrt(variance / n);
    effect->low = exp(mean - half);
    effect->high = exp(mean + half);
  }
  free(squares);
  return EP_OK;
}

static ep_status effects_make(const grid *g, ep_study *out, ep_error *error) {
  int64_t count = 0;
  ep_status status = EP_OK;
  for (int i = 0; i < g->sweep->axes_count; i++) count += g->levels[i] - 1;
  out->effects = calloc((size_t)count + 1, sizeof *out->effects);
  if (!out->effects) return ep_fail_memory(error);
  for (int i = 0; status == EP_OK && i < g->sweep->axes_count; i++) {
    ep_study_effect *effects = out->effects + out->effects_count;
    for (int64_t level = 1; level < g->levels[i]; level++)
      out->effects[out->effects_count++] = (ep_study_effect){.axis = i, .level = level};
    status = axis_effects_fill(g, i, effects, error);
  }
  return status;
}

/* A mean that is being made. */
typedef struct {
  double sum;
  int64_t count;
} mean;

static void mean_add(mean *m, double value) {
  m->sum += value;
  m->count++;
}

static double mean_of(const mean *m) {
  return m->count > 0 ? m->sum / (double)m->count : NAN;
}

/* The means by pair, by the first's level, by the second's, and of all, in one look at the cells.
 */
static ep_status interaction_fill(const grid *g, ep_study_interaction *out, ep_error *error) {
  int64_t a_count = g->levels[out->axes[0]], b_count = g->levels[out->axes[1]];
  mean all = {0}, *pairs = calloc((size_t)(a_count * b_count), sizeof *pairs);
  mean *first = calloc((size_t)a_count, sizeof *first);
  mean *second = calloc((size_t)b_count, sizeof *second);
  out->levels[0] = a_count;
  out->levels[1] = b_count;
  out->factors = malloc((size_t)(a_count * b_count) * sizeof *out->factors);
  bool made = pairs && first && second && out->factors;
  for (int64_t cell = 0; made && cell < g->cells; cell++) {
    double value = log_of(g, cell, -1);
    int64_t a = level_at(g, cell, out->axes[0]), b = level_at(g, cell, out->axes[1]);
    if (isnan(value)) continue;
    mean_add(&pairs[a * b_count + b], value);
    mean_add(&first[a], value);
    mean_add(&second[b], value);
    mean_add(&all, value);
  }
  for (int64_t i = 0; made && i < a_count * b_count; i++)
    out->factors[i] = exp(mean_of(&pairs[i]) - mean_of(&first[i / b_count]) -
                          mean_of(&second[i % b_count]) + mean_of(&all));
  free(pairs);
  free(first);
  free(second);
  return made ? EP_OK : ep_fail_memory(error);
}

static ep_status interactions_make(const grid *g, ep_study *out, ep_error *error) {
  int axes = g->sweep->axes_count;
  ep_status status = EP_OK;
  out->interactions = calloc((size_t)(axes * axes) + 1, sizeof *out->interactions);
  if (!out->interactions) return ep_fail_memory(error);
  for (int a = 0; a < axes; a++)
    for (int b = a + 1; status == EP_OK && b < axes; b++) {
      ep_study_interaction *pair = &out->interactions[out->interactions_count++];
      pair->axes[0] = a;
      pair->axes[1] = b;
      status = interaction_fill(g, pair, error);
    }
  return status;
}

static double x_of(const grid *g, const ep_study *study, int64_t cell) {
  if (study->by_parameters) return (double)g->records[g->row[cell]->first].parameters;
  return ep_study_number(&g->sweep->axes[study->x_axis], level_at(g, cell, study->x_axis));
}

static int differences_compare(const void *a, const void *b) {
  const difference_at *first = a, *second = b;
  return first->x < second->x ? -1 : first->x > second->x;
}

/* How much longer the second level takes, over x: means of the cells with the same x. Returns how
 * many. out: [cells]. */
static int64_t differences_make(const grid *g, const ep_study *study,
                                const ep_study_crossover *between, int part, difference_at *out) {
  int64_t count = 0, kept = 0;
  for (int64_t cell = 0; cell < g->cells; cell++) {
    if (level_at(g, cell, between->axis) != between->levels[0]) continue;
    int64_t other = cell + (between->levels[1] - between->levels[0]) * g->strides[between->axis];
    double difference = log_of(g, other, part) - log_of(g, cell, part);
    if (!isnan(difference)) out[count++] = (difference_at){x_of(g, study, cell), difference};
  }
  qsort(out, (size_t)count, sizeof *out, differences_compare);
  for (int64_t i = 0, next; i < count; i = next) {
    double sum = 0;
    for (next = i; next < count && out[next].x == out[i].x; next++) sum += out[next].difference;
    out[kept++] = (difference_at){out[i].x, sum / (double)(next - i)};
  }
  return kept;
}

static bool crosses(const difference_at *at) {
  return (at[0].difference < 0) != (at[1].difference < 0);
}

/* Where the difference is none, between two x of different signs. */
static double crossing_between(const difference_at *at) {
  double share = at[0].difference / (at[0].difference - at[1].difference);
  if (at[0].x > 0) return at[0].x * pow(at[1].x / at[0].x, share);
  return at[0].x + share * (at[1].x - at[0].x);
}

/* The crossing that is nearest to x; NaN: there is none. */
static double crossing_nearest(const difference_at *at, int64_t count, double x) {
  double nearest = NAN;
  for (int64_t i = 0; i + 1 < count; i++) {
    double crossing = crosses(at + i) ? crossing_between(at + i) : NAN;
    if (!isnan(crossing) && !(fabs(crossing - x) >= fabs(nearest - x))) nearest = crossing;
  }
  return nearest;
}

/* What each repeat alone says of a crossover. */
static void interval_fill(const grid *g, const ep_study *study, ep_study_crossover *crossover,
                          difference_at *work) {
  int found = 0;
  crossover->low = crossover->high = crossover->x;
  for (int part = 0; part < g->parts; part++) {
    int64_t count = differences_make(g, study, crossover, part, work);
    double crossing = crossing_nearest(work, count, crossover->x);
    if (isnan(crossing)) continue;
    crossover->low = fmin(crossover->low, crossing);
    crossover->high = fmax(crossover->high, crossing);
    found++;
  }
  if (found < 2) crossover->low = crossover->high = NAN;
}

static ep_status crossovers_append(const grid *g, ep_study *out, ep_study_crossover between,
                                   difference_at *work, difference_at *parts_work,
                                   ep_error *error) {
  int64_t count = differences_make(g, out, &between, -1, work);
  for (int64_t i = 0; i + 1 < count; i++) {
    if (!crosses(work + i)) continue;
    ep_study_crossover *more =
        realloc(out->crossovers, (size_t)(out->crossovers_count + 1) * sizeof *more);
    if (!more) return ep_fail_memory(error);
    out->crossovers = more;
    between.x = crossing_between(work + i);
    interval_fill(g, out, &between, parts_work);
    out->crossovers[out->crossovers_count++] = between;
  }
  return EP_OK;
}

/* Parameters where they differ, else the first axis of numbers. */
static void x_choose(const grid *g, ep_study *out) {
  int64_t first = 0;
  out->x_axis = -1;
  for (int64_t i = 0; i < g->count; i++) {
    int64_t parameters = g->records[g->rows[i].first].parameters;
    if (first > 0 && parameters > 0 && parameters != first) out->by_parameters = true;
    if (parameters > 0) first = parameters;
  }
  for (int i = g->sweep->axes_count - 1; i >= 0; i--)
    if (is_numeric(&g->sweep->axes[i])) out->x_axis = i;
}

/* Of axes of words: devices, precisions. */
static ep_status crossovers_make(const grid *g, ep_study *out, ep_error *error) {
  ep_status status = EP_OK;
  x_choose(g, out);
  if (!out->by_parameters && out->x_axis < 0) return EP_OK;
  difference_at *work = malloc(2 * (size_t)g->cells * sizeof *work);
  if (!work) return ep_fail_memory(error);
  for (int axis = 0; axis < g->sweep->axes_count; axis++) {
    if (is_numeric(&g->sweep->axes[axis])) continue;
    const json_t *word = json_array_get(g->sweep->axes[axis].lists[0], 0);
    bool compared = json_is_string(word) && g->levels[axis] <= COMPARED_LEVELS;
    for (int64_t a = 0; compared && a < g->levels[axis]; a++)
      for (int64_t b = a + 1; status == EP_OK && b < g->levels[axis]; b++)
        status = crossovers_append(g, out, (ep_study_crossover){.axis = axis, .levels = {a, b}},
                                   work, work + g->cells, error);
  }
  free(work);
  return status;
}

ep_status ep_study_make(const ep_sweep_spec *sweep, const ep_trial_record *records,
                        const ep_trial_row *rows, int64_t count, ep_study *out, ep_error *error) {
  grid g = {.sweep = sweep,
            .records = records,
            .rows = rows,
            .count = count,
            .parts = ep_sweep_parts(sweep)};
  *out = (ep_study){.x_axis = -1};
  ep_status status = grid_make(&g, error);
  if (status == EP_OK) status = effects_make(&g, out, error);
  if (status == EP_OK) status = interactions_make(&g, out, error);
  if (status == EP_OK) status = crossovers_make(&g, out, error);
  free(g.row);
  return status;
}

void ep_study_deinit(ep_study *study) {
  for (int64_t i = 0; i < study->interactions_count; i++) free(study->interactions[i].factors);
  free(study->effects);
  free(study->interactions);
  free(study->crossovers);
}
