#include "engine/data/tables/marks.h"

#include <stdlib.h>
#include <string.h>

/* What the columns of numbers say of each pair. */
typedef struct {
  int64_t columns;        /* of numbers */
  int64_t read[EP_MARKS]; /* of these: that the pair reads, but for a cell in a hundred */
  int64_t points, commas; /* that show their decimal mark */
  int64_t first_unclear;  /* a column of which two pairs read different numbers; -1: none */
  bool small, large;      /* whole numbers in these columns without a mark */
} survey;

bool ep_cells_are_numbers(const ep_column_cells *cells) {
  int64_t numbers = cells->plain + cells->words_read.numbers,
          present = cells->present - cells->words_read.gaps;
  return numbers > 0 && numbers * 5 >= present * 4;
}

static bool pair_reads(const ep_column_cells *cells, int marks) {
  int64_t numbers = cells->plain + cells->words_read.numbers - cells->words_read.other_signs;
  return ep_numbers_count(cells, marks) * 100 >= numbers * 99;
}

/* A pair that reads all, and none of the other decimal mark does: the column shows its mark. */
static bool shows(const ep_column_cells *cells, char decimal) {
  bool own = false, other = false;
  for (int i = 0; i < EP_MARKS; i++)
    if (pair_reads(cells, i)) *(ep_marks[i].decimal == decimal ? &own : &other) = true;
  return own && !other;
}

static bool is_unclear(const ep_column_cells *cells) {
  return (cells->threes > 0 && cells->threes == cells->points) || cells->words_read.unclear > 0;
}

static survey columns_look(const ep_column_cells *cells, int64_t columns) {
  survey found = {.first_unclear = -1};
  for (int64_t i = 0; i < columns; i++) {
    if (!ep_cells_are_numbers(&cells[i])) continue;
    found.columns++;
    for (int marks = 0; marks < EP_MARKS; marks++)
      found.read[marks] += pair_reads(&cells[i], marks);
    bool point = shows(&cells[i], '.'), comma = shows(&cells[i], ',');
    found.points += point;
    found.commas += comma;
    if (point || comma || !is_unclear(&cells[i])) continue;
    if (found.first_unclear < 0) found.first_unclear = i;
    found.small = found.small || cells[i].small;
    found.large = found.large || cells[i].large;
  }
  return found;
}

/* The plainest of the pairs with that decimal mark that read the most columns; 0 chooses any. */
static int best_pair(const survey *found, char decimal, const ep_dialect *dialect) {
  int best = -1;
  for (int i = 0; i < EP_MARKS; i++) {
    if (decimal && ep_marks[i].decimal != decimal) continue;
    if (ep_dialect_has(dialect, EP_DIALECT_THOUSANDS) &&
        ep_marks[i].thousands != dialect->thousands)
      continue;
    if (best < 0 || found->read[i] > found->read[best]) best = i;
  }
  return best < 0 ? 0 : best;
}

static ep_status undecided(const ep_column *column, int64_t index, ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES];
  return ep_fail(error, EP_INVALID,
                 "%s: its numbers are like 1.234 or 1,234 alone, which may be a fraction or a "
                 "thousand, and no other cell shows which: choose with ?decimal= and ?thousands=",
                 ep_column_label(column, index, label));
}

/* Which mark an unclear column has: a plain decimal point or comma reads one of the two alone. */
static char mark_before_three(const ep_column_cells *cells) {
  return ep_numbers_count(cells, 0) > ep_numbers_count(cells, 1) ? '.' : ',';
}

/* Of a file in which all cells of numbers have one mark before three digits. */
static ep_status convention_take(ep_column *column, const ep_column_cells *cells, int64_t columns,
                                 const survey *found, const ep_dialect *dialect, ep_notes *notes,
                                 char *decimal, ep_error *error) {
  const ep_column_cells *unclear = &cells[found->first_unclear];
  bool commas = mark_before_three(unclear) == ','; /* 1,234; else 1.234 */
  bool grouped = found->small && !found->large; /* 950 beside 1.234: a fraction would be 950.000 */
  bool semicolon = dialect->delimiter == ';';
  if (semicolon && commas == grouped) return undecided(column, found->first_unclear, error);
  *decimal = semicolon ? ',' : '.';
  ep_notes_add(notes,
               "no cell shows whether 1%c234 is a fraction or a thousand: the decimal mark `%c` is "
               "used, as usual with this delimiter; ?decimal=%c chooses the other",
               mark_before_three(unclear), *decimal, *decimal == '.' ? ',' : '.');
  for (int64_t i = 0; i < columns; i++) {
    if (!ep_cells_are_numbers(&cells[i]) || !is_unclear(&cells[i])) continue;
    const char *read = mark_before_three(&cells[i]) == *decimal
                           ? "a mark before three digits is read as the decimal one"
                           : "a mark before three digits is read as that of thousands";
    ep_status status = ep_column_note_add(&column[i], error, "%s", read);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

static void others_note(const ep_column *column, const ep_column_cells *cells, int64_t columns,
                        int marks, ep_notes *notes) {
  char label[EP_COLUMN_LABEL_BYTES];
  int64_t others = 0, first = 0;
  for (int64_t i = columns; i-- > 0;) {
    if (!ep_cells_are_numbers(&cells[i]) || pair_reads(&cells[i], marks) ||
        !(shows(&cells[i], '.') || shows(&cells[i], ',')))
      continue;
    first = i;
    others++;
  }
  if (others > 0)
    ep_notes_add(notes,
                 "%s%s: numbers with other marks than those of the file, whose decimal mark "
                 "is `%c`",
                 ep_column_label(column, first, label), others > 1 ? " and others" : "",
                 ep_marks[marks].decimal);
}

ep_status ep_marks_find(ep_column *column, const ep_column_cells *cells, int64_t columns,
                        ep_dialect *dialect, ep_notes *notes, int *marks, ep_error *error) {
  survey found = columns_look(cells, columns);
  char decimal = 0;
  ep_status status = EP_OK;
  bool given = ep_dialect_has(dialect, EP_DIALECT_THOUSANDS);
  if (ep_dialect_has(dialect, EP_DIALECT_DECIMAL))
    decimal = dialect->decimal;
  else if (given && (dialect->thousands == ',' || dialect->thousands == '.'))
    decimal = dialect->thousands == ',' ? '.' : ',';
  else if (found.points != found.commas)
    decimal = found.points > found.commas ? '.' : ',';
  else if (found.points > 0)
    decimal =
        found.read[best_pair(&found, ',', dialect)] > found.read[best_pair(&found, '.', dialect)]
            ? ','
            : '.';
  else if (found.first_unclear >= 0 && given) /* 1.234 is no thousand */
    decimal = mark_before_three(&cells[found.first_unclear]);
  else if (found.first_unclear >= 0)
    status = convention_take(column, cells, columns, &found, dialect, notes, &decimal, error);
  if (status != EP_OK) return status;
  *marks = best_pair(&found, decimal ? decimal : '.', dialect);
  dialect->decimal = ep_marks[*marks].decimal;
  dialect->thousands = ep_marks[*marks].thousands;
  dialect->set |= UINT32_C(1) << EP_DIALECT_DECIMAL | UINT32_C(1) << EP_DIALECT_THOUSANDS;
  others_note(column, cells, columns, *marks, notes);
  return EP_OK;
}

/* Eight in ten of its cells are dates of figures, as a column of them has at least: 31/12/2024. */
static bool has_figures(const ep_column_cells *cells, ep_cell_kind kind) {
  int64_t dates = cells->words_read.dates[kind];
  return dates > 0 && dates * 5 >= (cells->present - cells->words_read.gaps) * 4;
}

ep_status ep_dates_order_find(ep_column *column, const ep_column_cells *cells, int64_t columns,
                              ep_dialect *dialect, ep_notes *notes, ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES];
  int64_t days = 0, months = 0, unclear = -1;
  if (ep_dialect_has(dialect, EP_DIALECT_DATES)) return EP_OK;
  for (int64_t i = 0; i < columns; i++) {
    if (!has_figures(&cells[i], EP_CELL_DAY_FIRST) && !has_figures(&cells[i], EP_CELL_MONTH_FIRST))
      continue;
    const int64_t *dates = cells[i].words_read.dates;
    days += dates[EP_CELL_DAY_FIRST] > dates[EP_CELL_MONTH_FIRST];
    months += dates[EP_CELL_MONTH_FIRST] > dates[EP_CELL_DAY_FIRST];
    if (dates[EP_CELL_MONTH_FIRST] == dates[EP_CELL_DAY_FIRST] && unclear < 0) unclear = i;
  }
  if (days + months + (unclear >= 0) == 0) return EP_OK;
  bool slashes = false;
  if (unclear >= 0 && cells[unclear].words.count > 0)
    slashes = memchr(cells[unclear].words.text, '/', cells[unclear].words.entry[0].bytes);
  bool day_first = days != months ? days > months : !slashes || dialect->decimal == ',';
  dialect->dates = day_first ? EP_DATES_DAY_FIRST : EP_DATES_MONTH_FIRST;
  dialect->set |= UINT32_C(1) << EP_DIALECT_DATES;
  if (unclear < 0) return EP_OK;
  ep_notes_add(notes,
               "%s: no date shows whether the day or the month is first; %s first is assumed, %s; "
               "?dates=%s chooses the other",
               ep_column_label(column, unclear, label), day_first ? "the day" : "the month",
               days != months ? "as in other columns" : "as usual with these marks",
               day_first ? "month_first" : "day_first");
  for (int64_t i = unclear + 1; i < columns; i++) {
    const int64_t *dates = cells[i].words_read.dates;
    if (!has_figures(&cells[i], EP_CELL_DAY_FIRST) ||
        dates[EP_CELL_MONTH_FIRST] != dates[EP_CELL_DAY_FIRST])
      continue;
    ep_status status = ep_column_note_set(
        &column[i], day_first ? "the day is read first" : "the month is read first", error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}
