/* fields.h: structs described by tables: one row a field. The parser, the writer and the
 * documentation walk the same rows, so that a new field is a new row. */
#ifndef EP_API_JSON_FIELDS_H
#define EP_API_JSON_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/json/problem.h"
#include "api/json/warnings.h"
#include "api/json/writer.h"

typedef struct ep_field ep_field;
typedef struct ep_field_table ep_field_table;

/* Where the reader stands, and what it found wrong. */
typedef struct {
  ep_problem *problem;
  ep_status status;               /* EP_OK until the first error */
  char pointer[EP_POINTER_BYTES]; /* of the value being read */
  size_t length;
  int depth, items;      /* of nested lists: for the readers that limit them */
  ep_warnings *warnings; /* where they are listed; NULL: nowhere */
  bool stored; /* by this version or an earlier one, which took what requests may not have */
} ep_field_reader;

typedef enum {
  EP_FIELD_INT,     /* int */
  EP_FIELD_INT64,   /* int64_t */
  EP_FIELD_UINT64,  /* uint64_t, up to 2^53 */
  EP_FIELD_DOUBLE,  /* double, finite */
  EP_FIELD_BOOL,    /* bool: true or false and nothing else */
  EP_FIELD_STRING,  /* char[capacity]: no control characters */
  EP_FIELD_WORD,    /* an enum of vocabulary.h */
  EP_FIELD_PAIR,    /* two of the kind `element`, side by side: [height, width] */
  EP_FIELD_OBJECT,  /* a nested object with a table of its own */
  EP_FIELD_VARIANT, /* an object whose "type" chooses its table */
  EP_FIELD_CUSTOM   /* read and written by functions of its own */
} ep_field_kind;

typedef struct {
  const char *noun; /* "loss": for messages */
  int count;
  const char *(*name)(int value);
  int (*from_name)(const char *name);
  const char *later; /* words of a later release, "tf32 bf16"; NULL = none */
} ep_field_words;

/* For the documentation: what a word means, and its formula (NULL = none). */
typedef struct {
  const char *doc, *formula;
} ep_field_about;

/* What "type" can be: words[i] takes the fields of tables[i], or none where that is NULL. */
typedef struct {
  const ep_field_words *words;
  size_t type_offset; /* of the int that the type goes to */
  bool word_alone;    /* "mse" may stand for {"type": "mse"} */
  const ep_field_table *const *tables;
  int fallback;                 /* the type of an object that names none; -1: it must */
  const ep_field_about *about;  /* [words->count] */
  const ep_field_table *common; /* of a variant without a table; NULL: it has no fields */
} ep_field_variants;

/* The fields of a variant; NULL: it has none. */
const ep_field_table *ep_field_variant_table(const ep_field_variants *variants, int type);

struct ep_field {
  const char *key;
  ep_field_kind kind;
  size_t offset; /* of the value, or of the nested struct */
  bool required;
  bool nullable;  /* null stands for "not given", and is written for 0 or "" */
  bool automatic; /* a request may leave it to epochd, which fills it in before it is read */
  /* Numbers: the range, both ends included unless `open_*`; `fallback` when absent. */
  double min, max, fallback;
  bool open_min, open_max;
  const char *zero_word; /* a word that stands for 0: "full" */
  /* Pairs: `fallback` is the first one's, `second` the other's; null stands for two zeros. */
  ep_field_kind element; /* EP_FIELD_INT, EP_FIELD_INT64 or EP_FIELD_DOUBLE */
  double second;
  bool alone; /* one number may stand for both */
  /* Strings. */
  size_t capacity;
  const char *text_fallback;         /* of a custom field: its default, for the documentation */
  bool (*accepts)(const char *text); /* NULL = any */
  bool stored_any;                   /* it came later: what was stored is not asked */
  const char *form;                  /* what `accepts` or `read` wants, in words */
  const ep_field_words *words;
  const ep_field_table *table;
  /* Objects that may be null: whether there is one. Absent: all of it stays zero. */
  bool (*given)(const void *object);
  const ep_field_variants *variants;
  /* value is NULL when the field is absent; `base` is the struct itself. */
  void (*read)(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base);
  void (*write)(ep_writer *writer, const ep_field *field, const void *base);
  /* For documentation and clients. */
  const char *doc;     /* one line */
  const char *schema;  /* EP_JSON: what JSON Schema says of it beyond `kind` and the range */
  const char *example; /* EP_JSON: a usual value of a required field */
  bool (*is_given)(const void *base); /* not written where this is false; NULL: always written */
  bool rare;                          /* seldom given: a form leaves it out */
};

struct ep_field_table {
  const ep_field *fields; /* [count] */
  int count;
  const ep_field_table *base; /* further fields, NULL = none */
};

/* JSON as a text, written without escapes; macros within become their numbers. Not for true and
 * false, which stdbool.h defines. */
#define EP_JSON(...) EP_JSON_TEXT(__VA_ARGS__)
#define EP_JSON_TEXT(...) #__VA_ARGS__

#define EP_FIELD_TABLE(rows, base_table) \
  { rows, sizeof rows / sizeof rows[0], base_table }

/* Reads an object into `base`: known keys by their rows, defaults for absent ones, an error for
 * each unknown key. object NULL: all defaults. `skip` names one more key that is allowed (the
 * "type" of a variant), or is NULL. */
void ep_fields_read(ep_field_reader *reader, const ep_field_table *table, const char *skip,
                    const json_t *object, void *base);
/* Writes the keys and values of the table, its own rows first, without brackets. */
void ep_fields_write(ep_writer *writer, const ep_field_table *table, const void *base);

void ep_field_variant_read(ep_field_reader *reader, const ep_field_variants *variants,
                           const json_t *value, void *base);
void ep_field_variant_write(ep_writer *writer, const ep_field_variants *variants, const void *base);

/* A number in the range of `field`, stored at `at` as its kind says; false after adding an error.
 */
bool ep_field_number_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                          void *at);

/* One word of a vocabulary: its value, or -1 after adding an error. */
int ep_field_word_read(ep_field_reader *reader, const ep_field_words *words, const json_t *value);

/* Goes one step down: returns the length to come back to with ep_field_reader_leave. */
size_t ep_field_reader_enter(ep_field_reader *reader, const char *key);
size_t ep_field_reader_enter_index(ep_field_reader *reader, size_t index);
void ep_field_reader_leave(ep_field_reader *reader, size_t length);

/* Adds an error at the reader's place. */
void ep_field_reader_fail(ep_field_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a warning there, if they are listed. */
void ep_field_reader_warn(ep_field_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ep_field_reader_fail_memory(ep_field_reader *reader);

#endif
