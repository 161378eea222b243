#include "api/responses/validation.h"

#include "api/json/writer.h"
#include "api/responses/job_parts.h"

enum { VALIDATION_TEXT_LIMIT = 64 << 20 }; /* holds a spec: 16 MiB at most */

static void name_write(ep_writer *writer, const char *key, const char *name) {
  ep_writer_member_string(writer, key, name[0] ? name : NULL);
}

static void allocation_write(ep_writer *writer, const ep_allocation_view *slurm) {
  ep_writer_key(writer, "slurm");
  if (!slurm) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "partition", slurm->partition);
  ep_writer_member_integer(writer, "nodes", slurm->nodes);
  ep_writer_member_integer(writer, "memory_bytes", slurm->memory_bytes);
  ep_writer_member_integer(writer, "cores", slurm->cores);
  ep_writer_member_integer(writer, "gpus", slurm->gpus);
  ep_writer_member_integer(writer, "minutes", slurm->minutes);
  name_write(writer, "gres", slurm->gres);
  name_write(writer, "account", slurm->account);
  name_write(writer, "qos", slurm->qos);
  name_write(writer, "constraint", slurm->constraint);
  ep_writer_close(writer, '}');
}

static void pod_write(ep_writer *writer, const ep_allocation_view *pod) {
  ep_writer_key(writer, "kubernetes");
  if (!pod) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "namespace", pod->partition);
  ep_writer_member_integer(writer, "memory_bytes", pod->memory_bytes);
  ep_writer_member_integer(writer, "cores", pod->cores);
  ep_writer_close(writer, '}');
}

static void shape_write(ep_writer *writer, const char *key, const ep_shape_view *shape) {
  ep_writer_member_open(writer, key, '[');
  for (int i = 0; i < shape->sides; i++) ep_writer_integer(writer, shape->side[i]);
  ep_writer_close(writer, ']');
}

void ep_layer_views_write(ep_writer *writer, const ep_layer_view *layers, int count) {
  ep_writer_member_open(writer, "layers", '[');
  for (int i = 0; i < count; i++) {
    const ep_layer_view *layer = &layers[i];
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "name", layer->name);
    ep_writer_member_string(writer, "type", layer->type);
    ep_writer_member_open(writer, "input", '[');
    for (int k = 0; k < layer->inputs; k++) ep_writer_string(writer, layer->input[k]);
    ep_writer_close(writer, ']');
    shape_write(writer, "in_shape", &layer->in);
    shape_write(writer, "out_shape", &layer->out);
    ep_writer_member_integer(writer, "in_features", layer->in_features);
    ep_writer_member_integer(writer, "out_features", layer->out_features);
    ep_writer_member_integer(writer, "parameters", layer->parameters);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
}

char *ep_validation_format(const ep_validation_view *validation) {
  ep_writer writer;
  ep_writer_init(&writer, VALIDATION_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "validation");
  ep_writer_member_raw(&writer, "spec", validation->spec);
  ep_writer_member_raw(&writer, "auto", validation->automatic ? validation->automatic : "null");
  ep_warnings_begin(&writer, validation->remarks);
  ep_writer_close(&writer, ']');
  ep_layer_views_write(&writer, validation->layers, validation->layers_count);
  ep_writer_member_string(&writer, "drawing", validation->drawing);
  ep_writer_member_integer(&writer, "parameters", validation->parameters);
  ep_writer_member_integer(&writer, "bytes", validation->bytes);
  ep_writer_member_integer(&writer, "operations", validation->operations);
  ep_writer_member_open(&writer, "rows", '{');
  ep_writer_member_integer(&writer, "train", validation->train_rows);
  ep_writer_member_integer(&writer, "validation", validation->validation_rows);
  ep_writer_member_integer(&writer, "test", validation->test_rows);
  ep_writer_close(&writer, '}');
  ep_writer_key(&writer, "parallel");
  ep_parallel_view_write(&writer, validation->parallel);
  allocation_write(&writer, validation->slurm);
  pod_write(&writer, validation->kubernetes);
  ep_writer_member_open(&writer, "estimates", '[');
  for (int i = 0; i < validation->estimates_count; i++) {
    ep_writer_open(&writer, '{');
    ep_writer_member_string(&writer, "device", validation->estimates[i].device);
    ep_writer_member_string(&writer, "executor", validation->estimates[i].executor);
    ep_writer_member_number_or_null(&writer, "seconds", validation->estimates[i].seconds);
    ep_writer_member_number_or_null(&writer, "start_seconds",
                                    validation->estimates[i].start_seconds);
    ep_writer_member_boolean(&writer, "calibrated", validation->estimates[i].calibrated);
    ep_writer_member_boolean(&writer, "measured", validation->estimates[i].measured);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
