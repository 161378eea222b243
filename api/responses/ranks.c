#include "api/responses/ranks.h"

static void stage_write(ep_writer *writer, const ep_stage_view *stage) {
  ep_writer_open(writer, '{');
  ep_writer_member_open(writer, "layers", '[');
  ep_writer_integer(writer, stage->first_layer);
  ep_writer_integer(writer, stage->last_layer);
  ep_writer_close(writer, ']');
  ep_writer_member_integer(writer, "parameters", stage->parameters);
  ep_writer_member_number(writer, "cost_share", stage->cost_share);
  ep_writer_close(writer, '}');
}

void ep_parallel_view_write(ep_writer *writer, const ep_parallel_view *parallel) {
  if (!parallel) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "data", parallel->data);
  ep_writer_member_integer(writer, "model", parallel->model);
  ep_writer_member_integer(writer, "micro_batches", parallel->micro_batches);
  ep_writer_member_open(writer, "stages", '[');
  for (int i = 0; i < parallel->model; i++) stage_write(writer, &parallel->stage[i]);
  ep_writer_close(writer, ']');
  ep_writer_member_number(writer, "bubble", parallel->bubble);
  ep_writer_member_string(writer, "note", parallel->note);
  ep_writer_close(writer, '}');
}
