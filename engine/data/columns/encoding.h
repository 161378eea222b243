/* encoding.h: from the raw columns of a table to the numbers that a network takes: what is decided
 * from the description (plan), what is learnt from the training rows (fit), and how a row is
 * encoded (apply), in training and in prediction alike. It travels with the weights.
 *
 * A raw row has all cells of the table but the target's, in the table's order; of a series
 * (data->window) it has the target's, too, whose past is known. */
#ifndef EP_ENGINE_DATA_COLUMNS_ENCODING_H
#define EP_ENGINE_DATA_COLUMNS_ENCODING_H

#include "api/spec/job_spec.h"
#include "engine/data/columns/word_index.h"

/* How the cells of one column become features. */
typedef enum {
  EP_ENCODE_NONE,    /* left out: text, constants, what is ignored or excluded */
  EP_ENCODE_NUMBER,  /* one feature, scaled */
  EP_ENCODE_ONE_HOT, /* one feature a word, at most EP_LIMIT_ONE_HOT, the commonest; and one for all
                        others and missing ones */
  EP_ENCODE_EMBEDDING, /* one feature: the word's row in a table that the network learns, of which
                          all such columns have a part; behind its words the part has a row for
                          all others, and with an indicator one for missing cells */
  EP_ENCODE_ORDINAL,   /* one feature: the number of the word, scaled */
  EP_ENCODE_HASH, /* `buckets` features: 1 or -1 in that of the word, as its hash says; 0 in all of
                     them where the word is not told apart, or missing (K. Weinberger et al.,
                     "Feature Hashing for Large Scale Multitask Learning", 2009) */
  EP_ENCODE_DATE  /* year, scaled; month, day, weekday and hour as cycles: a sine and a cosine */
} ep_encode;

/* What of a date becomes features, in this order. A part that is the same in the least and the
 * greatest date of the table, and so in all, is left out; the hour never is. */
enum {
  EP_DATE_YEAR = 1,
  EP_DATE_MONTH = 2,
  EP_DATE_DAY = 4,
  EP_DATE_WEEKDAY = 8,
  EP_DATE_HOUR = 16
};

/* What a form that asks for a cell says of it; the network learns nothing from it. */
typedef struct {
  double min, max; /* of the table's cells; NaN: not known */
  double typical;  /* the same; where the column has a `fill`, that is it */
  bool integer;    /* every value is one */
} ep_column_range;

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1]; /* its index in the table where that has no name for it */
  char *composed;      /* owned: the name in NFC, without white space around it; NULL: it is so */
  bool again;          /* a column before it has the same name */
  ep_column_type type; /* of the cells, */
  ep_cell_kind form;   /* and how a number or a date is written, */
  char unit[EP_UNIT_BYTES]; /* a number with a sign of currency or per cent, or "" */
  bool left_out;            /* the spec leaves it out; of a plan alone */
  ep_encode encode;
  int64_t first, features; /* of the encoded row: features first … first + features - 1 */
  bool indicator;          /* the last of them is 1 where the cell is missing, but for embeddings */
  ep_column_scale scaling; /* of numbers and ordinals */
  ep_fill missing;         /* how `fill` is found, */
  bool has_value;          /* unless it is given */
  bool required;           /* rows without the cell are left out, and refused in prediction */
  int date_parts;          /* EP_DATE_…, of a date */
  /* Of categories: words that are told apart, owned, without their `rows`. The cell of word k is k,
   * or, where the cells are numbers, value[k]. A word without training rows counts as one that is
   * not known: as another word, or, of an ordinal, as a missing one. */
  ep_words words; /* of a number or a date: those of its training cells that were taken as missing,
                     and are not the dialect's */
  double *value;  /* [words.count], owned: ascending, as is the order of the words then; or NULL */
  ep_word_compare compare;
  ep_word_index index; /* of the words */
  bool *trained;       /* [words.count], owned: it has training rows, min_count at least */
  int64_t min_count;
  int64_t buckets;       /* of a hash */
  int64_t row;           /* of an embedding: that of word 0 in the table */
  bool unknown_fails;    /* `words` are all there are: another one is refused in prediction */
  ep_column_range range; /* of numbers and dates */
  int64_t missing_rows;  /* training rows without a cell; it does not travel */
  /* Learnt from the training rows. */
  double fill;         /* in the place of a missing cell; NaN: none, it counts as another word */
  double shift, scale; /* feature = (value - shift) / scale; of dates: of the year */
  bool ranged;         /* a number, and its training cells lie from `least` to `greatest` */
  double least, greatest;
} ep_column_encoding;

/* What makes an example of the rows of a series. */
typedef struct {
  int64_t length;      /* successive rows of it; 0: rows stand alone */
  int64_t horizon;     /* of how many rows after its last one the target is predicted */
  int64_t target;      /* the raw cell that has it */
  int64_t time, group; /* and those that order the rows, and tell series apart; -1: none */
  ep_word_set *series; /* lent: numbers the words of `group` in the rows that are read; NULL:
                          neither that cell nor `time` is looked at */
} ep_encoding_window;

typedef struct {
  ep_column_encoding *column; /* [columns], owned: a raw row's */
  int64_t *by_name; /* [columns], owned: the columns in the order of their composed names, then of
                       their names, and of one name in their own */
  int64_t columns, features;
  int64_t embedded_columns, embedded_rows; /* columns that are embedded: the last features, in the
                                              order of the columns; rows of their table */
  ep_encoding_window window;
  char target[EP_LIMIT_NAME_BYTES + 1]; /* the column that is predicted, by its name or index */
  char target_unit[EP_UNIT_FORM_BYTES]; /* the form of numbers of it with their sign, or "" */
  ep_dialect dialect; /* how the table was written, but for the order of dates, which `form` of each
                         column has; nothing is set where it was no text, or is older than dialects:
                         `form` has the marks of numbers then */
  char *notes;        /* owned: lines on words that became numbers, or NULL; they do not travel */
  ep_words classes;   /* of a target that is a category: class k is word k; owned, without `rows` */
} ep_encoding;

/* Whether a table is encoded at all: it has a column that is no number, or missing cells, or units,
 * or the spec says how columns become features. Else its numbers are what a network takes. */
bool ep_encoding_needed(const ep_data_spec *data, const ep_part *table);

/* From the description alone: which columns, how, and how many features. Errors point at
 * /data/columns/…, /data/features, /data/exclude, /data/target; EP_INVALID. On failure there is
 * nothing to deinit. */
ep_status ep_encoding_plan(const ep_data_spec *data, const ep_part *table, int64_t target,
                           ep_encoding *out, ep_error *error);
/* Of a table of numbers that are what a network takes: each is itself, and none may be missing. On
 * failure there is nothing to deinit. */
ep_status ep_encoding_plain(const ep_words *names, const char *target, ep_encoding *out,
                            ep_error *error);
/* Whether it is such a table's. */
bool ep_encoding_is_plain(const ep_encoding *encoding);
/* *out: a name that two columns have which become features, a loan; NULL: each has its own. */
ep_status ep_encoding_repeated_name(const ep_encoding *encoding, const char **out, ep_error *error);
void ep_encoding_deinit(ep_encoding *encoding); /* a zeroed one is allowed */

/* What a network takes: the features of a row, or of all rows of a window: [features, length]. */
int64_t ep_encoding_inputs(const ep_encoding *encoding);

/* How many features a column has: 0 where it is left out. */
int64_t ep_column_features(const ep_column_encoding *column);
/* Gives each column its place among the features, and in the table of those that are embedded. */
void ep_encoding_place(ep_encoding *encoding);
/* Fills `by_name`, and finds the columns whose name is there `again`. EP_NO_MEMORY. */
ep_status ep_encoding_names_order(ep_encoding *encoding);
/* Finds the columns of a window's time and group by their names; "": there is none. */
void ep_encoding_order_set(ep_encoding *encoding, const char *time, const char *group);
/* The name that names of requests are compared with once they are in NFC. A loan. */
const char *ep_column_composed_name(const ep_column_encoding *column);
/* Fills the index of a column's words, and `value` where its cells are numbers. EP_NO_MEMORY;
 * EP_DATA: these words are not numbers in ascending order. */
ep_status ep_column_words_index(ep_column_encoding *column, ep_error *error);
/* Whether its cells are words. */
bool ep_column_is_category(const ep_column_encoding *column);

/* Learns the figures of one column, exactly, from its cells in the training rows. cells: [rows] in
 * any order, overwritten. Figures are those of the feature: missing cells are filled before the
 * mean is found. EP_DATA at /data/columns/…: values too large to be scaled. Columns do not depend
 * on each other. */
ep_status ep_encoding_fit(ep_encoding *encoding, int64_t column, double *cells, int64_t rows,
                          ep_error *error);

/* cells: [columns], a raw row; out: [features], written. A cell of a category that is no word of it
 * (column_value.h) is another word. */
void ep_encoding_apply(const ep_encoding *encoding, const double *cells, double *out);

#endif
