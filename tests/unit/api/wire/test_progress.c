/* Progress within epochs, as a worker sends it. */
#include <stdlib.h>
#include <string.h>

#include "api/wire/frame.h"
#include "tests/suite.h"

static ep_status records_send(const ep_progress_record *records, uint32_t count) {
  ep_progress sent = {.job = "job_01k", .attempt = 1, .count = count, .records = records}, back;
  size_t bytes, payload_bytes;
  uint8_t *frame = ep_progress_encode(&sent, &bytes);
  ep_frame_kind kind;
  ck_assert_ptr_nonnull(frame);
  ck_assert_int_eq(ep_frame_header(frame, &kind, &payload_bytes, NULL), EP_OK);
  ck_assert_int_eq(kind, EP_FRAME_PROGRESS);
  const uint8_t *payload = frame + EP_FRAME_HEADER_BYTES;
  ep_status status = ep_progress_decode(payload, payload_bytes, &back, NULL);
  free(frame);
  return status;
}

/* Of another machine's worker nothing is believed: its layers come together and in order, its
 * batches are within their epoch. */
START_TEST(layers_and_batches) {
  ep_progress_record batch = {.kind = EP_PROGRESS_BATCH, .epoch = 1, .batch = 3, .batches = 4};
  ck_assert_int_eq(records_send(&batch, 1), EP_OK);
  batch.batch = 4;
  ck_assert_int_eq(records_send(&batch, 1), EP_MALFORMED);
  batch = (ep_progress_record){.kind = 3, .epoch = 1};
  ck_assert_int_eq(records_send(&batch, 1), EP_MALFORMED);
  ep_progress_record layers[2];
  for (int i = 0; i < 2; i++)
    layers[i] = (ep_progress_record){
        .kind = EP_PROGRESS_LAYER,
        .epoch = 5,
        .layer = {.number = i, .count = 2, .units = 8, .dead = -1, .name = "0"}};
  ck_assert_int_eq(records_send(layers, 2), EP_OK);
  ck_assert_int_eq(records_send(layers, 1), EP_MALFORMED);
  layers[1].epoch = 6;
  ck_assert_int_eq(records_send(layers, 2), EP_MALFORMED);
  layers[1].epoch = 5, layers[1].layer.number = 0;
  ck_assert_int_eq(records_send(layers, 2), EP_MALFORMED);
  layers[1].layer.number = 1, layers[1].layer.type = EP_LAYER_COUNT;
  ck_assert_int_eq(records_send(layers, 2), EP_MALFORMED);
  layers[1].layer.type = 0, layers[1].layer.dead = 9;
  ck_assert_int_eq(records_send(layers, 2), EP_MALFORMED);
  layers[1].layer.dead = 8;
  memset(layers[1].layer.name, 'a', sizeof layers[1].layer.name);
  ck_assert_int_eq(records_send(layers, 2), EP_MALFORMED);
}
END_TEST

EP_SUITE("api/progress") {
  TCase *all = ep_suite_case(suite, "progress");
  tcase_add_test(all, layers_and_batches);
}
