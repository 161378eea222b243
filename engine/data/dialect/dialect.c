#include "engine/data/dialect/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const key_names[EP_DIALECT_KEYS] = {
#define EP_DIALECT_NAME(code, key, member) [EP_DIALECT_##code] = key,
    EP_DIALECT_TABLE(EP_DIALECT_NAME)
#undef EP_DIALECT_NAME
};

/* A word for a value, and the value; the first word of a value is the one that is written. */
typedef struct {
  const char *word;
  int value;
} choice;

enum { ESCAPED = 1 << 8 }; /* of a quote: with backslashes */

static const choice
    encodings[] = {{"utf-8", EP_TEXT_UTF_8},
                   {"utf-16le", EP_TEXT_UTF_16LE},
                   {"utf-16be", EP_TEXT_UTF_16BE},
                   {"windows-1252", EP_TEXT_WINDOWS_1252},
                   {"cp1252", EP_TEXT_WINDOWS_1252},
                   {"latin-1", EP_TEXT_WINDOWS_1252},
                   {NULL, 0}},
    delimiters[] = {{"comma", ','},
                    {"semicolon", ';'},
                    {"tab", '\t'},
                    {"pipe", '|'},
                    {"space", EP_DELIMITER_SPACE},
                    {NULL, 0}},
    quotes[] = {{"\"", '"'}, {"'", '\''}, {"escaped", '"' | ESCAPED}, {"none", 0}, {NULL, 0}},
    booleans[] = {{"true", true}, {"false", false}, {NULL, 0}},
    comments[] = {{"none", 0}, {NULL, 0}},
    decimals[] = {{".", '.'}, {",", ','}, {"point", '.'}, {"comma", ','}, {NULL, 0}},
    thousands[] = {{"none", 0},          {",", ','}, {".", '.'},     {"'", '\''},
                   {"space", ' '},       {" ", ' '}, {"comma", ','}, {"point", '.'},
                   {"apostrophe", '\''}, {NULL, 0}},
    orders[] = {
        {"day_first", EP_DATES_DAY_FIRST}, {"month_first", EP_DATES_MONTH_FIRST}, {NULL, 0}};

static const choice *const choices[EP_DIALECT_KEYS] = {
    [EP_DIALECT_ENCODING] = encodings, [EP_DIALECT_DELIMITER] = delimiters,
    [EP_DIALECT_QUOTE] = quotes,       [EP_DIALECT_HEADER] = booleans,
    [EP_DIALECT_ROW_NAMES] = booleans, [EP_DIALECT_COMMENT] = comments,
    [EP_DIALECT_DECIMAL] = decimals,   [EP_DIALECT_THOUSANDS] = thousands,
    [EP_DIALECT_DATES] = orders};

const char *ep_dialect_key_name(ep_dialect_key key) {
  return key_names[key];
}

/* Of the words for missing cells: the first letter, which says nothing. */
static int value_get(const ep_dialect *dialect, ep_dialect_key key) {
#define VALUE(code, key, member) (int)dialect->member,
  const int values[] = {EP_DIALECT_TABLE(VALUE)};
#undef VALUE
  bool escaped = key == EP_DIALECT_QUOTE && dialect->escapes;
  return values[key] | (escaped ? ESCAPED : 0);
}

static void value_set(ep_dialect *dialect, ep_dialect_key key, int value) {
  if (key == EP_DIALECT_QUOTE) {
    dialect->escapes = (value & ESCAPED) != 0;
    value &= ~ESCAPED;
  }
  switch (key) {
#define SET(code, key, member) \
  case EP_DIALECT_##code: dialect->member = (__typeof__(dialect->member))value; break;
    EP_DIALECT_TABLE(SET)
#undef SET
  case EP_DIALECT_KEYS: break;
  }
  dialect->set |= UINT32_C(1) << key;
}

/* A character that may delimit cells, or begin a comment: nothing that numbers and words have. */
static bool is_mark(const char *text) {
  unsigned char c = (unsigned char)text[0];
  bool letter = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  return c != 0 && text[1] == 0 && c < 0x7F && !letter && c != '"' && c != '\n' && c != '\r';
}

static ep_status value_refuse(ep_dialect_key key, ep_error *error) {
  char words[160] = "";
  for (const choice *at = choices[key]; at && at->word; at++)
    snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", words[0] ? ", " : "",
             at->word);
  bool mark = key == EP_DIALECT_DELIMITER || key == EP_DIALECT_COMMENT;
  return ep_fail(error, EP_INVALID, "?%s= must be %s%s", key_names[key],
                 mark ? "one character of punctuation, or " : "one of ", words);
}

static ep_status missing_set(ep_dialect *dialect, const char *text, ep_error *error) {
  if (strlen(text) >= sizeof dialect->missing)
    return ep_fail(error, EP_INVALID,
                   "?missing= must be at most %zu bytes: words separated by commas",
                   sizeof dialect->missing - 1);
  memset(dialect->missing, 0, sizeof dialect->missing);
  memcpy(dialect->missing, text, strlen(text));
  dialect->set |= UINT32_C(1) << EP_DIALECT_MISSING;
  return EP_OK;
}

ep_status ep_dialect_set(ep_dialect *dialect, ep_dialect_key key, const char *text,
                         ep_error *error) {
  if (key == EP_DIALECT_MISSING) return missing_set(dialect, text, error);
  if (key == EP_DIALECT_PREAMBLE) {
    char *end;
    long lines = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || lines > EP_DIALECT_PREAMBLE_LINES)
      return ep_fail(error, EP_INVALID, "?preamble= must be a number of lines, from 0 to %d",
                     EP_DIALECT_PREAMBLE_LINES);
    value_set(dialect, key, (int)lines);
    return EP_OK;
  }
  for (const choice *at = choices[key]; at->word; at++) {
    if (strcmp(at->word, text) != 0) continue;
    value_set(dialect, key, at->value);
    return EP_OK;
  }
  if ((key != EP_DIALECT_DELIMITER && key != EP_DIALECT_COMMENT) || !is_mark(text))
    return value_refuse(key, error);
  value_set(dialect, key, text[0]);
  return EP_OK;
}

const char *ep_dialect_value(const ep_dialect *dialect, ep_dialect_key key,
                             char out[EP_DIALECT_VALUE_BYTES]) {
  int value = value_get(dialect, key);
  const char *word = NULL;
  for (const choice *at = choices[key]; at && at->word && !word; at++)
    if (at->value == value) word = at->word;
  if (key == EP_DIALECT_MISSING)
    memcpy(out, dialect->missing, sizeof dialect->missing);
  else if (key == EP_DIALECT_PREAMBLE)
    snprintf(out, EP_DIALECT_VALUE_BYTES, "%d", value);
  else if (key == EP_DIALECT_DELIMITER && value > ' ') /* a comma shows better than its name */
    snprintf(out, EP_DIALECT_VALUE_BYTES, "%c", value);
  else if (word)
    snprintf(out, EP_DIALECT_VALUE_BYTES, "%s", word);
  else
    snprintf(out, EP_DIALECT_VALUE_BYTES, "%c", value);
  return out;
}

/* Whether both are set, and the same mark. */
static bool are_alike(const ep_dialect *dialect, ep_dialect_key a, ep_dialect_key b) {
  int value = value_get(dialect, a);
  return ep_dialect_has(dialect, a) && ep_dialect_has(dialect, b) && value != 0 &&
         value == value_get(dialect, b);
}

ep_status ep_dialect_check(const ep_dialect *dialect, ep_error *error) {
  static const struct {
    ep_dialect_key a, b;
    bool quoted; /* quotes tell one from the other */
  } pairs[] = {{EP_DIALECT_DECIMAL, EP_DIALECT_THOUSANDS, false},
               {EP_DIALECT_DELIMITER, EP_DIALECT_QUOTE, false},
               {EP_DIALECT_DELIMITER, EP_DIALECT_COMMENT, false},
               {EP_DIALECT_QUOTE, EP_DIALECT_COMMENT, false},
               {EP_DIALECT_DELIMITER, EP_DIALECT_DECIMAL, true},
               {EP_DIALECT_DELIMITER, EP_DIALECT_THOUSANDS, true}};
  bool unquoted = ep_dialect_has(dialect, EP_DIALECT_QUOTE) && dialect->quote == 0;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (are_alike(dialect, pairs[i].a, pairs[i].b) && (!pairs[i].quoted || unquoted))
      return ep_fail(error, EP_INVALID, "?%s= and ?%s= are both `%c`%s: use two different marks",
                     key_names[pairs[i].a], key_names[pairs[i].b], value_get(dialect, pairs[i].a),
                     pairs[i].quoted ? ", which no cell can contain with ?quote=none" : "");
  return EP_OK;
}

const char *ep_dialect_query_value(const ep_dialect *dialect, ep_dialect_key key,
                                   char out[EP_DIALECT_VALUE_BYTES]) {
  for (const choice *at = choices[key]; at && at->word; at++)
    if (at->value == value_get(dialect, key)) {
      snprintf(out, EP_DIALECT_VALUE_BYTES, "%s", at->word);
      return out;
    }
  return ep_dialect_value(dialect, key, out);
}

void ep_dialect_override(ep_dialect *dialect, const ep_dialect *over) {
  for (ep_dialect_key key = 0; key < EP_DIALECT_KEYS; key++) {
    if (!ep_dialect_has(over, key)) continue;
    if (key == EP_DIALECT_MISSING) memcpy(dialect->missing, over->missing, sizeof over->missing);
    value_set(dialect, key, value_get(over, key));
  }
  if (!are_alike(dialect, EP_DIALECT_DECIMAL, EP_DIALECT_THOUSANDS)) return;
  if (ep_dialect_has(over, EP_DIALECT_THOUSANDS))
    dialect->decimal = dialect->thousands == ',' ? '.' : ',';
  else
    dialect->thousands = 0;
}

void ep_dialect_missing_usual(ep_dialect *dialect) {
  const char *word;
  if (ep_dialect_has(dialect, EP_DIALECT_MISSING)) return;
  dialect->missing[0] = 0;
  for (size_t i = 0; (word = ep_cell_missing_word(i)); i++)
    snprintf(dialect->missing + strlen(dialect->missing),
             sizeof dialect->missing - strlen(dialect->missing), "%s%s", i ? "," : "", word);
  dialect->set |= UINT32_C(1) << EP_DIALECT_MISSING;
}

ep_cell_kind ep_dialect_date_kind(const ep_dialect *dialect) {
  return dialect->dates == EP_DATES_DAY_FIRST ? EP_CELL_DAY_FIRST : EP_CELL_MONTH_FIRST;
}

void ep_dialect_plain(ep_dialect_record *record) {
  ep_dialect *dialect = &record->dialect;
  if (!ep_dialect_has(dialect, EP_DIALECT_DECIMAL)) value_set(dialect, EP_DIALECT_DECIMAL, '.');
  if (!ep_dialect_has(dialect, EP_DIALECT_THOUSANDS)) value_set(dialect, EP_DIALECT_THOUSANDS, 0);
  ep_dialect_missing_usual(dialect);
}

/* Whether the word means the number: -999 and -999.0 do. No code does, whose text counts. */
static bool is_number(const char *word, size_t bytes, double number) {
  enum { EXACT_BYTES = 15 };
  double value;
  return bytes <= EXACT_BYTES && ep_cell_number_read('.', 0, word, bytes, &value) &&
         value == number;
}

bool ep_dialect_is_missing(const ep_dialect *dialect, const char *text, size_t bytes) {
  enum { CODE = 2 }; /* 00 */
  double value;
  if (bytes == 0) return true;
  if (!ep_dialect_has(dialect, EP_DIALECT_MISSING)) return ep_cell_is_missing(text, bytes);
  if (!strchr(dialect->missing, *text)) return false; /* as of most cells */
  bool code = bytes >= CODE && *text == '0' && text[1] != '.';
  bool number =
      !code && ep_cell_number_read('.', 0, text, bytes, &value) && is_number(text, bytes, value);
  for (const char *at = dialect->missing; *at;) {
    size_t word = strcspn(at, ",");
    if ((word == bytes && memcmp(at, text, bytes) == 0) || (number && is_number(at, word, value)))
      return true;
    at += word + (at[word] == ',');
  }
  return false;
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Words for a missing cell as an array; the empty cell comes first. */
static json_t *missing_json(const ep_dialect *dialect) {
  json_t *array = json_pack("[s]", "");
  for (const char *at = dialect->missing; array && *at;) {
    size_t word = strcspn(at, ",");
    if (json_array_append_new(array, json_stringn(at, word)) != 0) {
      json_decref(array);
      return NULL;
    }
    at += word + (at[word] == ',');
  }
  return array;
}

static json_t *value_json(const ep_dialect *dialect, ep_dialect_key key) {
  char text[EP_DIALECT_VALUE_BYTES];
  int value = value_get(dialect, key);
  bool absent = key == EP_DIALECT_QUOTE || key == EP_DIALECT_COMMENT || key == EP_DIALECT_THOUSANDS;
  if (key == EP_DIALECT_MISSING) return missing_json(dialect);
  if (key == EP_DIALECT_PREAMBLE) return json_integer(value);
  if (choices[key] == booleans) return json_boolean(value);
  if (absent && value == 0) return json_null();
  return json_string(ep_dialect_value(dialect, key, text));
}

json_t *ep_dialect_json(const ep_dialect *dialect) {
  json_t *object = json_object();
  for (ep_dialect_key key = 0; object && key < EP_DIALECT_KEYS; key++) {
    if (!ep_dialect_has(dialect, key)) continue;
    if (json_object_set_new(object, key_names[key], value_json(dialect, key)) == 0) continue;
    json_decref(object);
    return NULL;
  }
  return object;
}

json_t *ep_dialect_record_json(const ep_dialect_record *record) {
  json_t *object = ep_dialect_json(&record->dialect), *evidence = json_object();
  bool ok = object && evidence;
  for (ep_dialect_key key = 0; ok && key < EP_DIALECT_KEYS; key++)
    if (record->evidence[key][0])
      ok = json_object_set_new(evidence, key_names[key], json_string(record->evidence[key])) == 0;
  ok = ok && json_object_set(object, "evidence", evidence) == 0;
  json_decref(evidence);
  if (ok) return object;
  json_decref(object);
  return NULL;
}

static bool missing_parse(const json_t *array, ep_dialect *out) {
  char text[EP_DIALECT_MISSING_BYTES] = "";
  size_t used = 0;
  for (size_t i = 0; i < json_array_size(array); i++) {
    const char *word = json_string_value(json_array_get(array, i));
    if (!word || used + strlen(word) + 2 > sizeof text) return false;
    if (!word[0]) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "," : "", word);
  }
  return json_is_array(array) && missing_set(out, text, NULL) == EP_OK;
}

bool ep_dialect_parse(const json_t *object, ep_dialect *out) {
  *out = (ep_dialect){0};
  if (!json_is_object(object)) return false;
  for (ep_dialect_key key = 0; key < EP_DIALECT_KEYS; key++) {
    const json_t *value = json_object_get(object, key_names[key]);
    if (!value) continue;
    bool ok = true;
    if (key == EP_DIALECT_MISSING)
      ok = missing_parse(value, out);
    else if (json_is_null(value))
      value_set(out, key, 0);
    else if (json_is_boolean(value) && choices[key] == booleans)
      value_set(out, key, json_is_true(value));
    else if (json_is_integer(value) && key == EP_DIALECT_PREAMBLE)
      value_set(out, key, (int)json_integer_value(value));
    else
      ok = json_is_string(value) &&
           ep_dialect_set(out, key, json_string_value(value), NULL) == EP_OK;
    if (!ok) return false;
  }
  return true;
}

bool ep_dialect_record_parse(const json_t *object, ep_dialect_record *out) {
  const json_t *evidence = json_object_get(object, "evidence");
  *out = (ep_dialect_record){0};
  if (!ep_dialect_parse(object, &out->dialect)) return false;
  for (ep_dialect_key key = 0; key < EP_DIALECT_KEYS; key++) {
    const char *text = json_string_value(json_object_get(evidence, key_names[key]));
    if (!text) continue;
    if (strlen(text) >= sizeof out->evidence[key]) return false;
    memcpy(out->evidence[key], text, strlen(text) + 1);
  }
  return true;
}
