#include "kernels/cpu/executors/blocked/step.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/blocked/product.h"
#include "kernels/cpu/layers/batch.h"
#include "kernels/cpu/layers/layers.h"
#include "kernels/cpu/layers/losses.h"
#include "kernels/formulas/norms.h"

/* What all tasks of a step, or of an evaluation, share. */
typedef struct {
  ep_blocked_net *net;
  const ep_blocked_data *data;
  bool training;
  int64_t step, epoch, rows; /* of the batch, or the split */
  double divisor;            /* of the mean loss */
  int span;
  bool back; /* of a training step: the way back through the span */

  float scale; /* clipping */
  const ep_optimizer_step *optimizer_step;

  float *output;  /* evaluation: NULL = not asked for; … */
  double *losses; /* … [chunks] */
  int64_t *errors;
} work;

/* Some rows of the batch, with the member who has them. */
typedef struct {
  const work *work;
  ep_blocked_member *member;
  ep_blocked_slot *slot; /* NULL in evaluation */
  int64_t first, rows;
} chunk;

static float *value_of(const chunk *at, int value) {
  const ep_blocked_net *net = at->work->net;
  const int base = net->of[value].base;
  const ep_blocked_value *of = &net->values[base];
  if (at->work->training && of->kept) return of->kept + at->first * net->of[base].features;
  return at->member->values[base];
}

/* NULL: nobody asks for it. */
static float *grad_of(const chunk *at, int value) {
  const ep_blocked_net *net = at->work->net;
  const int base = net->of[value].base;
  const ep_blocked_value *of = &net->values[base];
  if (!net->of[base].learns) return NULL;
  if (of->kept_grad) return of->kept_grad + at->first * net->of[base].features;
  return at->member->grads[net->of[base].gradient];
}

static void *side_of(const chunk *at, int op) {
  const ep_blocked_layer *layer = &at->work->net->layers[op];
  if (at->work->training && layer->kept_side)
    return layer->kept_side + at->first * layer->side_bytes;
  return at->member->sides[op];
}

static ep_blocked_call call_of(const chunk *at, int op) {
  const work *w = at->work;
  const ep_blocked_net *net = w->net;
  const ep_blocked_layer *layer = &net->layers[op];
  ep_blocked_call call = {.op = layer->op,
                          .parameters = net->state,
                          .moments = layer->norm >= 0 ? &net->moments[layer->norm] : NULL,
                          .rows = at->rows,
                          .first_row = at->first,
                          .step = w->step,
                          .seed = net->program->seed,
                          .training = w->training,
                          .y = value_of(at, op + 1),
                          .side = side_of(at, op),
                          .columns = at->member->columns};
  for (int k = 0; k < layer->op->inputs; k++) call.inputs[k] = value_of(at, layer->op->input[k]);
  call.x = call.inputs[0];
  return call;
}

static ep_reference_pass pass_of(const ep_blocked_call *call) {
  return (ep_reference_pass){.parameters = call->parameters,
                             .rows = call->rows,
                             .first_row = call->first_row,
                             .step = call->step,
                             .seed = call->seed,
                             .training = call->training};
}

/* The channels that the dropout2d behind conv2d i takes away in training: its mask. */
static const uint8_t *kept_of(const chunk *at, int i) {
  return at->work->training && at->work->net->layers[i].drops ? side_of(at, i + 1) : NULL;
}

/* Layers first … end - 1. */
static void forward(const chunk *at, int first, int end) {
  const ep_blocked_net *net = at->work->net;
  for (int i = first; i < end; i++) {
    const ep_layer_type type = net->layers[i].op->type;
    if (net->of[i + 1].base != i + 1) continue;
    ep_blocked_call call = call_of(at, i);
    call.kept = kept_of(at, i);
    if (call.kept) {
      ep_blocked_call next = call_of(at, i + 1);
      net->variant->mask(&next);
    }
    if (net->variant->layers[type].forward) {
      net->variant->layers[type].forward(&call);
    } else {
      ep_reference_pass pass = pass_of(&call);
      pass.scratch = at->member->scratch;
      ep_reference_layer_of(type)->forward(&pass, call.op, call.inputs, call.y);
    }
  }
}

/* Where each input's gradient goes: to its own memory, or to a part that is added to it. */
static void grads_place(const chunk *at, int i, ep_blocked_call *call) {
  const ep_blocked_net *net = at->work->net;
  int parts = 0;
  for (int k = 0; k < call->op->inputs; k++) {
    call->grad_inputs[k] = grad_of(at, call->op->input[k]);
    if (call->grad_inputs[k] && !ep_values_begin(net->program, net->of, i, k))
      call->grad_inputs[k] = at->member->parts[parts++];
  }
  call->grad_x = call->grad_inputs[0];
}

static void grads_add(const chunk *at, const ep_blocked_call *call) {
  const ep_blocked_net *net = at->work->net;
  for (int k = 0; k < call->op->inputs; k++) {
    float *whole = grad_of(at, call->op->input[k]);
    if (whole && whole != call->grad_inputs[k])
      net->variant->add(whole, call->grad_inputs[k],
                        at->rows * net->of[call->op->input[k]].features);
  }
}

/* By cpu/layers, in whose eyes the layer's parameters are the program's. grad: the slot's gradient
 * of them, or NULL. */
static void backward_reference(const ep_blocked_call *call, double *scratch, float *grad) {
  ep_op op = *call->op;
  ep_reference_pass pass = pass_of(call);
  const int64_t first = ep_op_parameters_first(&op), count = ep_op_parameters(&op);
  for (int k = 0; k < EP_OP_PARAMETERS; k++) op.parameter[k] -= op.parameter[k] < 0 ? 0 : first;
  if (first > 0) pass.parameters += first;
  memset(scratch, 0, (size_t)count * sizeof *scratch);
  pass.scratch = scratch + count;
  ep_reference_layer_of(op.type)->backward(&pass, &op, call->inputs, call->y, call->grad_y,
                                           call->grad_inputs, scratch);
  for (int64_t i = 0; grad && i < count; i++) grad[i] += (float)scratch[i];
}

static void backward_layer(const chunk *at, int i) {
  const ep_blocked_net *net = at->work->net;
  const ep_blocked_layer *layer = &net->layers[i];
  const ep_layer_type type = layer->op->type;
  ep_blocked_call call = call_of(at, i);
  call.kept = kept_of(at, i);
  call.grad_y = grad_of(at, i + 1);
  grads_place(at, i, &call);
  float *grad = layer->grad >= 0 ? at->slot->grad + layer->grad : NULL;
  if (grad && ep_op_own_weights(layer->op) > 0) call.grad_weight = grad;
  if (grad && ep_op_own_biases(layer->op) > 0) call.grad_bias = grad + ep_op_own_weights(layer->op);
  if (net->variant->layers[type].backward)
    net->variant->layers[type].backward(&call);
  else
    backward_reference(&call, at->member->scratch, grad);
  grads_add(at, &call);
}

/* The span's layers from the last to the first, but for the batch_norm that it begins with: that
 * waits for the sums of all slots. */
static void backward_span(const chunk *at, int span) {
  const ep_blocked_net *net = at->work->net;
  int last = span + 1 < net->spans_count ? net->spans[span + 1] : net->program->ops_count - 1;
  int first = span > 0 ? net->spans[span] + 1 : 0;
  for (int i = last; i >= first; i--)
    if (net->of[i + 1].base == i + 1 && net->of[i + 1].learns) backward_layer(at, i);
  int norm = span > 0 ? net->spans[span] : -1;
  if (norm >= 0 && net->of[norm + 1].learns)
    net->variant->products_add(net->layers[norm].op, value_of(at, net->layers[norm].op->input[0]),
                               grad_of(at, norm + 1), at->rows, &net->moments[span - 1],
                               &at->slot->moments[span - 1]);
}

/* Row `row` of the data, in training as the epoch has it. */
static void read_row(const work *w, int64_t row, float *to) {
  const ep_program *program = w->net->program;
  const int64_t features = program->in_features;
  if (ep_program_augments(&program->augment, program->stored, program->in)) {
    if (w->training)
      ep_reference_read_training_row(program, w->data->x, row, w->epoch, to);
    else
      ep_reference_read_evaluation_row(program, w->data->x, row, to);
  } else if (program->x_type == EP_X_FLOAT32) {
    memcpy(to, (const float *)w->data->x + row * features, (size_t)features * sizeof *to);
  } else {
    w->net->variant->bytes(to, (const uint8_t *)w->data->x + row * features, program->in.channels,
                           program->in.height * program->in.width, program->x_scale,
                           program->x_shift);
  }
}

static void gather(const chunk *at) {
  const work *w = at->work;
  const ep_program *program = w->net->program;
  const size_t target_bytes = (size_t)program->target_columns * sizeof(float);
  float *x = value_of(at, 0);
  for (int64_t i = 0; i < at->rows; i++) {
    int64_t row = at->first + i;
    if (w->training) row = w->net->rows_from[row];
    read_row(w, row, x + i * program->in_features);
    if (w->data->y)
      memcpy((char *)at->member->target + (size_t)i * target_bytes,
             (const char *)w->data->y + (size_t)row * target_bytes, target_bytes);
  }
}

/* A chunk again, for the targets alone: they are not kept. */
static void gather_targets(const chunk *at) {
  const work *w = at->work;
  const size_t bytes = (size_t)w->net->program->target_columns * sizeof(float);
  for (int64_t i = 0; i < at->rows; i++)
    memcpy((char *)at->member->target + (size_t)i * bytes,
           (const char *)w->data->y + (size_t)w->net->rows_from[at->first + i] * bytes, bytes);
}

static void loss_of(const chunk *at) {
  const ep_blocked_net *net = at->work->net;
  const ep_program *program = net->program;
  at->slot->loss +=
      ep_reference_loss(program, value_of(at, program->ops_count), at->member->target, at->rows,
                        at->work->divisor, grad_of(at, program->ops_count), &at->slot->errors);
}

/* One chunk, forward through a span; through the last one, and back. */
static void forward_span(const chunk *at, int span) {
  const ep_blocked_net *net = at->work->net;
  const bool last = span + 1 == net->spans_count;
  const int end = last ? net->program->ops_count : net->spans[span + 1];
  if (span == 0) gather(at);
  forward(at, net->spans[span], end);
  if (!last) {
    net->variant->moments_add(net->layers[end].op, value_of(at, net->layers[end].op->input[0]),
                              at->rows, &at->slot->moments[span]);
    return;
  }
  if (span > 0) gather_targets(at);
  loss_of(at);
  backward_span(at, span);
}

static void clear_slot(const ep_blocked_net *net, ep_blocked_slot *slot) {
  memset(slot->grad, 0, (size_t)net->slot_floats * sizeof *slot->grad);
  slot->loss = 0;
  slot->errors = 0;
  for (int i = 0; i + 1 < net->spans_count; i++) {
    const size_t bytes = (size_t)net->program->ops[net->spans[i + 1]].in.channels * sizeof(double);
    ep_blocked_moments *moments = &slot->moments[i];
    moments->count = 0;
    memset(moments->mean, 0, bytes);
    memset(moments->squares, 0, bytes);
    memset(moments->sum, 0, bytes);
    memset(moments->product, 0, bytes);
  }
}

static void slot_task(void *context, int64_t number, int member) {
  const work *w = context;
  ep_blocked_net *net = w->net;
  chunk at = {.work = w, .member = &net->members[member], .slot = &net->slots[number]};
  int64_t end = (number + 1) * net->slot_rows;
  if (end > w->rows) end = w->rows;
  if (w->span == 0 && !w->back) clear_slot(net, at.slot);
  for (at.first = number * net->slot_rows; at.first < end; at.first += at.rows) {
    at.rows = end - at.first < net->chunk_rows ? end - at.first : net->chunk_rows;
    if (w->back)
      backward_span(&at, w->span);
    else
      forward_span(&at, w->span);
  }
}

/* The batch's statistics, from the slots' in order; and the running ones move. */
static void merge_moments(ep_blocked_net *net, int norm, int64_t slots) {
  const ep_op *op = net->layers[net->spans[norm + 1]].op;
  ep_blocked_moments *all = &net->moments[norm];
  float *running = net->state + net->program->parameters + op->running;
  for (int64_t c = 0; c < op->in.channels; c++) {
    double count = 0, mean = 0, squares = 0;
    for (int64_t s = 0; s < slots; s++) {
      const ep_blocked_moments *part = &net->slots[s].moments[norm];
      const double both = count + part->count, apart = part->mean[c] - mean;
      mean += apart * (part->count / both);
      squares += part->squares[c] + apart * apart * (count * part->count / both);
      count = both;
    }
    const double variance = squares / count;
    all->count = count;
    all->mean[c] = mean;
    all->factor[c] = 1 / sqrt(variance + (double)op->eps);
    if (op->running < 0) continue;
    float *moved = running + op->in.channels + c;
    running[c] = ep_running_mean(running[c], (float)mean, op->momentum);
    *moved = ep_running_variance(*moved, (float)variance, (int64_t)count, op->momentum);
  }
}

/* The sums that its way back needs, which are the gradients of its weight and bias. */
static void merge_products(ep_blocked_net *net, int norm, int64_t slots) {
  const ep_op *op = net->layers[net->spans[norm + 1]].op;
  ep_blocked_moments *all = &net->moments[norm];
  for (int64_t c = 0; c < op->in.channels; c++) {
    double sum = 0, product = 0;
    for (int64_t s = 0; s < slots; s++) {
      sum += net->slots[s].moments[norm].sum[c];
      product += net->slots[s].moments[norm].product[c];
    }
    all->sum[c] = sum;
    all->product[c] = product;
    if (op->weight >= 0) net->gradient[op->weight + c] = (float)product;
    if (op->bias >= 0) net->gradient[op->bias + c] = (float)sum;
  }
}

/* Rows of a shared layer's weight, and their biases, from the whole batch. */
static void sum_shared(const work *w, const ep_blocked_piece *piece) {
  const ep_blocked_net *net = w->net;
  const ep_op *op = net->layers[piece->layer].op;
  const int64_t in = op->in_features, out = op->out_features;
  const float *grad_y = net->values[net->of[piece->layer + 1].base].kept_grad + piece->first;
  ep_product_run(&(ep_product){.rows = piece->count,
                               .columns = in,
                               .depth = w->rows,
                               .a = grad_y,
                               .a_stride = out,
                               .a_transposed = true,
                               .b = net->values[net->of[op->input[0]].base].kept,
                               .b_stride = in,
                               .c = net->gradient + op->weight + piece->first * in,
                               .c_stride = in});
  if (op->bias < 0) return;
  float *bias = net->gradient + op->bias + piece->first;
  memset(bias, 0, (size_t)piece->count * sizeof *bias);
  for (int64_t row = 0; row < w->rows; row++)
    net->variant->add(bias, grad_y + row * out, piece->count);
}

/* Words first … of a shared table, from the whole batch. */
static void sum_table(const work *w, const ep_blocked_piece *piece) {
  const ep_blocked_net *net = w->net;
  const ep_op *op = net->layers[piece->layer].op;
  const int64_t dimension = ep_op_dimension(op), columns = ep_op_columns(op);
  const float *x = net->values[net->of[op->input[0]].base].kept + op->numbers;
  const float *grad_y = net->values[net->of[piece->layer + 1].base].kept_grad + op->numbers;
  float *table = net->gradient + op->weight;
  memset(table + piece->first * dimension, 0, (size_t)(piece->count * dimension) * sizeof *table);
  for (int64_t row = 0; row < w->rows; row++, x += op->in_features, grad_y += op->out_features)
    for (int64_t i = 0; i < columns; i++) {
      const int64_t word = (int64_t)x[i];
      if (word >= piece->first && word < piece->first + piece->count)
        net->variant->add(table + word * dimension, grad_y + i * dimension, dimension);
    }
}

static int64_t slots_of(const work *w) {
  return (w->rows + w->net->slot_rows - 1) / w->net->slot_rows;
}

static void sum_task(void *context, int64_t number, int member) {
  (void)member;
  const work *w = context;
  const ep_blocked_net *net = w->net;
  const ep_blocked_piece *piece = &net->sums[number];
  if (piece->layer >= 0) {
    if (net->layers[piece->layer].op->type == EP_LAYER_EMBEDDING)
      sum_table(w, piece);
    else
      sum_shared(w, piece);
    return;
  }
  float *to = net->gradient + piece->first;
  memcpy(to, net->slots[0].grad + piece->slot_first, (size_t)piece->count * sizeof *to);
  for (int64_t s = 1; s < slots_of(w); s++)
    net->variant->add(to, net->slots[s].grad + piece->slot_first, piece->count);
}

static void squares_task(void *context, int64_t number, int member) {
  (void)member;
  const work *w = context;
  ep_blocked_piece *piece = &w->net->updates[number];
  piece->squares = w->net->variant->sum_of_squares(w->net->gradient + piece->first, piece->count);
}

static void update_task(void *context, int64_t number, int member) {
  (void)member;
  const work *w = context;
  const ep_blocked_net *net = w->net;
  const ep_program *program = net->program;
  const ep_blocked_piece *piece = &net->updates[number];
  float *state = net->state + ep_program_state_floats(program);
  net->variant->update(
      &(ep_blocked_update){.optimizer = &program->optimizer,
                           .step = w->optimizer_step,
                           .decay = program->groups[piece->group].weight_decay,
                           .scale = w->scale,
                           .count = piece->count,
                           .stride = program->parameters,
                           .parameters = net->state + piece->first,
                           .state = program->optimizer_floats > 0 ? state + piece->first : NULL,
                           .grad = net->gradient + piece->first});
}

static void optimize(work *w, ep_crew *crew, float lr) {
  const ep_blocked_net *net = w->net;
  const ep_optimizer *optimizer = &net->program->optimizer;
  const ep_optimizer_step step = ep_optimizer_step_make(optimizer, lr, w->step + 1);
  w->optimizer_step = &step;
  w->scale = 1;
  ep_crew_run(crew, sum_task, w, net->sums_count);
  if (optimizer->clip_norm > 0) {
    double squares = 0;
    ep_crew_run(crew, squares_task, w, net->updates_count);
    for (int64_t i = 0; i < net->updates_count; i++) squares += net->updates[i].squares;
    w->scale = ep_clip_scale(optimizer, sqrt(squares));
  }
  ep_crew_run(crew, update_task, w, net->updates_count);
}

/* Which rows the batch has, in the epoch's order. */
static void choose_rows(const work *w, int64_t first) {
  const ep_program *program = w->net->program;
  const bool shuffles = ep_program_shuffles(program);
  ep_permutation order;
  if (shuffles)
    order = ep_permutation_make(program->seed, EP_RANDOM_SHUFFLE, (uint64_t)w->epoch,
                                (uint64_t)program->train_rows);
  for (int64_t i = 0; i < w->rows; i++) {
    uint32_t row = (uint32_t)(first + i);
    w->net->rows_from[i] = shuffles ? ep_permutation_at(&order, row) : row;
  }
}

/* What the mean loss of the rows divides by. */
static double loss_divisor(const work *w) {
  const ep_program *program = w->net->program;
  double sum = 0;
  if (!ep_loss_takes_classes(program->loss) || !program->class_weights)
    return (double)w->rows * (double)program->target_columns;
  const int32_t *classes = w->data->y;
  for (int64_t i = 0; i < w->rows; i++)
    sum += ep_reference_loss_share(program, &classes[w->training ? w->net->rows_from[i] : i]);
  return sum;
}

/* From the slots to one. */
static void report(const work *w, float *loss, int32_t *errors) {
  double sum = 0;
  int64_t wrong = 0;
  for (int64_t s = 0; s < slots_of(w); s++) {
    sum += w->net->slots[s].loss;
    wrong += w->net->slots[s].errors;
  }
  *loss = (float)(sum / w->divisor);
  *errors = wrong < INT32_MAX ? (int32_t)wrong : INT32_MAX;
}

void ep_blocked_train_step(ep_blocked_net *net, ep_crew *crew, const ep_blocked_data *data,
                           int64_t step, float lr, float *loss, int32_t *errors) {
  const int64_t steps_per_epoch = ep_program_steps_per_epoch(net->program);
  const int64_t batch = step % steps_per_epoch;
  work w = {.net = net,
            .data = data,
            .training = true,
            .step = step,
            .epoch = step / steps_per_epoch,
            .rows = ep_program_batch_rows(net->program, batch)};
  choose_rows(&w, batch * net->program->batch_size);
  w.divisor = loss_divisor(&w);
  for (w.span = 0; w.span < net->spans_count; w.span++) {
    ep_crew_run(crew, slot_task, &w, slots_of(&w));
    if (w.span + 1 < net->spans_count) merge_moments(net, w.span, slots_of(&w));
  }
  w.back = true;
  for (w.span = net->spans_count - 2; w.span >= 0; w.span--) {
    if (net->spans[w.span + 1] < net->first_learned) break;
    merge_products(net, w.span, slots_of(&w));
    ep_crew_run(crew, slot_task, &w, slots_of(&w));
  }
  report(&w, loss, errors);
  optimize(&w, crew, lr);
}

static void evaluate_task(void *context, int64_t number, int member) {
  const work *w = context;
  ep_blocked_net *net = w->net;
  const int64_t outputs = net->program->out_features;
  chunk at = {.work = w, .member = &net->members[member], .first = number * net->chunk_rows};
  at.rows = w->rows - at.first < net->chunk_rows ? w->rows - at.first : net->chunk_rows;
  gather(&at);
  forward(&at, 0, net->program->ops_count);
  const float *output = value_of(&at, net->program->ops_count);
  if (w->output)
    memcpy(w->output + at.first * outputs, output, (size_t)(at.rows * outputs) * sizeof *output);
  if (w->losses)
    w->losses[number] = ep_reference_loss(net->program, output, at.member->target, at.rows, 1, NULL,
                                          &w->errors[number]);
}

/* batch_norm evaluates with what it learned. */
static void take_running(ep_blocked_net *net) {
  for (int i = 1; i < net->spans_count; i++) {
    const ep_op *op = net->layers[net->spans[i]].op;
    const float *running = net->state + net->program->parameters + op->running;
    ep_blocked_moments *moments = &net->moments[i - 1];
    for (int64_t c = 0; c < op->in.channels; c++) {
      moments->mean[c] = running[c];
      moments->factor[c] = 1 / sqrt((double)running[op->in.channels + c] + (double)op->eps);
    }
  }
}

ep_status ep_blocked_evaluate(ep_blocked_net *net, ep_crew *crew, const ep_blocked_data *data,
                              float *output, double *loss, int64_t *errors, ep_error *error) {
  const int64_t chunks = (data->rows + net->chunk_rows - 1) / net->chunk_rows;
  work w = {.net = net, .data = data, .rows = data->rows, .output = output};
  if (data->y) {
    w.losses = calloc((size_t)chunks, sizeof *w.losses);
    w.errors = calloc((size_t)chunks, sizeof *w.errors);
    if (!w.losses || !w.errors) {
      free(w.errors);
      free(w.losses);
      return ep_fail(error, EP_NO_MEMORY, "no memory for the losses of %lld rows",
                     (long long)data->rows);
    }
  }
  take_running(net);
  ep_crew_run(crew, evaluate_task, &w, chunks);
  if (data->y) {
    double sum = 0;
    *errors = 0;
    for (int64_t i = 0; i < chunks; i++) {
      sum += w.losses[i];
      *errors += w.errors[i];
    }
    *loss = sum / loss_divisor(&w);
  }
  free(w.errors);
  free(w.losses);
  return EP_OK;
}
