/* dataset.h: what describes a stored dataset: its parts and their columns.
 *
 * The folder of a dataset holds meta.json and one NPY file a part ("train.table.npy"; or
 * "train.x.npy", "train.y.npy", "test.x.npy", …). A table has its target among its columns; x and y
 * come apart (flat JSON, NPZ, safetensors, uploads of parts). A safetensors file whose tensors are
 * no x and y is stored as it is, as weights.safetensors, for model.init. No compute here: epochd
 * links this. */
#ifndef EP_ENGINE_DATA_DATASETS_DATASET_H
#define EP_ENGINE_DATA_DATASETS_DATASET_H

#include <stdbool.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/vocabulary.h"
#include "engine/data/arrays/dtype.h"
#include "engine/data/cells/unit.h"
#include "engine/data/dialect/dialect.h"
#include "engine/data/dialect/notes.h"
#include "engine/files/excerpt.h"
#include "engine/files/path.h"

typedef enum { EP_ROLE_TABLE, EP_ROLE_X, EP_ROLE_Y, EP_ROLE_COUNT } ep_role;

/* What the cells of a column are. Stored, each is a float64; NaN is a missing cell, in all types.
 *
 * - number: itself; a boolean column (yes/no, true/false) is a category of two words.
 * - category: the number of its word in `words`.
 * - date: seconds since 1970-01-01 UTC; of a time of day without a date, since midnight.
 * - text: an identifier, or free text: cells of too many kinds to learn from; nothing but the count
 *   is stored, and each cell is 0. */
typedef enum {
  EP_COLUMN_NUMBER,
  EP_COLUMN_CATEGORY,
  EP_COLUMN_DATE,
  EP_COLUMN_TEXT,
  EP_COLUMN_TYPES
} ep_column_type;

const char *ep_column_type_name(ep_column_type type); /* "number" */
int ep_column_type_from_name(const char *name);       /* -1 when there is none */

/* The words of a category, the commonest first, those that are as common by their bytes. */
typedef struct {
  char **word;   /* [count], each owned, UTF-8, at most EP_LIMIT_WORD_BYTES */
  int64_t *rows; /* [count]: how many cells have it; NULL, or zeros: not counted */
  int64_t count;
} ep_words;

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1]; /* "" when the source has no names */
  ep_column_type type;
  ep_cell_kind form;                  /* how the cells of a number or a date are written */
  char unit_form[EP_UNIT_FORM_BYTES]; /* how a number has it: "$0", "0 €"; "": none */
  char unit[EP_UNIT_BYTES]; /* "$", "%", …: the sign in each cell of a number; "": none */
  double min, max;          /* of the cells that are there; 0 where none is, and of text */
  bool integer;             /* every value is one */
  int64_t missing;          /* cells */
  int64_t distinct; /* values that are there; exact up to EP_LIMIT_CATEGORIES, which stands for more
                       too; 0 = not counted (a description from before) */
  ep_words words;   /* of a category; else empty */
  ep_words missing_words; /* of a number or a date: the few words of its cells that are neither, nor
                             the usual ones; these cells are missing */
  double *value; /* owned; of a number: its `distinct` values, ascending, where they are few and not
                    all whole numbers between the extremes are among them; NULL: not stored. Where
                    a job sets the type (retype.h): [words.count], what each word stands for */
  bool codes;    /* of a category: words are compared as text: 02134 is not 2134 */
  bool boolean;  /* of a category: its words are true and false, in any spelling */
  char *note;    /* owned: how its cells were read, where that may surprise; NULL: nothing */
} ep_column;

/* A cell that is not of its column's type, as less than 1 % of its cells are: it is missing. */
typedef struct {
  int64_t row, column; /* the line of the file, the column, both from 1 */
  char text[EP_EXCERPT_BYTES];
} ep_cell_fault;

typedef struct {
  int64_t rows, columns; /* 0 rows: the part is not there */
  ep_dtype dtype;
  ep_column *column;                /* [columns], owned, unless they are shared */
  struct ep_shared_columns *shared; /* a reference; NULL: not shared. Then `column` is read alone:
                                       ep_part_columns_own before a change */
  int dimensions; /* of a row as it was stored: 0 (a list of numbers) … EP_LIMIT_ROW_DIMENSIONS */
  int64_t shape[EP_LIMIT_ROW_DIMENSIONS]; /* [dimensions]; its product is `columns` */
  bool one_hot; /* two columns or more, and in every row one value is 1 and the others are 0 */
  char sha256[EP_SHA256_HEX_BYTES]; /* of the bytes as uploaded, of a part that was an upload of its
                                       own; else "" */
  int64_t bytes;                    /* how many those were; else 0 */
  char checksum[EP_CHECKSUM_HEX_BYTES]; /* of its file: the values, then the head; "": not known */
} ep_part;

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
} ep_class_name;

typedef struct {
  char folder[EP_PATH_BYTES]; /* that it was read from; "": of mapped files, or made by hand */
  char format[16]; /* "csv", "npy", "json", "ndjson", "idx", "npz", "pictures", "safetensors",
                      "parts" */
  char sha256[EP_SHA256_HEX_BYTES]; /* of the bytes as uploaded, and of the options with which they
                                       were read, if any; of parts: of their hashes; "" of mapped
                                       files */
  char file_sha256[EP_SHA256_HEX_BYTES]; /* of the bytes alone, where options say how they are read;
                                            else "" */
  int64_t bytes;                         /* as uploaded */
  int64_t tensors; /* of weights kept for model.init; else 0, as then there are no parts */
  char checksum[EP_CHECKSUM_HEX_BYTES]; /* of the file of these weights; "": not known */
  int64_t faults;                       /* cells at fault; the first of them stand in `fault` */
  ep_cell_fault fault[EP_LIMIT_PROBLEM_ERRORS];
  ep_part part[3][EP_ROLE_COUNT]; /* [ep_split of backend.h: train, validation, test][role] */
  ep_class_name
      *class_name; /* [classes], owned: what class numbers in y stand for; NULL: unknown */
  int classes;
  ep_dialect_record *dialect; /* owned: of delimited text, how it is written; NULL: no such text */
  ep_notes notes;             /* what was read otherwise than might be thought */
  int64_t left_out;           /* files of a ZIP of pictures that are none */
} ep_dataset_meta;

/* Whether both are of the same bytes, as far as is known. */
bool ep_dataset_same_file(const ep_dataset_meta *a, const ep_dataset_meta *b);
/* Whether both have the same columns and cells. */
bool ep_dataset_same_rows(const ep_dataset_meta *a, const ep_dataset_meta *b);

enum { EP_COLUMN_LABEL_BYTES = EP_EXCERPT_BYTES + 48 };

/* `column 3 ("age")`, or `column 3` without a name. Returns `out`. */
const char *ep_column_label(const ep_column *column, int64_t index,
                            char out[EP_COLUMN_LABEL_BYTES]);

/* Makes room for so many words, all NULL, of no rows. False when memory is short, and then *out is
 * empty. */
bool ep_words_init(ep_words *out, int64_t count);
/* The first `count` words of `from`, in the same way; with their rows, if it has them. */
bool ep_words_copy(const ep_words *from, int64_t count, ep_words *out);
void ep_words_deinit(ep_words *words); /* a zeroed one is allowed */
/* A copy of the values of `column`, if it has any, for `out`, which has none; false when memory is
 * short. */
bool ep_column_values_copy(const ep_column *column, ep_column *out);
/* Replaces the note of a column. */
ep_status ep_column_note_set(ep_column *column, const char *text, ep_error *error);
/* Adds to the note of a column; what would be too long for a line is left out. */
ep_status ep_column_note_add(ep_column *column, ep_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Frees columns, and their words. NULL is allowed. */
void ep_columns_destroy(ep_column *column, int64_t columns);

/* "table", "x", "y". */
const char *ep_role_name(ep_role role);

/* Makes the columns shared: copies then refer to them. False when memory is short: some are not. */
bool ep_dataset_meta_share(ep_dataset_meta *meta);
/* Bytes of the columns, with what they own. */
int64_t ep_dataset_meta_bytes(const ep_dataset_meta *meta);
/* Copies columns that are shared, for a change. */
ep_status ep_part_columns_own(ep_part *part, ep_error *error);
/* Moves the columns, and all else of the part; *from keeps its counts. */
void ep_part_take(ep_part *from, ep_part *to);

/* A copy that refers to shared columns, and has its own of all others; false when memory is short,
 * and then there is nothing to deinit. */
bool ep_dataset_meta_copy(const ep_dataset_meta *meta, ep_dataset_meta *out);
/* Frees the descriptions of columns, or gives them back; their counts stay. */
void ep_dataset_meta_drop_columns(ep_dataset_meta *meta);
void ep_dataset_meta_deinit(ep_dataset_meta *meta); /* a zeroed one is allowed */

#endif
