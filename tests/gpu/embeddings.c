#include "tests/gpu/embeddings.h"

/* often: most cells hold the same word. */
typedef struct {
  const char *name;
  int64_t numbers, columns, embeddings, dimension, rows, batch_size;
  bool often;
} row;

static const row rows[] = {
    {"embedding: many words, few cells", 1, 2, 5003, 3, 50, 20, false},
    {"embedding: many words, slices of cells", 0, 4, 3001, 33, 1300, 1300, true},
    {"embedding: one word", 2, 3, 1, 5, 900, 900, false},
    {"embedding: more cells of a word than a block lists at once", 0, 5, 30000, 70, 900, 900, true},
    {"embedding: long vectors", 3, 2, 40, 300, 120, 50, false},
    {"embedding: blocks that end within a vector", 0, 3, 700, 200, 150, 64, false},
    {"embedding: two warps a vector", 0, 4, 1500, 8, 700, 300, true},
    {"embedding: four warps a vector", 1, 3, 600, 20, 300, 200, true},
    {"embedding: few words, slices of cells", 0, 11, 12, 35, 1000, 800, false},
};
enum { ROWS = sizeof rows / sizeof *rows };

int ep_embeddings_case_count(void) {
  return ROWS;
}

/* Of seven cells six become the same word. */
static void words_repeat(ep_case *self, const row *of) {
  float *x = self->x[EP_SPLIT_TRAIN];
  const int64_t columns = of->numbers + of->columns;
  for (int64_t i = 0; i < of->rows * columns; i++)
    if (i % columns >= of->numbers && i % 7 != 0) x[i] = (float)(of->embeddings / 3);
}

ep_case *ep_embeddings_case_create(int number) {
  const row *of = &rows[number];
  ep_case *self = ep_case_create(of->name, of->numbers + of->columns, EP_LOSS_MSE);
  ep_case_add_embedding(self, of->numbers, of->embeddings, of->dimension);
  ep_case_add_linear(self, 9, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 3, true);
  /* A word of few cells has a small gradient, of which this optimizer makes a step like others. */
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = of->rows,
          .batch_size = of->batch_size,
          .shuffle = of->batch_size < of->rows,
          .steps = 5,
          .lr = 0.01f,
          .seed = 101 + (uint64_t)number,
          .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-3f}});
  if (of->often) words_repeat(self, of);
  return self;
}
