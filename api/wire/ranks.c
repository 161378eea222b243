#include "api/wire/ranks.h"

#include <jansson.h>

#include "api/json/json.h"

static void rank_write(ep_writer *writer, int number, const ep_rank_result *rank,
                       const char *device) {
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "rank", number);
  ep_writer_member_integer(writer, "data", rank->data);
  ep_writer_member_integer(writer, "model", rank->model);
  ep_writer_member_string(writer, "device", device);
  ep_writer_member_integer(writer, "node", rank->node);
  ep_writer_member_integer(writer, "bytes", rank->bytes);
  ep_writer_member_number(writer, "compute_microseconds", rank->compute_microseconds);
  ep_writer_member_number(writer, "communication_microseconds", rank->communication_microseconds);
  ep_writer_member_number(writer, "idle_share", rank->idle_share);
  ep_writer_close(writer, '}');
}

void ep_ranks_write(ep_writer *writer, const ep_rank_results *ranks, const char *device) {
  if (ranks->count == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '[');
  for (int i = 0; i < ranks->count; i++) rank_write(writer, i, &ranks->rank[i], device);
  ep_writer_close(writer, ']');
}

static bool rank_read(const json_t *object, ep_rank_result *out) {
  int64_t data, model, node = 0;
  if (!ep_json_get_integer(object, "data", 0, EP_LIMIT_RANKS - 1, &data) ||
      !ep_json_get_integer(object, "model", 0, EP_LIMIT_RANKS - 1, &model))
    return false;
  if (json_object_get(object, "node") && /* ranks of before there were nodes have none */
      !ep_json_get_integer(object, "node", 0, EP_LIMIT_RANKS - 1, &node))
    return false;
  out->node = (int)node;
  out->data = (int)data;
  out->model = (int)model;
  return ep_json_get_integer(object, "bytes", 0, INT64_MAX, &out->bytes) &&
         ep_json_get_number(object, "compute_microseconds", &out->compute_microseconds) &&
         ep_json_get_number(object, "communication_microseconds",
                            &out->communication_microseconds) &&
         ep_json_get_number(object, "idle_share", &out->idle_share);
}

bool ep_ranks_read(const json_t *array, ep_rank_results *out) {
  size_t count = json_array_size(array);
  out->count = 0;
  if (!array || json_is_null(array)) return true;
  if (!json_is_array(array) || count > EP_LIMIT_RANKS) return false;
  for (size_t i = 0; i < count; i++)
    if (!rank_read(json_array_get(array, i), &out->rank[i])) return false;
  out->count = (int)count;
  return true;
}
