#include "engine/data/dialect/delimiter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/data/dialect/printed.h"
#include "engine/data/dialect/sample.h"

enum { ROWS = 200 };

static const char delimiters[] = {',', ';', '\t', '|', EP_DELIMITER_SPACE};
static const struct {
  char quote;
  bool escapes;
} quotes[] = {{'"', false}, {'\'', false}, {0, false}, {'"', true}};
enum { QUOTES = sizeof quotes / sizeof *quotes };

/* How well a delimiter and a quote explain the rows. */
typedef struct {
  char delimiter, quote;
  bool escapes;
  bool halves, whole; /* it stands between two digits in each row; all rows have as many cells */
  double score;
  int64_t columns;
} candidate;

const char *ep_delimiter_shown(char delimiter, char out[16]) {
  if (delimiter == '\t') return "a tab";
  if (delimiter == EP_DELIMITER_SPACE) return "spaces";
  snprintf(out, 16, "`%c`", delimiter);
  return out;
}

/* White space delimits columns of which some are numbers; words of a sentence it does not. */
static bool is_white_table(const ep_sample *sample) {
  for (int64_t i = 0; i < sample->columns; i++)
    if (ep_sample_is_typed(sample, i)) return true;
  return false;
}

/* Whether the first row has as many cells as the others, or one more or less. */
static bool begins_like_rows(const ep_sample *sample) {
  int first = 0;
  while (first < sample->count && !ep_sample_is_row(sample, first)) first++;
  int64_t more = first < sample->count ? sample->row[first].cells - sample->columns : 0;
  return more >= -1 && more <= 1;
}

static ep_status candidate_score(ep_csv_text text, char comment, ep_csv_cell *cell, candidate *it,
                                 ep_error *error) {
  ep_sample sample;
  text.delimiter = it->delimiter;
  text.quote = it->quote;
  text.escapes = it->escapes;
  ep_csv_line_begin(&text);
  bool tab = memchr(text.at, '\t', (size_t)(ep_csv_line_end(&text, text.at) - text.at));
  ep_status status = ep_sample_read(&text, comment, ROWS, cell, &sample, error);
  if (status != EP_OK) return status;
  double regular = sample.rows ? (double)sample.regular / sample.rows : 0;
  double typed = sample.typed * sample.typed, below = regular; /* the lines of a title */
  if (sample.lead <= sample.regular) below = (double)sample.regular / (sample.rows - sample.lead);
  bool table = sample.columns >= 2 &&
               (it->delimiter != EP_DELIMITER_SPACE || (is_white_table(&sample) && below > 0.8));
  it->columns = sample.columns;
  it->halves = sample.halved > 0 && sample.halved >= sample.regular - 1;
  it->whole = sample.regular == sample.rows;
  /* one column explains any text, and nothing of it */
  it->score = regular * regular * typed * typed * (table ? 1 - 0.5 / (double)sample.columns : 0.1);
  /* tabs and words have them, too */
  if (it->delimiter == EP_DELIMITER_SPACE) it->score *= tab ? 0.6 : 0.9;
  if (it->delimiter == ',' && ep_sample_cuts_numbers(&sample)) it->score *= 0.5;
  if (!it->quote) it->score *= 0.95; /* quotes that are there may be few */
  if (sample.cut_quotes > 0) it->score *= 2 * sample.cut_quotes > sample.rows ? 0.05 : 0.5;
  if (!begins_like_rows(&sample)) it->score *= 0.98; /* a header in quotes may be cut */
  if (sample.broken) it->score *= sample.rows > ROWS / 2 ? 0.5 : 0.05;
  ep_sample_deinit(&sample);
  return EP_OK;
}

/* Two delimiters that give tables, one as good as the other. */
static ep_status undecided(const candidate *best, const candidate *other, ep_error *error) {
  char first[16], second[16], one[EP_DIALECT_VALUE_BYTES], two[EP_DIALECT_VALUE_BYTES];
  return ep_fail(error, EP_INVALID,
                 "both %s (%lld columns) and %s (%lld columns) divide the rows evenly: choose "
                 "?delimiter=%s or ?delimiter=%s",
                 ep_delimiter_shown(best->delimiter, first), (long long)best->columns,
                 ep_delimiter_shown(other->delimiter, second), (long long)other->columns,
                 ep_dialect_query_value(&(ep_dialect){.delimiter = best->delimiter},
                                        EP_DIALECT_DELIMITER, one),
                 ep_dialect_query_value(&(ep_dialect){.delimiter = other->delimiter},
                                        EP_DIALECT_DELIMITER, two));
}

/* Whether more lines end in a CR alone than in a LF; cells in quotes may hold either. */
static bool ends_in_cr(const char *at, size_t bytes) {
  size_t alone = 0, feeds = 0, quoted_alone = 0, quoted_feeds = 0;
  char quote = 0; /* that is open */
  if (!memchr(at, '\r', bytes)) return false;
  for (size_t i = 0; i < bytes; i++) {
    bool mark = at[i] == '"' || at[i] == '\'', word = i > 0 && isalnum((unsigned char)at[i - 1]);
    if (quote ? at[i] == quote : mark && !word) quote = quote ? 0 : at[i];
    bool feed = at[i] == '\n', cr = at[i] == '\r' && (i + 1 == bytes || at[i + 1] != '\n');
    *(quote ? &quoted_feeds : &feeds) += feed;
    *(quote ? &quoted_alone : &alone) += cr;
  }
  if (alone == feeds) return quoted_alone > quoted_feeds; /* a quote that does not end */
  return alone > feeds;
}

static bool has_pair(const char *text, size_t bytes, char first, char second) {
  for (size_t i = 1; i < bytes; i++)
    if (text[i - 1] == first && text[i] == second) return true;
  return false;
}

/* Whether the dialect allows it, and something of the text may need it. */
static bool is_worth_trying(const candidate *it, const ep_dialect *given, const char *text,
                            size_t bytes) {
  bool own = ep_dialect_has(given, EP_DIALECT_QUOTE);
  if (own) return it->quote == given->quote && it->escapes == given->escapes;
  if (it->escapes) return has_pair(text, bytes, '\\', it->quote);
  return it->quote == '"' || memchr(text, it->quote ? it->quote : '"', bytes);
}

/* Whether the first line begins with U+2500 … U+257F. */
static bool is_boxed(const ep_csv_text *text) {
  const char *at = text->at;
  while (at < text->end && isspace((unsigned char)*at)) at++;
  return text->end - at > 2 && at[0] == '\xE2' && (at[1] == '\x94' || at[1] == '\x95');
}

static size_t probe_bytes(const ep_csv_text *text) {
  size_t bytes = (size_t)(text->end - text->at);
  return bytes < (1 << 20) ? bytes : (size_t)1 << 20;
}

bool ep_separator_line_take(ep_csv_text *text, ep_dialect *dialect) {
  static const char start[] = {'s', 'e', 'p', '='};
  const char *at = text->at;
  text->cr = ends_in_cr(at, probe_bytes(text));
  if (text->end - at < 6 || strncasecmp(at, start, sizeof start) != 0 || !memchr(",;|\t", at[4], 4))
    return false;
  if (ep_csv_line_end(text, at) != at + 5) return false;
  ep_csv_line_take(text);
  if (ep_dialect_has(dialect, EP_DIALECT_DELIMITER)) return false;
  ep_dialect_delimiter_set(dialect, at[4]);
  return true;
}

ep_status ep_delimiter_find(ep_csv_text *text, ep_dialect *dialect, char comment, ep_csv_cell *cell,
                            ep_error *error) {
  candidate best = {.score = -1}, second = {.score = -1};
  size_t probe = probe_bytes(text);
  if (is_boxed(text))
    return ep_fail(error, EP_INVALID, "the table is drawn with box characters: save it as CSV");
  ep_csv_text printed = *text;
  char own = ep_printed_find(&printed);
  bool drawn = own && (!ep_dialect_has(dialect, EP_DIALECT_DELIMITER) || dialect->delimiter == own);
  if (drawn) *text = printed;
  if (!drawn) own = dialect->delimiter;
  bool known = drawn || ep_dialect_has(dialect, EP_DIALECT_DELIMITER);
  const char *tried = known ? &own : delimiters;
  size_t count = known ? 1 : sizeof delimiters;
  for (size_t i = 0; i < count * QUOTES; i++) {
    candidate it = {.delimiter = tried[i / QUOTES],
                    .quote = quotes[i % QUOTES].quote,
                    .escapes = quotes[i % QUOTES].escapes};
    bool there = i / QUOTES == 0 || memchr(text->at, it.delimiter, probe) ||
                 (it.delimiter == EP_DELIMITER_SPACE && memchr(text->at, '\t', probe));
    if (!there || !is_worth_trying(&it, dialect, text->at, probe)) continue;
    ep_status status = candidate_score(*text, comment, cell, &it, error);
    if (status != EP_OK) return status;
    if (it.score > best.score && it.delimiter != best.delimiter) second = best;
    if (it.score > best.score)
      best = it;
    else if (it.score > second.score && it.delimiter != best.delimiter)
      second = it;
  }
  bool decimal = best.delimiter == ',' && best.halves && second.delimiter == EP_DELIMITER_SPACE;
  if (decimal && second.whole && second.columns >= 2 && second.score > 0.1 * best.score)
    return undecided(&best, &second, error); /* "f 0,38" */
  if (second.columns >= 2 && second.delimiter != EP_DELIMITER_SPACE &&
      second.score > 0.97 * best.score && best.score > 0)
    return undecided(&best, &second, error);
  dialect->delimiter = text->delimiter = best.delimiter;
  dialect->quote = text->quote = best.quote;
  dialect->escapes = text->escapes = best.escapes;
  ep_csv_line_begin(text);
  return EP_OK;
}
