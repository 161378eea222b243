/* dialect.h: how a delimited text is written: data, which is found once, stored with the dataset
 * and with the weights that learnt from it, shown, and set by the same keys.
 *
 * The model is W3C's "Metadata Vocabulary for Tabular Data" (2015), section 5.9, with what numbers
 * and dates need. */
#ifndef EP_ENGINE_DATA_DIALECT_DIALECT_H
#define EP_ENGINE_DATA_DIALECT_DIALECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"
#include "engine/data/cells/cell.h"

/* X(code, key, member): what is said of a text, and where it stands in ep_dialect. */
#define EP_DIALECT_TABLE(X)            \
  X(ENCODING, "encoding", encoding)    \
  X(DELIMITER, "delimiter", delimiter) \
  X(QUOTE, "quote", quote)             \
  X(HEADER, "header", header)          \
  X(ROW_NAMES, "row_names", row_names) \
  X(PREAMBLE, "preamble", preamble)    \
  X(COMMENT, "comment", comment)       \
  X(DECIMAL, "decimal", decimal)       \
  X(THOUSANDS, "thousands", thousands) \
  X(MISSING, "missing", missing[0])    \
  X(DATES, "dates", dates)

typedef enum {
#define EP_DIALECT_ENUM(code, key, member) EP_DIALECT_##code,
  EP_DIALECT_TABLE(EP_DIALECT_ENUM)
#undef EP_DIALECT_ENUM
      EP_DIALECT_KEYS
} ep_dialect_key;

typedef enum {
  EP_TEXT_UTF_8, /* with a byte order mark or without */
  EP_TEXT_UTF_16LE,
  EP_TEXT_UTF_16BE,
  EP_TEXT_WINDOWS_1252,
  EP_TEXT_ENCODINGS
} ep_text_encoding;

typedef enum { EP_DATES_DAY_FIRST, EP_DATES_MONTH_FIRST, EP_DATES_ORDERS } ep_dates_order;

enum {
  EP_DIALECT_MISSING_BYTES = 512, /* of all words for a missing cell, with commas between */
  EP_DIALECT_VALUE_BYTES = EP_DIALECT_MISSING_BYTES,
  EP_DIALECT_EVIDENCE_BYTES = 160,
  EP_DIALECT_PREAMBLE_LINES = 1000, /* as many lines may stand before a table */
  EP_DELIMITER_SPACE = ' '          /* runs of spaces and tabs */
};

/* A zeroed one says nothing. Plain memory, which may be copied, sent and compared. */
typedef struct {
  uint32_t set; /* a bit for each key that is given or found; the members of others mean nothing */
  ep_text_encoding encoding;
  char delimiter;
  char quote;           /* 0: none */
  bool escapes;         /* a backslash before a quote makes it a character; of the key quote, too */
  char comment;         /* of a line to be skipped: its first character; 0: none */
  char decimal;         /* '.' or ',' */
  char thousands;       /* ',', '.', '\'', ' ' (any space); 0: none */
  bool header;          /* the first line of the table names the columns */
  bool row_names;       /* all but the first */
  int32_t preamble;     /* lines before the table */
  ep_dates_order dates; /* of days and months in figures */
  char missing[EP_DIALECT_MISSING_BYTES]; /* words of missing cells beside empty ones, with commas
                                             between them; unset: ep_cell_is_missing's */
} ep_dialect;

/* A dialect as it was found, and why. */
typedef struct {
  ep_dialect dialect;
  char evidence[EP_DIALECT_KEYS][EP_DIALECT_EVIDENCE_BYTES]; /* "": nothing to say */
} ep_dialect_record;

static inline bool ep_dialect_has(const ep_dialect *dialect, ep_dialect_key key) {
  return dialect->set >> key & 1;
}

const char *ep_dialect_key_name(ep_dialect_key key); /* "delimiter" */

/* Sets the key to what `text` says, as a query has it: "comma", ";", "none", "day_first".
 * EP_INVALID names the values that are allowed. */
ep_status ep_dialect_set(ep_dialect *dialect, ep_dialect_key key, const char *text,
                         ep_error *error);

/* The value of a key that is set, as ep_dialect_set takes it. Returns `out`. */
const char *ep_dialect_value(const ep_dialect *dialect, ep_dialect_key key,
                             char out[EP_DIALECT_VALUE_BYTES]);

/* EP_INVALID where two marks that are set are alike. A delimiter may be a mark of numbers too,
 * which stand in quotes then. */
ep_status ep_dialect_check(const ep_dialect *dialect, ep_error *error);

/* The same for the query of a URL: `|` is "pipe". */
const char *ep_dialect_query_value(const ep_dialect *dialect, ep_dialect_key key,
                                   char out[EP_DIALECT_VALUE_BYTES]);

/* Keys of `over` that are set replace those of `dialect`. Of the marks of numbers, one that is
 * replaced changes the other where both would be alike. */
void ep_dialect_override(ep_dialect *dialect, const ep_dialect *over);

/* Lists the usual words for a missing cell, where none are listed. */
void ep_dialect_missing_usual(ep_dialect *dialect);

/* That of dates in figures; the order is set. */
ep_cell_kind ep_dialect_date_kind(const ep_dialect *dialect);

static inline void ep_dialect_delimiter_set(ep_dialect *dialect, char delimiter) {
  dialect->delimiter = delimiter;
  dialect->set |= UINT32_C(1) << EP_DIALECT_DELIMITER;
}

/* Sets the marks of numbers that are not set: a decimal point, and nothing between thousands. */
void ep_dialect_plain(ep_dialect_record *record);

/* Whether the cell stands for nothing: it is empty, or a word for it; of numbers that are listed,
 * the value counts: -999 lists -999.0. */
bool ep_dialect_is_missing(const ep_dialect *dialect, const char *text, size_t bytes);

/* {"delimiter":";","header":true,"comment":null,…}: keys that are set, and the evidence of a record
 * where there is any. NULL when memory is short. */
json_t *ep_dialect_json(const ep_dialect *dialect);
json_t *ep_dialect_record_json(const ep_dialect_record *record);

/* False where the object is no dialect. */
bool ep_dialect_parse(const json_t *object, ep_dialect *out);
bool ep_dialect_record_parse(const json_t *object, ep_dialect_record *out);

#endif
