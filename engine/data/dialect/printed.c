#include "engine/data/dialect/printed.h"

#include <string.h>

static bool is_dash(char c) {
  return c == '-' || c == '=';
}

static bool is_space(char c) {
  return c == ' ' || c == '\t';
}

/* The columns that a line draws; 0: it is no rule. Two spaces may stand between any dashes, and a
 * colon before or behind them; *gap: the fewest spaces between two columns, 0: they have another
 * mark. */
static int rule_see(const ep_csv_text *text, const char *at, const char *end, int *gap) {
  enum { RUN = 3 }; /* fewer are a word for a missing cell */
  int columns = 0, run = 0, spaces = 0;
  bool sure = text->framed, colons = false, marks = false;
  *gap = 0;
  for (; at < end; at++) {
    if (is_dash(*at)) {
      if (run == 0 && columns > 0 && (*gap == 0 || spaces < *gap)) *gap = spaces;
      columns += run == 0;
      run++;
      spaces = 0;
      sure = sure || run == RUN;
      continue;
    }
    bool space = is_space(*at), mark = *at == '+' || *at == '|' || *at == text->delimiter;
    if (!space && !mark && *at != ':') return 0;
    colons = colons || *at == ':';
    marks = marks || (mark && !space);
    run = 0;
    spaces += space;
  }
  sure = sure || (colons && marks) || (columns > 1 && *gap > 1 && !marks);
  if (marks) *gap = 0;
  return sure ? columns : 0;
}

/* Whether the line begins and ends in a bar. */
static bool is_framed(const char *at, const char *end) {
  while (at < end && is_space(*at)) at++;
  while (at < end && is_space(end[-1])) end--;
  return end - at > 1 && *at == '|' && end[-1] == '|';
}

char ep_printed_find(ep_csv_text *text) {
  enum { PROBE_BYTES = 1 << 16 };
  ep_csv_text line = *text;
  int bars = 0, framed = 0, gap, found = 0;
  bool open = false; /* a cell in quotes, of many lines */
  while (line.at < line.end && line.at - text->at < PROBE_BYTES) {
    const char *end = ep_csv_line_end(&line, line.at);
    int columns = rule_see(&line, line.at, end, &gap);
    if (columns > 1 && !text->rule && !open) {
      text->rule = line.at;
      text->drawn = columns;
      text->gap = gap;
      found = gap ? EP_DELIMITER_SPACE : '|';
    }
    bars += memchr(line.at, '|', (size_t)(end - line.at)) != NULL;
    framed += is_framed(line.at, end);
    for (const char *at = line.at; at < end; at++) open ^= *at == '"';
    ep_csv_line_take(&line);
  }
  text->framed = framed > 1 && framed == bars && found != EP_DELIMITER_SPACE;
  return text->framed ? '|' : (char)found;
}

bool ep_csv_rule_take(ep_csv_text *text) {
  int gap;
  const char *at = text->at;
  while (at < text->end && *at && (strchr("-=+|: \t", *at) || *at == text->delimiter)) at++;
  bool whole = at > text->at && (at == text->end || *at == '\n' || *at == '\r');
  if (!whole) return false; /* as of most lines */
  if (rule_see(text, text->at, ep_csv_line_end(text, text->at), &gap) == 0) return false;
  ep_csv_line_take(text);
  return true;
}

bool ep_csv_is_row_count(const ep_csv_text *text) {
  static const char row[] = {' ', 'r', 'o', 'w'};
  const char *at = text->at;
  while (at < text->end && (is_space(*at) || *at == '(')) at++;
  const char *first = at;
  while (at < text->end && *at >= '0' && *at <= '9') at++;
  return at > first && text->end - at > (int)sizeof row && memcmp(at, row, sizeof row) == 0;
}

static bool is_character(char c) {
  return ((unsigned char)c & 0xC0) != 0x80; /* its first byte */
}

/* Where the first cell begins and ends, and where the line does, in characters. */
static void places_see(const ep_csv_text *text, int places[3]) {
  const char *end = ep_csv_line_end(text, text->at);
  int place = 0;
  memset(places, 0, 3 * sizeof *places);
  for (const char *at = text->at; at < end; at++) {
    if (!is_character(*at)) continue;
    if (is_space(*at) && places[2] && !places[1]) places[1] = place;
    if (!is_space(*at) && !places[2]) places[0] = place;
    place++;
    if (!is_space(*at)) places[2] = place;
  }
}

bool ep_names_are_printed(const ep_sample *sample, int names) {
  int name[3], row[3], rows = 0;
  places_see(&sample->row[names].start, name);
  for (int i = names + 1; name[0] > 0 && sample->columns > 1 && i < sample->count; i++) {
    if (!ep_sample_is_row(sample, i) || sample->row[i].cells != sample->columns) continue;
    places_see(&sample->row[i].start, row);
    if (row[1] > name[0] || row[2] != name[2]) return false;
    rows++;
  }
  return rows > 0;
}

ep_status ep_printed_row_check(const ep_csv_text *text, ep_error *error) {
  const char *at = text->at, *end = ep_csv_line_end(text, at), *rule = text->rule;
  while (at < end && *at == '.') at++;
  if (at - text->at > 1 && (at == end || is_space(*at)))
    return ep_fail(
        error, EP_INVALID,
        "line %lld replaces rows omitted when the table was printed: save the whole table as CSV",
        (long long)text->line);
  bool drawn = false, filled = true, fits = true; /* the column before */
  at = text->at;
  const char *rule_end = rule ? ep_csv_line_end(text, rule) : NULL;
  for (; rule && rule < rule_end; rule++) {
    bool space = at >= end || is_space(*at);
    bool dash = is_dash(*rule);
    if (dash && !drawn) filled = false;
    if (dash) filled = filled || !space;
    if (!dash) fits = fits && space && filled;
    drawn = dash;
    if (at < end) at++;
    while (at < end && !is_character(*at)) at++;
  }
  if (fits && filled) return EP_OK;
  return ep_fail(error, EP_INVALID,
                 "line %lld does not fit the columns of the line of dashes: save the table as CSV, "
                 "or write a word such as NA for empty cells",
                 (long long)text->line);
}
