#include "engine/data/inputs/series_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "api/json/number.h"
#include "engine/data/cells/date.h"
#include "engine/files/excerpt.h"

/* A row, and what decides its place. */
typedef struct {
  double series, time;
  bool ahead;
  int64_t row; /* of the request */
} placed_row;

/* Of a series, a stretch of the rows in their order. */
typedef struct {
  int64_t first, rows; /* all of it */
  int64_t known;       /* its rows up to the last one with a target: all others are to come */
} stretch;

typedef struct {
  const ep_encoding *encoding;
  const ep_given_rows *given;
  placed_row *row; /* [given->rows + ahead], owned */
  stretch *series; /* [count], owned: those that are predicted */
  int64_t count, all;
  bool grouped, timed; /* the rows have cells of these columns */
  ep_warnings *warnings;
  ep_problem *problem;
} work;

static double cell_of(const work *w, int64_t row, int64_t column) {
  return column < 0 ? NAN : w->given->x[row * w->encoding->columns + column];
}

/* Adds a fault of a cell. row: of the request. */
static ep_status cell_refuse(const work *w, int64_t row, int64_t column, const char *detail) {
  ep_field_reader reader = {.problem = w->problem};
  char number[24];
  bool ahead = row >= w->given->rows;
  snprintf(number, sizeof number, "%lld", (long long)(ahead ? row - w->given->rows : row));
  ep_field_reader_enter(&reader, ahead ? "future" : "rows");
  ep_field_reader_enter(&reader, number);
  ep_field_reader_enter(&reader, w->encoding->column[column].name);
  ep_field_reader_fail(&reader, "%s", detail);
  return reader.status;
}

/* Whether the rows have cells of the column: all of them, or none. */
static ep_status cells_check(const work *w, int64_t column, bool ahead, bool *have) {
  int64_t first = ahead ? w->given->rows : 0, missing = -1;
  int64_t end = ahead ? w->given->rows + w->given->ahead : w->given->rows;
  *have = false;
  for (int64_t i = first; i < end; i++) {
    if (!isnan(cell_of(w, i, column)))
      *have = true;
    else if (missing < 0)
      missing = i - first;
  }
  if (!*have || missing < 0) return EP_OK;
  return cell_refuse(w, first + missing, column,
                     column == w->encoding->window.time
                         ? "is missing, and other rows have it: it orders the rows"
                         : "is missing, and other rows have it: it identifies the series");
}

static int row_compare(const void *left, const void *right) {
  const placed_row *a = left, *b = right;
  if (a->series != b->series) return a->series < b->series ? -1 : 1;
  if (a->ahead != b->ahead) return a->ahead ? 1 : -1;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->row > b->row) - (a->row < b->row);
}

static bool has_many(const work *w) {
  return w->encoding->window.series && w->encoding->window.series->count > 1;
}

static ep_status rows_place(work *w) {
  const ep_encoding_window *window = &w->encoding->window;
  int64_t rows = w->given->rows, all = rows + w->given->ahead;
  bool timed[2] = {false}, grouped[2] = {false};
  ep_status status = EP_OK;
  for (int ahead = 0; ahead < 2 && status == EP_OK; ahead++) {
    status = cells_check(w, window->time, ahead, &timed[ahead]);
    if (status == EP_OK) status = cells_check(w, window->group, ahead, &grouped[ahead]);
  }
  if (status != EP_OK) return status;
  w->grouped = grouped[0];
  w->timed = timed[0];
  if (w->given->ahead > 0 && grouped[0] && !grouped[1] && has_many(w))
    return ep_problem_add(w->problem, EP_INVALID, "/future",
                          "the rows are of several series: rows to come require \"%.100s\" as well",
                          w->encoding->column[window->group].name);
  w->row = malloc((size_t)(all + 1) * sizeof *w->row);
  w->series = malloc((size_t)(all + 1) * sizeof *w->series);
  if (!w->row || !w->series) return ep_problem_fail_memory(w->problem);
  for (int64_t i = 0; i < all; i++) {
    bool ahead = i >= rows;
    w->row[i] =
        (placed_row){.series = grouped[0] && grouped[ahead] ? cell_of(w, i, window->group) : 0,
                     .time = timed[ahead] ? cell_of(w, i, window->time) : 0,
                     .ahead = ahead,
                     .row = i};
  }
  qsort(w->row, (size_t)all, sizeof *w->row, row_compare);
  return EP_OK;
}

/* Its name as a loan; NULL: rows do not say. */
static const char *series_name(const work *w, const stretch *series, char out[EP_EXCERPT_BYTES]) {
  const ep_word_set *words = w->encoding->window.series;
  if (!words || words->count == 0 || !w->grouped) return NULL;
  const ep_word_entry *word = &words->entry[(int64_t)w->row[series->first].series];
  return ep_excerpt(out, words->text + word->offset, word->bytes);
}

/* Successive rows that the first example takes, with those between it and its target. */
static int64_t rows_needed(const work *w) {
  const ep_encoding_window *window = &w->encoding->window;
  return window->length + (w->given->steps > 0 ? window->horizon - 1 : 0);
}

/* One that is too short. */
static ep_status series_skip(const work *w, const stretch *series) {
  char shown[EP_EXCERPT_BYTES], detail[EP_EXCERPT_BYTES + 128];
  const char *name = has_many(w) ? series_name(w, series, shown) : NULL;
  bool forecast = w->given->steps > 0;
  if (name) {
    snprintf(detail, sizeof detail,
             "\"%s\" has %lld rows%s, and an example requires %lld: no prediction", name,
             (long long)series->known, forecast ? " with a target" : "", (long long)rows_needed(w));
    ep_warnings_add(w->warnings, "/rows", detail);
    return EP_OK;
  }
  return ep_problem_add(w->problem, EP_INVALID, "/rows",
                        forecast
                            ? "a forecast requires the last %lld rows, the oldest first, not %lld"
                            : "an example must have %lld successive rows, the oldest first, not "
                              "%lld",
                        (long long)rows_needed(w), (long long)series->known);
}

static ep_status series_find(work *w) {
  const ep_encoding *encoding = w->encoding;
  int64_t all = w->given->rows + w->given->ahead;
  bool told = encoding->column[encoding->window.target].encode != EP_ENCODE_NONE;
  ep_status status = EP_OK;
  for (int64_t first = 0, end; first < all && status == EP_OK; first = end, w->all++) {
    for (end = first + 1; end < all && w->row[end].series == w->row[first].series;) end++;
    stretch found = {.first = first, .rows = end - first, .known = end - first};
    while (w->given->steps > 0 && found.known > 0 && told) {
      const placed_row *row = &w->row[first + found.known - 1];
      if (!row->ahead && !isnan(cell_of(w, row->row, encoding->window.target))) break;
      found.known--;
    }
    while (!told && found.known > 0 && w->row[first + found.known - 1].ahead) found.known--;
    if (found.known >= rows_needed(w))
      w->series[w->count++] = found;
    else
      status = series_skip(w, &found);
  }
  if (status != EP_OK || w->count > 0) return status;
  return ep_problem_add(w->problem, EP_INVALID, "/rows",
                        "an example requires %lld successive rows, and none of the %lld series has "
                        "as many",
                        (long long)rows_needed(w), (long long)w->all);
}

/* Whether a row to come has to have the column. */
static bool is_needed_ahead(const ep_encoding *encoding, int64_t column) {
  return column != encoding->window.target && encoding->column[column].encode != EP_ENCODE_NONE;
}

/* "temperature", "tide" */
static void needed_list(const ep_encoding *encoding, char *out, size_t bytes) {
  size_t used = 0;
  *out = 0;
  for (int64_t i = 0; i < encoding->columns && used < bytes; i++)
    if (is_needed_ahead(encoding, i))
      used += (size_t)snprintf(out + used, bytes - used, "%s\"%.100s\"", used > 0 ? ", " : "",
                               encoding->column[i].name);
}

/* The rows to come are there, and so are their cells: one that is missing would be filled in as if
 * it were known. */
static ep_status ahead_check(const work *w, const stretch *series) {
  const ep_encoding *encoding = w->encoding;
  int64_t ahead = w->given->steps - encoding->window.horizon;
  int64_t there = series->rows - series->known;
  char needed[512], shown[EP_EXCERPT_BYTES];
  needed_list(encoding, needed, sizeof needed);
  if (ahead <= 0 || !needed[0]) return EP_OK;
  const char *name = has_many(w) ? series_name(w, series, shown) : NULL;
  if (there < ahead)
    return ep_problem_add(w->problem, EP_INVALID, "/future",
                          "%lld steps require %lld rows after the last one%s%s%s, and %lld are "
                          "given: the model requires their %s",
                          (long long)w->given->steps, (long long)ahead, name ? " of \"" : "",
                          name ? name : "", name ? "\"" : "", (long long)there, needed);
  for (int64_t i = 0; i < ahead; i++) {
    const placed_row *row = &w->row[series->first + series->known + i];
    for (int64_t k = 0; k < encoding->columns; k++) {
      const ep_column_encoding *column = &encoding->column[k];
      bool word = ep_column_is_category(column); /* of which an empty cell is one as well */
      if (!is_needed_ahead(encoding, k) || column->indicator || word ||
          !isnan(cell_of(w, row->row, k)))
        continue;
      return cell_refuse(w, row->row, k, "is missing in a row to come, and the model requires it");
    }
  }
  return EP_OK;
}

/* Copies the rows of each series, those to come without their targets. */
static void cells_copy(const work *w, ep_series_rows *out) {
  int64_t columns = w->encoding->columns, most = out->columns / columns;
  bool forecast = w->given->steps > 0;
  for (int64_t i = 0; i < out->rows * out->columns; i++) out->x[i] = NAN;
  for (int64_t s = 0; s < w->count; s++) {
    const stretch *series = &w->series[s];
    int64_t skipped = forecast ? series->known - rows_needed(w) : 0;
    for (int64_t i = 0; i < most && skipped + i < series->rows; i++) {
      const placed_row *row = &w->row[series->first + skipped + i];
      double *to = out->x + s * out->columns + i * columns;
      memcpy(to, w->given->x + row->row * columns, (size_t)columns * sizeof *to);
      if (row->ahead) to[w->encoding->window.target] = NAN;
    }
  }
}

/* The time of the row that is `step` rows behind the last known one, as JSON. */
static char *time_make(const work *w, const stretch *series, int64_t step) {
  const ep_column_encoding *column = &w->encoding->column[w->encoding->window.time];
  const placed_row *row = &w->row[series->first], *last = &row[series->known - 1];
  const int64_t at = series->known + step - 1;
  const bool dates = column->type == EP_COLUMN_DATE, of_day = column->form == EP_CELL_TIME;
  double time = at < series->rows ? cell_of(w, row[at].row, w->encoding->window.time) : NAN;
  char text[EP_DATE_TEXT_BYTES], json[EP_DATE_TEXT_BYTES + 2] = "null";
  if (isnan(time) && series->known > 1 && !of_day)
    time = dates ? ep_date_after(last[-1].time, last->time, step)
                 : last->time + (double)step * (last->time - last[-1].time);
  if (dates && !isnan(time) && ep_date_format(of_day, time, text))
    snprintf(json, sizeof json, "\"%s\"", text);
  else if (!dates && isfinite(time))
    ep_number_format(time, json);
  return strdup(json);
}

/* Which examples there are: of a forecast by series, else by the rows that they end with. */
static ep_status examples_list(const work *w, ep_series_rows *out) {
  int64_t rows = w->given->rows, length = w->encoding->window.length,
          most = out->rows * out->windows;
  int64_t *ends = calloc((size_t)rows + 1, sizeof *ends); /* the example that ends there, and one */
  const stretch **of = calloc((size_t)most + 1, sizeof *of); /* the series of each */
  char shown[EP_EXCERPT_BYTES];
  bool forecast = w->given->steps > 0;
  out->example = malloc((size_t)(most + 1) * sizeof *out->example);
  out->last = forecast ? NULL : malloc((size_t)(most + 1) * sizeof *out->last);
  out->name = calloc((size_t)most + 1, sizeof *out->name);
  out->time = forecast && w->timed ? calloc((size_t)most + 1, sizeof *out->time) : NULL;
  out->step = forecast ? malloc((size_t)(most + 1) * sizeof *out->step) : NULL;
  out->many = has_many(w);
  bool short_of_memory = !ends || !of || !out->example || (!out->last && !forecast) || !out->name ||
                         (forecast && (!out->step || (w->timed && !out->time)));
  for (int64_t s = 0; s < w->count && !short_of_memory; s++)
    for (int64_t k = 0; k < out->windows; k++) {
      const stretch *series = &w->series[s];
      of[s * out->windows + k] = series;
      if (forecast)
        out->example[out->count++] = s * out->windows + k;
      else if (k + length <= series->rows)
        ends[w->row[series->first + k + length - 1].row] = s * out->windows + k + 1;
    }
  for (int64_t i = 0; i < rows && !short_of_memory && !forecast; i++)
    if (ends[i] > 0) {
      out->last[out->count] = i;
      out->example[out->count++] = ends[i] - 1;
    }
  for (int64_t i = 0; i < out->count && !short_of_memory; i++) {
    const char *name = forecast || out->many ? series_name(w, of[out->example[i]], shown) : NULL;
    if (name && !(out->name[i] = strdup(name))) short_of_memory = true;
    if (forecast) out->step[i] = out->example[i] % out->windows + 1;
    if (out->time && !(out->time[i] = time_make(w, of[out->example[i]], out->step[i])))
      short_of_memory = true;
  }
  free(ends);
  free(of);
  if (short_of_memory) return ep_problem_fail_memory(w->problem);
  if (out->count > 0 && !out->name[0]) {
    free(out->name);
    out->name = NULL;
  }
  return EP_OK;
}

static ep_status rows_write(const work *w, ep_series_rows *out) {
  int64_t width = 0, length = w->encoding->window.length, bytes;
  for (int64_t s = 0; s < w->count; s++)
    if (w->series[s].rows > width) width = w->series[s].rows;
  if (w->given->steps > 0) width = length + w->given->steps - 1;
  out->rows = w->count;
  out->columns = width * w->encoding->columns;
  out->windows = width - length + 1;
  if (__builtin_mul_overflow(out->rows * (int64_t)sizeof *out->x, out->columns, &bytes) ||
      bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_problem_add(
        w->problem, EP_TOO_LARGE, "/rows",
        "%lld series of up to %lld rows exceed the limit: send fewer series at once",
        (long long)out->rows, (long long)width);
  out->x = malloc((size_t)bytes + 1);
  if (!out->x) return ep_problem_fail_memory(w->problem);
  cells_copy(w, out);
  return examples_list(w, out);
}

ep_status ep_series_rows_take(const ep_encoding *encoding, const ep_given_rows *given,
                              ep_series_rows *out, ep_warnings *warnings, ep_problem *problem) {
  work w = {.encoding = encoding, .given = given, .warnings = warnings, .problem = problem};
  *out = (ep_series_rows){0};
  ep_status status = rows_place(&w);
  if (status == EP_OK) status = series_find(&w);
  for (int64_t i = 0; i < w.count && status == EP_OK; i++)
    if (given->steps > 0) status = ahead_check(&w, &w.series[i]);
  if (status == EP_OK) status = rows_write(&w, out);
  for (int64_t i = 0; status == EP_OK && i < given->rows; i++)
    out->moved |= given->steps == 0 && w.row[i].row != i;
  free(w.row);
  free(w.series);
  if (status != EP_OK) ep_series_rows_deinit(out);
  return status;
}

void ep_series_rows_deinit(ep_series_rows *rows) {
  for (int64_t i = 0; rows->name && i < rows->count; i++) free(rows->name[i]);
  for (int64_t i = 0; rows->time && i < rows->count; i++) free(rows->time[i]);
  free(rows->name);
  free(rows->time);
  free(rows->step);
  free(rows->last);
  free(rows->example);
  free(rows->x);
  *rows = (ep_series_rows){0};
}
