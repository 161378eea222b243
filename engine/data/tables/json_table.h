/* json_table.h: tables that are JSON, in the layouts that programs write: records, rows of cells,
 * columns of cells. They are read where they lie; no tree is built. */
#ifndef EP_ENGINE_DATA_TABLES_JSON_TABLE_H
#define EP_ENGINE_DATA_TABLES_JSON_TABLE_H

#include "engine/data/cells/word_set.h"
#include "engine/data/tables/json_value.h"
#include "engine/data/tables/table_rows.h"

typedef enum {
  EP_JSON_RECORDS, /* {"a":1,"b":"x"}, {"b":"y","a":2}]: what a record leaves out is missing */
  EP_JSON_LINES,   /* records that follow each other to the end of the text */
  EP_JSON_MEMBERS, /* records that are members of an object: "x":{"a":1}, "y":{"a":2}} */
  EP_JSON_ROWS,    /* [1,"x"], [2,"y"]] */
  EP_JSON_COLUMNS  /* {"a":[1,2],"b":["x","y"]}, or with objects {"0":1,"1":2} */
} ep_json_layout;

typedef struct {
  ep_table_rows rows; /* first */
  ep_json_layout layout;
  ep_json_text text;  /* at the first row, behind the '[' or '{'; of columns, at the '{' */
  ep_column *column;  /* [rows.columns], owned: names */
  ep_word_set names;  /* of records: their columns, owned */
  int64_t *seen;      /* [rows.columns], owned: the last record that had a column */
  int64_t *nested;    /* [rows.columns], owned: the first row whose cell is an array or an object */
  ep_scanner *cursor; /* [rows.columns], owned: of columns: what is left of each */
  bool objects;       /* columns are objects */
  const char *key;    /* then: that of the row, as the first column has it; NULL: it has escapes */
  size_t key_bytes;
  int64_t row;        /* that is being read, from 1 */
  ep_json_cell *cell; /* owned: working memory */
} ep_json_table;

/* Finds the columns: all keys of all records in the order in which they appear; so many cells as
 * the first row has; the keys of the object of columns. names: of rows, at a '[' of strings or
 * numbers that name them; NULL: they have none. All of the table is checked to be JSON; *behind
 * is what follows it. ep_json_table_close, also after a failure. */
ep_status ep_json_table_open(ep_json_layout layout, ep_json_text text, const ep_json_text *names,
                             ep_json_table *out, ep_scanner *behind, ep_error *error);
void ep_json_table_close(ep_json_table *table);

#endif
