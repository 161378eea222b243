/* programs.h: test programs for a backend, each with its data and first weights. This header makes
 * one; cases.c has the list: every layer with every loss, awkward sizes, batches, optimizers,
 * images, kinds of data. For C and C++, without libcheck. All numbers come from Philox: the same on
 * every machine. */
#ifndef EP_TESTS_KERNELS_PROGRAMS_H
#define EP_TESTS_KERNELS_PROGRAMS_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { EP_CASE_OPS = 56, EP_CASE_CHANNELS = 8, EP_CASE_CLASSES = 128 };

typedef struct {
  char name[128];
  ep_op ops[EP_CASE_OPS];
  ep_parameter_group groups[2 * EP_CASE_OPS];
  float class_weights[EP_CASE_CLASSES];
  float x_scale[EP_CASE_CHANNELS], x_shift[EP_CASE_CHANNELS];
  ep_program program;      /* its arrays are those above */
  float *parameters;       /* [parameters + buffers]: the first weights, to import */
  void *x[EP_SPLIT_COUNT]; /* [rows[split], the stored shape's count] of x_type */
  void *y[EP_SPLIT_COUNT]; /* float [rows, target_columns] or int32 [rows] */
  int64_t rows[EP_SPLIT_COUNT];
  int64_t steps; /* how many are worth training */
  float *lr;     /* [steps] */
  bool lr_constant;
} ep_case;

/* How a case is trained. Zeros mean: full batch, no shuffle, plain SGD, seed 0. */
typedef struct {
  int64_t rows;       /* of training; validation has 5 rows, test 37 */
  int64_t batch_size; /* 0, or more than rows: full */
  bool shuffle;
  uint64_t seed;
  int64_t steps;
  float lr;
  bool lr_falls; /* from lr down to half of it, step by step */
  ep_optimizer optimizer;
  float weight_decay; /* of every group … */
  bool spare_biases;  /* … but biases and norms */
  uint32_t frozen;    /* 1 << op: its parameters stay */
  bool bytes;         /* x is stored as bytes */
  bool only_planned;  /* neither weights nor data are made */
} ep_case_training;

/* Of conv2d and the pools; zeros: padding 0, stride 1 (pools: the kernel), dilation 1, groups 1. */
typedef struct {
  int kernel[2], stride[2], padding[2], dilation[2];
  int64_t groups;
} ep_case_window;

/* A case of one's own: create, add layers, say what is stored, finish. All end the process when
 * memory is out or there are more than EP_CASE_OPS layers. The caller destroys it (NULL is fine).
 */
ep_case *ep_case_create(const char *name, int64_t in_features, ep_loss_type loss);
ep_case *ep_case_create_image(const char *name, ep_shape in, ep_loss_type loss);
void ep_case_destroy(ep_case *self);

void ep_case_add_linear(ep_case *self, int64_t out_features, bool bias);
/* A layer of nothing but its type and defaults: activations, softmax, flatten. */
void ep_case_add(ep_case *self, ep_layer_type type);
void ep_case_add_conv2d(ep_case *self, int64_t out_channels, const ep_case_window *window,
                        bool bias);
void ep_case_add_pool(ep_case *self, ep_layer_type type, const ep_case_window *window);
void ep_case_add_adaptive_pool(ep_case *self, int64_t height, int64_t width);
void ep_case_add_dropout(ep_case *self, ep_layer_type type, float p);
void ep_case_add_norm(ep_case *self, ep_layer_type type, bool affine); /* batch_, layer_, … */
/* Of all features but the first `numbers`. */
void ep_case_add_embedding(ep_case *self, int64_t numbers, int64_t embeddings, int64_t dimension);
void ep_case_add_residual(ep_case *self, int source);
/* add, mul, or concat by channels, of `count` values: 0 is the input, i + 1 layer i's. */
void ep_case_add_join(ep_case *self, ep_layer_type type, const int *values, int count);
void ep_case_add_slice(ep_case *self, int axis, int64_t start, int64_t count);
void ep_case_add_reshape(ep_case *self, ep_shape shape);
void ep_case_add_permute(ep_case *self, const int order[EP_SHAPE_SIDES]);
/* Not causal: padded by half on each side. */
void ep_case_add_conv1d(ep_case *self, int64_t out_channels, int kernel, int dilation, bool causal);
/* Kernel, stride, padding and dilation of the window; y: [channels kernel, 1, windows]. */
void ep_case_add_unfold(ep_case *self, const ep_case_window *window);
/* Of what is [channels, 1, length]. */
void ep_case_add_gru(ep_case *self, int64_t hidden, bool bias);
/* The layer that was added last reads this value, of the same shape, instead of the last. */
void ep_case_read(ep_case *self, int value);
/* The number of the layer that was added last, for ep_case_add_residual; -1 = none yet. */
int ep_case_last(const ep_case *self);

/* x is stored as bytes, with a scale and a shift for each channel (EP_CASE_CHANNELS at most). */
void ep_case_store_bytes(ep_case *self);
/* Rows are stored larger than the network takes them, and cropped. */
void ep_case_store_larger(ep_case *self, int64_t height, int64_t width);
/* The classes' weights differ: of cross_entropy and nll, EP_CASE_CLASSES at most. */
void ep_case_weigh_classes(ep_case *self);

/* Trains it on `data` replicas of up to `model` stages, of like numbers of layers, each of one at
 * least; no residual's block is cut. A batch_norm goes over all replicas and one micro-batch, so
 * that the result is that of one rank. 1, 1, 1: on one rank again. */
void ep_case_set_ranks(ep_case *self, int data, int model, int micro_batches);

/* Makes weights, and data that fit: bce wants 0 or 1, classes are below out_features, an embedding
 * takes whole numbers. */
void ep_case_finish(ep_case *self, const ep_case_training *training);

/* The list: cases 0 … count-1, finished. The first EP_CASE_VOCABULARY are every layer with every
 * loss, last and inside. */
enum { EP_CASE_VOCABULARY = EP_LAYER_COUNT * EP_LOSS_COUNT * 2 };
int ep_case_count(void);
ep_case *ep_case_create_number(int number);

#ifdef __cplusplus
}
#endif
#endif
