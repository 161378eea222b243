/* parallel.c: the fields of "parallel": one training on several ranks. */
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

#define AT(member) offsetof(ep_job_spec, parallel.member)

static const ep_field count_field = {.min = 1, .max = EP_LIMIT_RANKS};

static void data_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                      void *base) {
  (void)field;
  ep_parallel_spec *parallel = &((ep_job_spec *)base)->parallel;
  const char *word = json_string_value(value);
  ep_field number = count_field;
  number.kind = EP_FIELD_INT;
  number.zero_word = "auto"; /* for the message */
  parallel->data = 1;
  parallel->data_auto = word && strcmp(word, "auto") == 0;
  if (value && !parallel->data_auto) ep_field_number_read(reader, &number, value, &parallel->data);
}

static void data_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_parallel_spec *parallel = &((const ep_job_spec *)base)->parallel;
  if (parallel->data_auto)
    ep_writer_string(writer, "auto");
  else
    ep_writer_integer(writer, parallel->data);
}

/* One of "stages": [first, last]. False after adding an error. */
static bool stage_read(ep_field_reader *reader, const json_t *value, int layers, int stage[2]) {
  const ep_field layer = {.kind = EP_FIELD_INT, .min = 0, .max = layers - 1};
  bool good = true;
  if (!json_is_array(value) || json_array_size(value) != 2) {
    ep_field_reader_fail(reader, "must be the first and the last layer of the stage: [0, 3]");
    return false;
  }
  for (size_t i = 0; i < 2; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    good &= ep_field_number_read(reader, &layer, json_array_get(value, i), &stage[i]);
    ep_field_reader_leave(reader, place);
  }
  return good;
}

/* end: 0 = the stage's first layer, 1 = its last. */
static void stage_fail(ep_field_reader *reader, size_t end, int layer, const char *why) {
  size_t place = ep_field_reader_enter_index(reader, end);
  ep_field_reader_fail(reader, "must be %s%d, %s", end == 1 ? "at least " : "", layer, why);
  ep_field_reader_leave(reader, place);
}

/* Stages in order, without gaps, that cover all layers; else adds an error at the end at fault. */
static void stage_check(ep_field_reader *reader, const ep_parallel_spec *parallel, int number,
                        int layers) {
  const int *stage = parallel->stages[number];
  int first = number > 0 ? parallel->stages[number - 1][1] + 1 : 0;
  bool last = number == parallel->stages_count - 1;
  if (stage[0] != first)
    stage_fail(reader, 0, first,
               number > 0 ? "the layer after the stage before" : "the first layer");
  else if (stage[1] < stage[0])
    stage_fail(reader, 1, stage[0], "the stage's first layer");
  else if (last && stage[1] != layers - 1)
    stage_fail(reader, 1, layers - 1, "the last layer: the stages cover all");
}

/* Comes after the model, whose layers it names. */
static void stages_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                        void *base) {
  (void)field;
  ep_job_spec *spec = base;
  ep_parallel_spec *parallel = &spec->parallel;
  size_t count = json_array_size(value);
  bool good = true;
  if (!value || json_is_null(value) || spec->layers_count == 0) return;
  if (!json_is_array(value) || count < 1 || count > EP_LIMIT_RANKS) {
    ep_field_reader_fail(reader, "must be an array of 1 to %d stages, each [first, last]",
                         EP_LIMIT_RANKS);
    return;
  }
  parallel->stages_count = (int)count;
  for (size_t i = 0; i < count && good; i++) {
    size_t place = ep_field_reader_enter_index(reader, i);
    good = stage_read(reader, json_array_get(value, i), spec->layers_count, parallel->stages[i]);
    if (good) stage_check(reader, parallel, (int)i, spec->layers_count);
    ep_field_reader_leave(reader, place);
  }
}

static void stages_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_parallel_spec *parallel = &((const ep_job_spec *)base)->parallel;
  if (parallel->stages_count == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '[');
  for (int i = 0; i < parallel->stages_count; i++) {
    ep_writer_open(writer, '[');
    ep_writer_integer(writer, parallel->stages[i][0]);
    ep_writer_integer(writer, parallel->stages[i][1]);
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, ']');
}

static const ep_field rows[] = {
    {.key = "data",
     .kind = EP_FIELD_CUSTOM,
     .read = data_read,
     .write = data_write,
     .form = "a number or \"auto\"",
     .text_fallback = "1",
     .doc = "replicas: each has the whole network and a slice of every batch; \"auto\": 1",
     .schema = EP_JSON({
       "anyOf" :
           [ {"type" : "integer", "minimum" : 1, "maximum" : EP_LIMIT_RANKS},
             {"enum" : ["auto"]} ]
     })},
    {.key = "model",
     .kind = EP_FIELD_INT,
     .offset = AT(model),
     .nullable = true,
     .min = 1,
     .max = EP_LIMIT_RANKS,
     .doc = "stages of each replica: each has some of the layers; as many as \"stages\" has, else "
            "1, unless given"},
    {.key = "stages",
     .kind = EP_FIELD_CUSTOM,
     .nullable = true,
     .read = stages_read,
     .write = stages_write,
     .form = "an array of [first, last]",
     .text_fallback = "null",
     .doc = "the first and the last layer of each stage, in order, all layers covered; stages of "
            "similar cost by default",
     .schema = EP_JSON({
       "type" : "array",
       "items" : {
         "type" : "array",
         "items" : {"type" : "integer", "minimum" : 0},
         "minItems" : 2,
         "maxItems" : 2
       },
       "minItems" : 1,
       "maxItems" : EP_LIMIT_RANKS
     })},
    {.key = "micro_batches",
     .kind = EP_FIELD_INT,
     .offset = AT(micro_batches),
     .nullable = true,
     .min = 1,
     .max = EP_LIMIT_MICRO_BATCHES,
     .doc = "number of pieces of a replica's slice in the pipeline; by default 4 per stage, at "
            "most one per row"},
    {.key = "elastic",
     .kind = EP_FIELD_BOOL,
     .offset = AT(elastic),
     .doc = "on GPUs: use those available, so that replicas share a GPU where there are fewer; the "
            "numbers stay the same"},
};
#undef AT
const ep_field_table ep_parallel_table = EP_FIELD_TABLE(rows, NULL);

bool ep_parallel_given(const void *spec) {
  const ep_parallel_spec *parallel = &((const ep_job_spec *)spec)->parallel;
  return parallel->data_auto || parallel->data > 1 || parallel->model > 1 ||
         parallel->stages_count > 0;
}

void ep_parallel_finish(ep_field_reader *reader, ep_job_spec *spec) {
  ep_parallel_spec *parallel = &spec->parallel;
  size_t place = ep_field_reader_enter(reader, "parallel");
  if (parallel->data == 0) parallel->data = 1;
  if (parallel->stages_count > 0 && parallel->model > 0 &&
      parallel->model != parallel->stages_count) {
    size_t within = ep_field_reader_enter(reader, "model");
    ep_field_reader_fail(reader, "must be %d, as many as \"stages\" has, or left out",
                         parallel->stages_count);
    ep_field_reader_leave(reader, within);
  }
  if (parallel->model == 0)
    parallel->model = parallel->stages_count > 0 ? parallel->stages_count : 1;
  if (parallel->data * parallel->model > EP_LIMIT_RANKS)
    ep_field_reader_fail(reader, "%d replicas of %d stages are %d ranks: the limit is %d",
                         parallel->data, parallel->model, parallel->data * parallel->model,
                         EP_LIMIT_RANKS);
  if (parallel->model == 1 && parallel->micro_batches > 1) {
    size_t within = ep_field_reader_enter(reader, "micro_batches");
    ep_field_reader_fail(reader, "must be 1 or omitted: there is only one stage");
    ep_field_reader_leave(reader, within);
  }
  ep_field_reader_leave(reader, place);
}
