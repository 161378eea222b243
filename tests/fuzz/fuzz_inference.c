/* Any bytes as an inference request, of three models: refused with a reason, or whole rows of
 * finite numbers, which are then answered in every way. The first line is the header that says
 * where the JSON ends ("": there is none); its first letter chooses the model. */
#include <math.h>
#include <string.h>

#include "api/inference/inference.h"
#include "tests/fuzz/fuzz.h"

static const ep_model models[] = {
    {.name = "v", .job = "j", .row = {2}, .row_dimensions = 1, .outputs = 1},
    {.name = "b",
     .job = "j",
     .row = {2},
     .row_dimensions = 1,
     .outputs = 1,
     .decision = EP_DECISION_POSITIVE},
    {.name = "i",
     .job = "j",
     .row = {1, 2, 2},
     .row_dimensions = 3,
     .outputs = 2,
     .decision = EP_DECISION_GREATEST},
};

static void answer(const ep_model *model, const ep_inference_request *request) {
  ep_inference_response whole = {0};
  FUZZ_HOLDS(request->rows > 0 && request->rows <= EP_LIMIT_PREDICT_ROWS);
  FUZZ_HOLDS(request->columns == ep_model_columns(model));
  FUZZ_HOLDS(request->rows * request->columns <= EP_LIMIT_PREDICT_BYTES / 8);
  for (int64_t i = 0; i < request->rows * request->columns; i++)
    FUZZ_HOLDS(isfinite(request->x[i]));
  FUZZ_HOLDS(request->wanted[0] || request->wanted[1]);
  FUZZ_HOLDS(!request->wanted[EP_INFERENCE_CLASS] || model->decision != EP_DECISION_NONE);
  /* x has as many numbers as the predictions of each model, or more */
  FUZZ_HOLDS(ep_inference_response_format(model, NULL, request, request->x, &whole, NULL) == EP_OK);
  FUZZ_HOLDS(whole.json_bytes <= whole.body_bytes && whole.body[0] == '{');
  FUZZ_HOLDS(whole.body[whole.json_bytes - 1] == '}');
  size_t behind = whole.body_bytes - whole.json_bytes, rows = (size_t)request->rows;
  size_t wanted = 0;
  if (request->wanted[0] && request->binary[0]) wanted += rows * (size_t)model->outputs * 4;
  if (request->wanted[1] && request->binary[1]) wanted += rows * 8;
  FUZZ_HOLDS(behind == wanted && whole.binary == (wanted > 0));
  free(whole.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const uint8_t *line = count > 0 ? memchr(bytes, '\n', count) : NULL;
  char header[64] = "";
  ep_inference_request request;
  ep_error error = {0};
  if (!line || line == bytes || (size_t)(line - bytes) >= sizeof header) return 0;
  const ep_model *model = &models[bytes[0] % 3];
  memcpy(header, bytes + 1, (size_t)(line - bytes) - 1);
  const char *body = (const char *)line + 1;
  size_t body_bytes = count - (size_t)(line - bytes) - 1, json_bytes = body_bytes;
  if (header[0] && ep_inference_length_parse(header, body_bytes, &json_bytes, &error)) {
    FUZZ_HOLDS(error.status == EP_MALFORMED && error.message[0]);
    return 0;
  }
  FUZZ_HOLDS(json_bytes <= body_bytes);
  ep_status status =
      ep_inference_parse(model, NULL, body, body_bytes, json_bytes, &request, &error);
  FUZZ_HOLDS(status == error.status && (status == EP_OK) == (error.message[0] == 0));
  FUZZ_HOLDS(status == EP_OK || status == EP_MALFORMED || status == EP_TOO_LARGE);
  FUZZ_HOLDS(status != EP_OK || !request.x != !request.named);
  if (status == EP_OK && request.x) answer(model, &request);
  ep_inference_request_deinit(&request);
  return 0;
}
