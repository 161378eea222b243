#include "server/store/checksum.h"

#include <stdint.h>

#include "api/hash/checksum.h"

/* What a value takes part with: its type, its size, its bytes. */
static void value_add(ep_checksum *checksum, sqlite3_value *value) {
  struct {
    int64_t type, bytes, integer;
    double real;
  } head = {.type = sqlite3_value_type(value)};
  const void *bytes = NULL;
  if (head.type == SQLITE_INTEGER) head.integer = sqlite3_value_int64(value);
  if (head.type == SQLITE_FLOAT) head.real = sqlite3_value_double(value);
  if (head.type == SQLITE_TEXT || head.type == SQLITE_BLOB) {
    bytes = sqlite3_value_blob(value);
    head.bytes = sqlite3_value_bytes(value);
  }
  ep_checksum_update(checksum, &head, sizeof head);
  if (bytes) ep_checksum_update(checksum, bytes, (size_t)head.bytes);
}

static void row_checksum(sqlite3_context *context, int count, sqlite3_value **values) {
  ep_checksum checksum;
  char text[EP_CHECKSUM_HEX_BYTES];
  if (ep_checksum_init(&checksum, NULL) != EP_OK) {
    sqlite3_result_error_nomem(context);
    return;
  }
  for (int i = 0; i < count; i++) value_add(&checksum, values[i]);
  ep_checksum_final(&checksum, text);
  sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

int ep_store_checksum_define(sqlite3 *database) {
  return sqlite3_create_function_v2(database, "row_checksum", -1,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, row_checksum, NULL,
                                    NULL, NULL);
}

int ep_store_checksum_keep(sqlite3 *database) {
  static const char sql[] =
      "CREATE TEMP TRIGGER jobs_insert_sums AFTER INSERT ON main.jobs BEGIN " EP_JOB_SUMS_UPDATE
      " WHERE id = new.id; END;"
      "CREATE TEMP TRIGGER jobs_update_sums AFTER UPDATE OF " EP_JOB_COLUMNS
      " ON main.jobs BEGIN " EP_JOB_SUMS_UPDATE " WHERE id = new.id; END;"
      "CREATE TEMP TRIGGER datasets_insert_sum AFTER INSERT ON main.datasets "
      "BEGIN " EP_DATASET_SUM_UPDATE " WHERE name = new.name; END;"
      "CREATE TEMP TRIGGER datasets_update_sum AFTER UPDATE OF " EP_DATASET_COLUMNS
      " ON main.datasets "
      "BEGIN " EP_DATASET_SUM_UPDATE " WHERE name = new.name; END;"
      "CREATE TEMP TRIGGER models_insert_sum AFTER INSERT ON main.models BEGIN " EP_MODEL_SUM_UPDATE
      " WHERE name = new.name; END;"
      "CREATE TEMP TRIGGER models_update_sum AFTER UPDATE OF " EP_MODEL_COLUMNS
      " ON main.models BEGIN " EP_MODEL_SUM_UPDATE " WHERE name = new.name; END;";
  return sqlite3_exec(database, sql, NULL, NULL, NULL);
}
