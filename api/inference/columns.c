#include "api/inference/columns.h"

#include <math.h>
#include <string.h>

#include "api/inference/input.h"
#include "api/json/json.h"

/* The column that is being read, and where. */
typedef struct {
  ep_inference_input input;
  bool text;
  ep_tensor_type type; /* of numbers */
  ep_slice behind;     /* the bytes that no input has claimed yet */
  int columns;         /* read so far */
} column_reader;

static ep_status cell_refuse(const column_reader *reader, int64_t row, ep_error *error) {
  if (!reader->text) return ep_tensor_value_refuse(reader->input.name, reader->type, row, error);
  return ep_fail(error, EP_MALFORMED,
                 "value %lld of the input \"%.128s\" (from 0) is not of " EP_INFERENCE_TEXT
                 ": texts in UTF-8",
                 (long long)row, reader->input.name);
}

static ep_status column_check(column_reader *reader, ep_inference_request *out, ep_error *error) {
  const ep_inference_input *input = &reader->input;
  const ep_tensor_shape *shape = &input->shape;
  int type = ep_tensor_type_from_name(input->type);
  if (strlen(input->name) > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_MALFORMED, "no column has a name as long as \"%.32s\"", input->name);
  reader->text = strcmp(input->type, EP_INFERENCE_TEXT) == 0;
  if (!reader->text && type < 0)
    return ep_fail(error, EP_MALFORMED,
                   "the datatype \"%s\" of the input \"%.128s\" is not supported: " EP_TENSOR_TAKEN
                   " are",
                   input->type, input->name);
  if (!reader->text) reader->type = (ep_tensor_type)type;
  if (shape->dimensions < 1 || shape->dimensions > 2 || shape->shape[0] != shape->count)
    return ep_fail(error, EP_MALFORMED, "\"shape\" of the column \"%.128s\" must be [rows]",
                   input->name);
  if (out->named && shape->count != out->rows)
    return ep_fail(error, EP_MALFORMED, "the column \"%.128s\" has %lld rows, those before %lld",
                   input->name, (long long)shape->count, (long long)out->rows);
  if (shape->count > EP_LIMIT_PREDICT_ROWS ||
      shape->count * ++reader->columns > EP_LIMIT_PREDICT_BYTES / (int64_t)sizeof(double))
    return ep_fail(error, EP_TOO_LARGE, "at most %d rows and %d cells at once",
                   EP_LIMIT_PREDICT_ROWS, EP_LIMIT_PREDICT_BYTES / (int)sizeof(double));
  return EP_OK;
}

/* Puts the cell, which it takes, into its row. */
static ep_status cell_put(const column_reader *reader, ep_inference_request *out, int64_t row,
                          json_t *cell, ep_error *error) {
  json_t *object = json_array_get(out->named, (size_t)row);
  if (json_object_get(object, reader->input.name)) {
    json_decref(cell);
    return ep_fail(error, EP_MALFORMED, "\"inputs\" have \"%.128s\" twice", reader->input.name);
  }
  return json_object_set_new(object, reader->input.name, cell) == 0 ? EP_OK : ep_fail_memory(error);
}

static ep_status number_put(const column_reader *reader, ep_inference_request *out, int64_t row,
                            double number, ep_error *error) {
  json_t *cell = NULL;
  const ep_tensor_kind kind = ep_tensor_type_kind(reader->type);
  if (isnan(number))
    cell = json_null();
  else if (!ep_tensor_value_take(reader->type, &number))
    return cell_refuse(reader, row, error);
  else if (kind == EP_TENSOR_BOOLEAN)
    cell = json_boolean(number != 0);
  else
    cell = kind == EP_TENSOR_FLOAT ? json_real(number) : json_integer((json_int_t)number);
  return cell ? cell_put(reader, out, row, cell, error) : ep_fail_memory(error);
}

static ep_status data_read(const column_reader *reader, ep_inference_request *out,
                           ep_error *error) {
  json_t *list = NULL;
  ep_error inner = {0};
  ep_slice data = reader->input.data;
  ep_status status = ep_json_load(data.at, data.bytes, EP_LIMIT_NAMED_ROWS_BYTES, &list, &inner);
  if (status != EP_OK)
    return ep_fail(error, status == EP_INVALID ? EP_MALFORMED : status, "\"data\": %.400s",
                   inner.message);
  if (!json_is_array(list) || (int64_t)json_array_size(list) != out->rows)
    status = ep_fail(error, EP_MALFORMED,
                     "\"data\" of the column \"%.128s\" must be a list of %lld cells",
                     reader->input.name, (long long)out->rows);
  for (int64_t i = 0; i < out->rows && status == EP_OK; i++) {
    json_t *cell = json_array_get(list, (size_t)i);
    if (reader->input.shape.dimensions == 2 && json_array_size(cell) == 1)
      cell = json_array_get(cell, 0);
    if (json_is_null(cell) || (reader->text && json_is_string(cell)))
      status = cell_put(reader, out, i, json_incref(cell), error);
    else if (!reader->text && json_is_number(cell))
      status = number_put(reader, out, i, json_number_value(cell), error);
    else if (!reader->text && reader->type == EP_TENSOR_BOOL && json_is_boolean(cell))
      status = number_put(reader, out, i, json_is_true(cell), error);
    else
      status = cell_refuse(reader, i, error);
  }
  json_decref(list);
  return status;
}

/* One text behind its length, a little-endian uint32. */
static ep_status text_take(const column_reader *reader, ep_slice *bytes, int64_t row, json_t **out,
                           ep_error *error) {
  const unsigned char *at = (const unsigned char *)bytes->at;
  uint32_t length = 0;
  for (int i = 0; bytes->bytes >= 4 && i < 4; i++) length |= (uint32_t)at[i] << 8 * i;
  if (bytes->bytes < 4 || length > bytes->bytes - 4 || memchr(at + 4, 0, length))
    return cell_refuse(reader, row, error);
  *out = json_stringn(bytes->at + 4, length);
  bytes->at += 4 + (size_t)length;
  bytes->bytes -= 4 + (size_t)length;
  return *out ? EP_OK : cell_refuse(reader, row, error); /* it is no UTF-8 */
}

static ep_status bytes_read(column_reader *reader, ep_inference_request *out, ep_error *error) {
  size_t element = reader->text ? 0 : ep_tensor_element_bytes(reader->type);
  uint64_t said = (uint64_t)reader->input.bytes;
  if (said > reader->behind.bytes || (!reader->text && said != (uint64_t)out->rows * element))
    return ep_fail(error, EP_MALFORMED,
                   "\"binary_data_size\" of the column \"%.128s\" is %llu, and it has %lld values "
                   "in the %zu bytes that follow",
                   reader->input.name, (unsigned long long)said, (long long)out->rows,
                   reader->behind.bytes);
  ep_slice bytes = {reader->behind.at, (size_t)said};
  ep_status status = EP_OK;
  for (int64_t i = 0; i < out->rows && status == EP_OK; i++) {
    json_t *cell = NULL;
    if (!reader->text) {
      status = number_put(reader, out, i, ep_tensor_element(reader->type, bytes.at), error);
      bytes.at += element;
      continue;
    }
    status = text_take(reader, &bytes, i, &cell, error);
    if (status == EP_OK) status = cell_put(reader, out, i, cell, error);
  }
  if (status == EP_OK && reader->text && bytes.bytes > 0)
    status =
        ep_fail(error, EP_MALFORMED, "%zu bytes of the column \"%.128s\" are not a valid value",
                bytes.bytes, reader->input.name);
  reader->behind.at += said;
  reader->behind.bytes -= said;
  return status;
}

static ep_status rows_make(const column_reader *reader, ep_inference_request *out,
                           ep_error *error) {
  if (out->named) return EP_OK;
  out->rows = reader->input.shape.count;
  out->named = json_array();
  for (int64_t i = 0; out->named && i < out->rows; i++)
    if (json_array_append_new(out->named, json_object()) != 0) return ep_fail_memory(error);
  return out->named ? EP_OK : ep_fail_memory(error);
}

static ep_status column_read(column_reader *reader, ep_slice text, ep_inference_request *out,
                             ep_error *error) {
  ep_status status = ep_inference_input_read(text, &reader->input, error);
  if (status == EP_OK) status = column_check(reader, out, error);
  if (status == EP_OK) status = rows_make(reader, out, error);
  if (status != EP_OK) return status;
  return reader->input.bytes < 0 ? data_read(reader, out, error) : bytes_read(reader, out, error);
}

ep_status ep_inference_columns_read(ep_slice inputs, ep_slice behind, ep_inference_request *out,
                                    ep_error *error) {
  ep_scanner scanner = {inputs.at, inputs.at + inputs.bytes};
  column_reader reader = {.behind = behind};
  ep_status status = EP_OK;
  ep_scan_token(&scanner, '[');
  do {
    ep_slice input;
    status = ep_slice_take(&scanner, "\"inputs\"", &input, error);
    if (status == EP_OK) status = column_read(&reader, input, out, error);
  } while (status == EP_OK && ep_scan_token(&scanner, ','));
  if (status == EP_OK && reader.behind.bytes > 0)
    return ep_fail(error, EP_MALFORMED,
                   "trailing data after the JSON, size %zu, belongs to no input",
                   reader.behind.bytes);
  return status;
}
