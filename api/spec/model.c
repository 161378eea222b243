/* model.c: the fields of a job that are lists: its layers and its tags. */
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/fields.h"

/* What a layer's table alone cannot say: a pool's stride. */
static void layer_finish(ep_layer_spec *layer) {
  if (layer->type != EP_LAYER_MAX_POOL2D && layer->type != EP_LAYER_AVG_POOL2D) return;
  if (layer->stride[0] == 0) memcpy(layer->stride, layer->kernel_size, sizeof layer->stride);
}

/* Whether a list of `count` more layers is within the limits; else adds an error. */
static bool layers_check(ep_field_reader *reader, size_t count) {
  if (reader->depth > EP_LIMIT_RESIDUAL_DEPTH)
    ep_field_reader_fail(reader, "lies in more than %d residual blocks", EP_LIMIT_RESIDUAL_DEPTH);
  else if (count == 0 || count > EP_LIMIT_LAYERS)
    ep_field_reader_fail(reader, "must have 1 to %d layers, not %zu", EP_LIMIT_LAYERS, count);
  else if (count > (size_t)(EP_LIMIT_LAYERS - reader->items))
    ep_field_reader_fail(reader, "makes more than %d layers in all", EP_LIMIT_LAYERS);
  else
    return true;
  return false;
}

/* One list of layers, of the model or of a block within it. *out is the caller's, also after an
 * error: [*out_count]. */
static void layers_take(ep_field_reader *reader, const json_t *value, ep_layer_spec **out,
                        int *out_count) {
  if (!json_is_array(value)) {
    ep_field_reader_fail(reader, "must be an array of layers, not %s", ep_json_type_name(value));
    return;
  }
  size_t count = json_array_size(value);
  if (!layers_check(reader, count)) return;
  ep_layer_spec *layers = calloc(count, sizeof *layers);
  if (!layers) {
    ep_field_reader_fail_memory(reader);
    return;
  }
  *out = layers;
  *out_count = (int)count;
  reader->items += (int)count;
  reader->depth++;
  for (size_t i = 0; i < count; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    ep_field_variant_read(reader, &ep_layer_variants, json_array_get(value, i), &layers[i]);
    layer_finish(&layers[i]);
    ep_field_reader_leave(reader, place);
  }
  reader->depth--;
}

static void layers_put(ep_writer *writer, const ep_layer_spec *layers, int count) {
  ep_writer_open(writer, '[');
  for (int i = 0; i < count; i++) ep_field_variant_write(writer, &ep_layer_variants, &layers[i]);
  ep_writer_close(writer, ']');
}

void ep_layers_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base) {
  (void)field;
  ep_job_spec *spec = base;
  layers_take(reader, value, &spec->layers, &spec->layers_count);
}

void ep_layers_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  layers_put(writer, spec->layers, spec->layers_count);
}

void ep_block_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                   void *base) {
  (void)field;
  ep_layer_spec *layer = base;
  layers_take(reader, value, &layer->layers, &layer->layers_count);
}

void ep_block_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_layer_spec *layer = base;
  layers_put(writer, layer->layers, layer->layers_count);
}

/* Comes after "layers", whose indices it holds. */
void ep_freeze_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                    void *base) {
  (void)field;
  ep_job_spec *spec = base;
  if (!value || spec->layers_count == 0) return;
  const ep_field index = {.min = 0, .max = spec->layers_count - 1};
  spec->freeze = ep_integers_take(reader, &index, value, EP_LIMIT_LAYERS, &spec->freeze_count);
  for (int i = 1; i < spec->freeze_count; i++)
    for (int j = 0; j < i; j++) {
      if (spec->freeze[i] != spec->freeze[j]) continue;
      size_t place = ep_field_reader_enter_index(reader, (size_t)i);
      ep_field_reader_fail(reader, "layer %lld is given twice", (long long)spec->freeze[i]);
      ep_field_reader_leave(reader, place);
      return;
    }
}

void ep_freeze_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  ep_integers_write(writer, spec->freeze, spec->freeze_count);
}

static bool tag_is_good(const json_t *value) {
  const char *text = json_string_value(value);
  if (!text || !text[0] || json_string_length(value) > EP_LIMIT_NAME_BYTES) return false;
  for (; *text; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7F) return false;
  return true;
}

void ep_tags_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base) {
  (void)field;
  ep_job_spec *spec = base;
  if (!value) return;
  if (!json_is_array(value)) {
    ep_field_reader_fail(reader, "must be an array of strings, not %s", ep_json_type_name(value));
    return;
  }
  if (json_array_size(value) > EP_LIMIT_TAGS) {
    ep_field_reader_fail(reader, "must have at most %d tags, not %zu", EP_LIMIT_TAGS,
                         json_array_size(value));
    return;
  }
  size_t index;
  json_t *item;
  json_array_foreach((json_t *)value, index, item) {
    if (!tag_is_good(item)) {
      size_t place = ep_field_reader_enter_index(reader, index);
      ep_field_reader_fail(reader, "must be a string of 1 to %d bytes without control characters",
                           EP_LIMIT_NAME_BYTES);
      ep_field_reader_leave(reader, place);
      continue;
    }
    char *tag = strdup(json_string_value(item));
    if (!tag) {
      ep_field_reader_fail_memory(reader);
      return;
    }
    spec->tags[spec->tags_count++] = tag;
  }
}

void ep_tags_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  ep_writer_open(writer, '[');
  for (int i = 0; i < spec->tags_count; i++) ep_writer_string(writer, spec->tags[i]);
  ep_writer_close(writer, ']');
}
