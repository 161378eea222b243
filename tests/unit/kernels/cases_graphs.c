#include "tests/unit/kernels/cases_graphs.h"

#include <stdio.h>

/* Values that three and four ops read, and ops that read one twice. */
static void readers_add(ep_case *self, int64_t width) {
  (void)width;
  ep_case_add_linear(self, 12, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add(self, EP_LAYER_SIN);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){3, 2, 1, 2}, 4);
  ep_case_add_join(self, EP_LAYER_MUL, (int[]){4, 4, 1}, 3);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){5, 6}, 2);
  ep_case_add_linear(self, 3, true);
}

/* Images that are turned, joined and cut, and views of what others read. */
static void shapes_add(ep_case *self, int64_t width) {
  (void)width;
  const ep_case_window same = {.kernel = {3, 3}, .padding = {1, 1}};
  ep_case_add_linear(self, 24, true);
  ep_case_add_reshape(self, (ep_shape){4, 2, 3});
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_conv2d(self, 4, &same, true);
  ep_case_add_permute(self, (int[]){2, 0, 1});
  ep_case_add_reshape(self, (ep_shape){24, 1, 1});
  ep_case_read(self, 3);
  ep_case_add_reshape(self, (ep_shape){3, 4, 2});
  ep_case_add_join(self, EP_LAYER_CONCAT, (int[]){5, 7}, 2);
  ep_case_add_slice(self, 1, 1, 2);
  ep_case_add_slice(self, 2, 1, 1);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.3f);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){12, 11}, 2);
  ep_case_add_linear(self, 3, true);
}

/* Inputs that do not learn beside others: the data, and what a frozen layer (the first) makes. */
static void frozen_add(ep_case *self, int64_t width) {
  (void)width;
  ep_case_add_linear(self, 5, true);
  ep_case_add_linear(self, 5, true);
  ep_case_read(self, 0);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){1, 2}, 2);
  ep_case_add_join(self, EP_LAYER_MUL, (int[]){0, 3, 1}, 3);
  ep_case_add_join(self, EP_LAYER_CONCAT, (int[]){4, 1, 0}, 3);
  ep_case_add_linear(self, 3, true);
}

/* An embedding of some of the columns, beside all of them. */
static void embedding_add(ep_case *self, int64_t width) {
  (void)width;
  ep_case_add_slice(self, 0, 1, 4);
  ep_case_add_embedding(self, 1, 7, 2);
  ep_case_add_join(self, EP_LAYER_CONCAT, (int[]){2, 0}, 2);
  ep_case_add_linear(self, 3, true);
}

/* An activation and a dropout that stand behind ops which they do not read. */
static void apart_add(ep_case *self, int64_t width) {
  ep_case_add_linear(self, width, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.2f);
  ep_case_read(self, 1);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){2, 3}, 2);
  ep_case_add_linear(self, width, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_read(self, 4);
  ep_case_add_join(self, EP_LAYER_MUL, (int[]){5, 6}, 2);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){8, 7}, 2);
  ep_case_add_linear(self, width, true);
  ep_case_add_linear(self, 3, true);
  ep_case_add_linear(self, 3, true);
  ep_case_add_join(self, EP_LAYER_MUL, (int[]){12, 11}, 2);
}

static void series_add(ep_case *self, int64_t width) {
  (void)width;
  ep_case_add_linear(self, 26, true);
  ep_case_add_reshape(self, (ep_shape){2, 1, 13});
  ep_case_add_conv1d(self, 4, 3, 2, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_conv1d(self, 4, 2, 4, true);
  ep_case_add(self, EP_LAYER_SIGMOID);
  ep_case_add_join(self, EP_LAYER_MUL, (int[]){6, 4}, 2);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){8, 4, 7}, 3);
  ep_case_add_slice(self, 2, 12, 1);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 3, true);
}

/* A weight whose gradient is taken from the whole batch, between a batch_norm and what goes past
 * it: both its input and the value before it in the list are read again. */
static void whole_add(ep_case *self, int64_t width) {
  (void)width;
  ep_case_add_linear(self, 260, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 260, true);
  ep_case_read(self, 1);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){4, 2}, 2);
  ep_case_add_linear(self, 3, true);
}

/* Windows as columns: with all that a window may have, and, past them, with gaps between them. */
static void unfold_add(ep_case *self, int64_t width) {
  const ep_case_window wide = {
      .kernel = {3, 2}, .stride = {2, 1}, .padding = {2, 1}, .dilation = {2, 3}};
  const ep_case_window apart = {.kernel = {2, 3}, .stride = {3, 4}};
  (void)width;
  ep_case_add_linear(self, 84, true);
  ep_case_add_reshape(self, (ep_shape){2, 6, 7});
  ep_case_add_unfold(self, &wide);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 84, true);
  ep_case_add_reshape(self, (ep_shape){2, 6, 7});
  ep_case_add_unfold(self, &apart);
  ep_case_add_linear(self, 3, true);
}

/* Of images with weights and of series without, of `width` pixels a channel. */
static void instances_add(ep_case *self, int64_t width) {
  ep_case_add_linear(self, 3 * width, true);
  ep_case_add_reshape(self, (ep_shape){3, width, 1});
  ep_case_add_norm(self, EP_LAYER_INSTANCE_NORM, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_reshape(self, (ep_shape){3, 1, width});
  ep_case_add_norm(self, EP_LAYER_INSTANCE_NORM, false);
  ep_case_add_join(self, EP_LAYER_MUL, (int[]){6, 5}, 2);
  ep_case_add_slice(self, 2, 3, 5); /* many would make a step of this rate too long */
  ep_case_add_linear(self, 3, true);
}

/* A gru of `width` units behind a convolution, of which the last state goes on. */
static void gru_add(ep_case *self, int64_t width) {
  ep_case_add_linear(self, 26, true);
  ep_case_add_reshape(self, (ep_shape){2, 1, 13});
  ep_case_add_conv1d(self, 4, 3, 2, true);
  ep_case_add_gru(self, width, true);
  ep_case_add_slice(self, 2, 12, 1);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 3, true);
}

/* A gru that reads the data: its input does not learn. */
static void gru_of_data_add(ep_case *self, int64_t width) {
  ep_case_add_reshape(self, (ep_shape){1, 1, 5});
  ep_case_add_gru(self, width, true);
  ep_case_add_linear(self, 3, true);
}

/* Two, of which the first may be frozen, and one that goes past them. */
static void grus_add(ep_case *self, int64_t width) {
  ep_case_add_linear(self, 33, true);
  ep_case_add_reshape(self, (ep_shape){3, 1, 11});
  ep_case_add_gru(self, width, false);
  ep_case_add_gru(self, width, true);
  ep_case_add_gru(self, width, true);
  ep_case_read(self, 3);
  ep_case_add_join(self, EP_LAYER_ADD, (int[]){4, 5, 3}, 3);
  ep_case_add_linear(self, 3, true);
}

/* More channels than the units' work fits shared memory with. */
static void gru_of_many_add(ep_case *self, int64_t width) {
  ep_case_add_linear(self, 25000, true);
  ep_case_add_reshape(self, (ep_shape){12500, 1, 2});
  ep_case_add_gru(self, width, true);
  ep_case_add_linear(self, 3, true);
}

typedef struct {
  const char *name;
  void (*add)(ep_case *self, int64_t width);
  int64_t width, rows, batch_size;
  uint32_t frozen; /* 1 << op */
} graph;

/* Each once with small batches and once with one of many rows. */
static const graph graphs[] = {
    {"many readers", readers_add, 0, 45, 16, 0},
    {"many readers, a full batch", readers_add, 0, 1300, 0, 0},
    {"shapes", shapes_add, 0, 45, 16, 0},
    {"shapes, a full batch", shapes_add, 0, 700, 0, 0},
    {"inputs that do not learn", frozen_add, 0, 45, 16, 1},
    {"an embedding of a slice", embedding_add, 0, 45, 16, 0},
    {"neighbours that read others", apart_add, 24, 45, 16, 0},
    {"neighbours that read others, wide", apart_add, 260, 50, 33, 0},
    {"a causal series", series_add, 0, 45, 16, 0},
    {"a causal series, a full batch", series_add, 0, 300, 0, 0},
    {"large weights behind others", whole_add, 0, 260, 130, 0},
    {"windows as columns", unfold_add, 0, 45, 16, 0},
    {"windows as columns, a full batch", unfold_add, 0, 300, 0, 0},
    {"norms of channels", instances_add, 11, 45, 16, 0},
    {"norms of channels, a full batch", instances_add, 11, 300, 0, 0},
    {"norms of long channels", instances_add, 601, 21, 8, 0},
    {"gru, 1 unit", gru_add, 1, 45, 16, 0},
    {"gru, 5 units, a full batch", gru_add, 5, 1100, 0, 0},
    {"gru, 33 units", gru_add, 33, 45, 16, 0},
    {"gru, 33 units, a full batch", gru_add, 33, 260, 0, 0},
    {"gru, 130 units", gru_add, 130, 21, 8, 0},
    {"gru of the data", gru_of_data_add, 9, 45, 16, 0},
    {"several grus", grus_add, 6, 45, 16, 0},
    {"several grus, one frozen", grus_add, 35, 45, 16, 1 << 2},
    {"gru of many channels", gru_of_many_add, 3, 9, 4, 0},
};
_Static_assert(sizeof graphs / sizeof *graphs == EP_CASE_GRAPHS, "a row each");

ep_case *ep_case_create_graph(int number) {
  const graph *row = &graphs[number];
  char name[128];
  snprintf(name, sizeof name, "graph: %s", row->name);
  ep_case *self = ep_case_create(name, 5, EP_LOSS_MSE);
  row->add(self, row->width);
  ep_case_finish(self, &(ep_case_training){.rows = row->rows,
                                           .batch_size = (int)row->batch_size,
                                           .shuffle = row->batch_size > 0,
                                           .seed = 5000 + (uint64_t)number,
                                           .steps = 6,
                                           .lr = 0.02f,
                                           .optimizer = {.momentum = 0.5f},
                                           .frozen = row->frozen});
  return self;
}
