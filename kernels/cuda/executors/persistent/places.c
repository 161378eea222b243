/* places.c: which parameter each word of the segments is, for cuda/persistent. */
#include "kernels/cuda/executors/persistent/plan.h"

/* What a slice has of `count` values of which each slice has `each`. */
static int part_of(int count, int each, int slice) {
  const int left = count - slice * each;
  return left < 0 ? 0 : left < each ? left : each;
}

/* The parameter's offset; negative: as args.h has it. */
static int64_t weight_at(const ep_persistent_stage *stage, int slice, int word) {
  const int k = word / stage->line, m = word % stage->line;
  const bool splits = stage->mode == EP_PERSISTENT_COLUMN;
  const int input = ep_persistent_takes_slice(stage) ? slice * stage->inputs + k : k;
  const int output = splits ? slice * stage->outputs + m : m;
  if (k >= stage->inputs || m >= stage->outputs || input >= stage->in || output >= stage->out)
    return EP_PERSISTENT_PLACE_OF_ZERO;
  return stage->core->weight + (int64_t)output * stage->in + input;
}

/* The same of a norm's weight, or of a bias. */
static int64_t feature_at(const ep_persistent_stage *stage, int slice, int feature, bool is_bias) {
  const int64_t offset = is_bias ? stage->core->bias : stage->core->weight;
  const int first = stage->sliced ? slice * stage->slice : 0;
  const int features = stage->sliced ? part_of(stage->out, stage->slice, slice) : stage->out;
  if (offset >= 0 && feature < features) return offset + first + feature;
  return is_bias ? EP_PERSISTENT_PLACE_OF_ZERO : EP_PERSISTENT_PLACE_OF_ONE;
}

/* The same of an embedding's table. */
static int64_t table_at(const ep_persistent_plan *plan, const ep_persistent_stage *stage,
                        int word) {
  return word < ep_persistent_weight_words(plan, stage) ? stage->core->weight + word
                                                        : EP_PERSISTENT_PLACE_OF_ZERO;
}

static void segment_places(const ep_program *program, const ep_persistent_plan *plan, int i,
                           int slice, int32_t *out) {
  const ep_persistent_stage *stage = &plan->stages[i];
  const bool linear = ep_persistent_is_linear(stage);
  for (int word = 0; word < stage->segment_words; word++) {
    const bool is_bias = word >= stage->bias_word, is_matrix = linear && !is_bias;
    const int64_t at =
        is_matrix ? weight_at(stage, slice, word)
        : ep_persistent_is_embedding(stage)
            ? table_at(plan, stage, word)
            : feature_at(stage, slice, is_bias ? word - stage->bias_word : word, is_bias);
    const bool is_apart =
        is_matrix ? ep_persistent_takes_slice(stage) || stage->mode == EP_PERSISTENT_COLUMN
                  : stage->sliced;
    out[word] = (int32_t)at;
    if (at < 0) continue;
    out[word] = (int32_t)at * EP_PERSISTENT_PLACE;
    if (!(ep_program_decay_at(program, at) >= 0)) continue; /* frozen */
    out[word] += EP_PERSISTENT_PLACE_TRAINS;
    if (is_apart || slice == 0) out[word] += EP_PERSISTENT_PLACE_STORES;
  }
}

void ep_persistent_places(const ep_program *program, const ep_persistent_plan *plan, int32_t *out) {
  for (int slice = 0; slice < plan->slices; slice++)
    for (int i = 0; i < plan->stages_count; i++)
      segment_places(program, plan, i, slice,
                     out + (int64_t)slice * plan->vector_words + plan->stages[i].segment);
}
