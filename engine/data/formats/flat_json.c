/* flat_json.c: {"m": rows, "n": columns, "x": [row-major, flat], "y": […], "m_test": …, "x_test":
 * …, "y_test": …}, keys in any order, read by a scanner that never builds a tree.
 *
 * Two walks: the first finds where each array starts and reads the three counts, the second reads
 * the arrays, now that their shapes are known. */
#include "engine/data/formats/flat_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/number_scan.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/files/excerpt.h"

typedef enum { KEY_M, KEY_N, KEY_X, KEY_Y, KEY_M_TEST, KEY_X_TEST, KEY_Y_TEST, KEY_COUNT } key;
static const char *const key_names[KEY_COUNT] = {"m", "n", "x", "y", "m_test", "x_test", "y_test"};

typedef struct {
  ep_json_text text;
  bool seen[KEY_COUNT];
  int64_t count[KEY_COUNT];     /* m, n, m_test */
  const char *array[KEY_COUNT]; /* x, y, x_test, y_test: behind the '[' */
} scanner;

static bool is_count(key k) {
  return k == KEY_M || k == KEY_N || k == KEY_M_TEST;
}

static ep_status unexpected(const scanner *scan, const char *wanted, ep_error *error) {
  return ep_json_unexpected(&scan->text, wanted, error);
}

static ep_status key_read(scanner *scan, key *out, ep_error *error) {
  char name[EP_EXCERPT_BYTES], shown[EP_EXCERPT_BYTES];
  if (ep_scan_peek(&scan->text.left) != '"') return unexpected(scan, "a key in quotes", error);
  if (!ep_scan_string(&scan->text.left, name, sizeof name))
    return ep_fail(error, EP_INVALID, "JSON: a key's quote is never closed");
  ep_excerpt(shown, name, strlen(name));
  int found = -1;
  for (int i = 0; i < KEY_COUNT; i++)
    if (strcmp(key_names[i], name) == 0) found = i;
  if (found < 0)
    return ep_fail(error, EP_INVALID,
                   "JSON: unknown key \"%s\"; the keys are m, n, x, y, m_test, x_test, y_test",
                   shown);
  if (scan->seen[found]) return ep_fail(error, EP_INVALID, "JSON: duplicate key \"%s\"", shown);
  if (!ep_scan_token(&scan->text.left, ':')) return unexpected(scan, "a colon", error);
  ep_scan_peek(&scan->text.left);
  scan->seen[found] = true;
  *out = (key)found;
  return EP_OK;
}

static ep_status count_read(scanner *scan, key k, ep_error *error) {
  double value;
  const char *end = ep_number_scan(scan->text.left.at, scan->text.left.end, EP_NUMBER_JSON, &value);
  int64_t limit = k == KEY_N ? EP_LIMIT_COLUMNS : EP_LIMIT_ROWS;
  if (!end) return unexpected(scan, "a whole number", error);
  if (!(value >= 1) || value != floor(value))
    return ep_fail(error, EP_INVALID, "JSON: %s must be a whole number of at least 1",
                   key_names[k]);
  if (value > (double)limit)
    return ep_fail(error, EP_TOO_LARGE, "JSON: %s is over the limit of %lld", key_names[k],
                   (long long)limit);
  scan->count[k] = (int64_t)value;
  scan->text.left.at = end;
  return EP_OK;
}

/* The first walk's way over an array: what stands in it is the second walk's to check. */
static ep_status array_skip(scanner *scan, key k, ep_error *error) {
  if (!ep_scan_token(&scan->text.left, '[')) return unexpected(scan, "an array", error);
  scan->array[k] = scan->text.left.at;
  if (ep_scan_token(&scan->text.left, '['))
    return ep_fail(error, EP_INVALID, "JSON: %s must be flat: all numbers in one array, row by row",
                   key_names[k]);
  const char *close =
      memchr(scan->text.left.at, ']', (size_t)(scan->text.left.end - scan->text.left.at));
  if (!close) return ep_fail(error, EP_INVALID, "JSON: the array %s is never closed", key_names[k]);
  scan->text.left.at = close + 1;
  return EP_OK;
}

static ep_status outline_read(scanner *scan, ep_error *error) {
  if (!ep_scan_token(&scan->text.left, '{')) return unexpected(scan, "an object", error);
  do {
    key k = KEY_M;
    ep_status status = key_read(scan, &k, error);
    if (status == EP_OK)
      status = is_count(k) ? count_read(scan, k, error) : array_skip(scan, k, error);
    if (status != EP_OK) return status;
  } while (ep_scan_token(&scan->text.left, ','));
  if (!ep_scan_token(&scan->text.left, '}'))
    return unexpected(scan, "a comma or the closing brace", error);
  ep_scan_peek(&scan->text.left);
  return scan->text.left.at == scan->text.left.end ? EP_OK
                                                   : unexpected(scan, "the end of the file", error);
}

static ep_status keys_check(const scanner *scan, ep_error *error) {
  bool test = scan->seen[KEY_M_TEST] || scan->seen[KEY_X_TEST] || scan->seen[KEY_Y_TEST];
  for (int i = 0; i < KEY_COUNT; i++)
    if (!scan->seen[i] && (i < KEY_M_TEST || (test && i != KEY_Y_TEST)))
      return ep_fail(error, EP_INVALID, "JSON: the key \"%s\" is missing", key_names[i]);
  return EP_OK;
}

static ep_status value_read(scanner *scan, key k, int64_t index, int64_t columns, double *value,
                            ep_error *error) {
  char wanted[96];
  const char *end = ep_number_scan(scan->text.left.at, scan->text.left.end, EP_NUMBER_JSON, value);
  if (end && isfinite(*value)) {
    scan->text.left.at = end;
    return EP_OK;
  }
  snprintf(wanted, sizeof wanted, "%s of %s, row %lld, column %lld",
           end ? "a number within the range of a double" : "a number", key_names[k],
           (long long)(index / columns) + 1, (long long)(index % columns) + 1);
  return unexpected(scan, wanted, error);
}

static ep_status count_refuse(key k, int64_t values, const char *at_least, int64_t rows,
                              int64_t columns, ep_error *error) {
  const char *m = k == KEY_X || k == KEY_Y ? "m" : "m_test";
  if (k == KEY_X || k == KEY_X_TEST)
    return ep_fail(error, EP_INVALID, "JSON: %s has %s%lld values, %s × n = %lld", key_names[k],
                   at_least, (long long)values, m, (long long)(rows * columns));
  return ep_fail(error, EP_INVALID, "JSON: %s has %s%lld values, %s = %lld", key_names[k], at_least,
                 (long long)values, m, (long long)rows);
}

/* Values one after the other into rows of the part; exactly rows * columns of them. */
static ep_status values_read(scanner *scan, key k, int64_t rows, ep_part_writer *writer,
                             ep_error *error) {
  int64_t columns = writer->columns, values = rows * columns, index = 0;
  ep_status status = EP_OK;
  scan->text.left.at = scan->array[k];
  if (ep_scan_token(&scan->text.left, ']')) return count_refuse(k, 0, "", rows, columns, error);
  do {
    ep_scan_peek(&scan->text.left);
    double value;
    status = value_read(scan, k, index, columns, &value, error);
    if (status == EP_OK && index == values)
      return count_refuse(k, values, "more than ", rows, columns, error);
    if (status != EP_OK) return status;
    ((double *)ep_part_writer_next(writer))[index++ % columns] = value;
    if (index % columns == 0) status = ep_part_writer_commit(writer, error);
  } while (status == EP_OK && ep_scan_token(&scan->text.left, ','));
  if (status != EP_OK) return status;
  if (!ep_scan_token(&scan->text.left, ']'))
    return unexpected(scan, "a comma or a closing bracket", error);
  return index == values ? EP_OK : count_refuse(k, index, "", rows, columns, error);
}

static ep_status part_read(ep_ingest *ingest, scanner *scan, key k, ep_split split, ep_role role,
                           ep_error *error) {
  ep_part_writer writer = {0};
  int64_t rows = scan->count[split == EP_SPLIT_TEST ? KEY_M_TEST : KEY_M];
  int64_t columns = role == EP_ROLE_X ? scan->count[KEY_N] : 1;
  ep_status status = ep_part_writer_open(&writer, ingest->folder, split, role, EP_DTYPE_F64,
                                         columns, NULL, &ingest->budget_bytes, error);
  if (status == EP_OK) status = values_read(scan, k, rows, &writer, error);
  if (status == EP_OK)
    status = ep_part_writer_finish(&writer, &ingest->meta->part[split][role], error);
  ep_part_writer_abandon(&writer);
  return status;
}

/* Test rows without targets are there to be predicted. */
static bool is_labelled(scanner *scan) {
  scan->text.left.at = scan->array[KEY_Y_TEST];
  return scan->seen[KEY_Y_TEST] && !ep_scan_token(&scan->text.left, ']');
}

bool ep_flat_json_has_key(const char *name, size_t bytes) {
  for (int i = 0; i < KEY_COUNT; i++)
    if (strlen(key_names[i]) == bytes && memcmp(key_names[i], name, bytes) == 0) return true;
  return false;
}

ep_status ep_flat_json_read(ep_ingest *ingest, ep_json_text text, ep_error *error) {
  scanner scan = {.text = text};
  ep_status status = outline_read(&scan, error);
  if (status == EP_OK) status = keys_check(&scan, error);
  if (status == EP_OK) status = part_read(ingest, &scan, KEY_X, EP_SPLIT_TRAIN, EP_ROLE_X, error);
  if (status == EP_OK) status = part_read(ingest, &scan, KEY_Y, EP_SPLIT_TRAIN, EP_ROLE_Y, error);
  if (status != EP_OK || !scan.seen[KEY_M_TEST]) return status;
  status = part_read(ingest, &scan, KEY_X_TEST, EP_SPLIT_TEST, EP_ROLE_X, error);
  if (status == EP_OK && is_labelled(&scan))
    status = part_read(ingest, &scan, KEY_Y_TEST, EP_SPLIT_TEST, EP_ROLE_Y, error);
  return status;
}
