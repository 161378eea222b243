/* network.h: a network of images with convolutions by cuDNN, for the executor "cuda/images".
 *
 * Images lie pixel by pixel (kernels.h), in bfloat16 where `precision` is bf16, else in float32;
 * the parameters, their gradients, sums and statistics are float32. Where `precision` is fp32, what
 * a convolution reads is split first, into scratch, by the blend that writes it or by
 * ep_images_split. A step is: the batch and the weights, copied into cuDNN's order; the parts
 * (parts.h), forward; the layers after flatten, the loss and their way back, which are the shared
 * network's but for a last layer of few outputs; the parts, back; the update, the network's as
 * well. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_NETWORK_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_NETWORK_H

#include "kernels/cuda/executors/images/convolution.h"
#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/executors/images/parts.h"
#include "kernels/cuda/layers/thin_linear.h"
#include "kernels/cuda/network/network.h"

enum { EP_IMAGES_WAYS = 3, EP_IMAGES_GRADS = 3 };

/* Weights that are copied: a part's, and the head's two. */
enum { EP_IMAGES_HEAD_WEIGHTS = 2 };

/* What a part has on the device. */
typedef struct {
  void *output; /* numbers [batch, out, pitch] */
  bool trained; /* has parameters that are not frozen */
  int grad;     /* which of the gradients is that by its output */
  int grad_x;   /* the one by its input */

  /* A convolution: copies of the weights [out, kernel, pitch], their gradient in the same order,
   * of float32 in slices.
   * Split: weight [out, kernel, EP_IMAGES_PARTS, pitch], back_weight [EP_IMAGES_PARTS, out, kernel,
   * pitch], which is else not there. */
  void *weight, *back_weight, *weight_gradient;
  ep_images_weight_sums sums; /* how that gradient comes about, unless by cuDNN: no slices then */
  ep_convolution ways[EP_IMAGES_WAYS][2]; /* of a full batch; of an epoch's last */

  float *figures;   /* of a norm: [EP_IMAGES_FIGURES, pitch] */
  void *chosen;     /* of a pool with a norm: what was the greatest, numbers [batch, out, pitch] */
  void *skip;       /* of a residual: the gradient on its way past, numbers [batch, in, pitch] */
  float *bias_sums; /* of a blend's bias without a norm, that is trained: [bias_slices, pitch] */
  int bias_slices;
  uint8_t *places; /* of a max pool that is no blend's: [batch, out, pitch] */
  float *plain;    /* of a layer_norm that is not direct: what it takes, in the network's order,
                      [batch, features] */
  /* Of one that takes the images as they lie: its weight and bias in their order, [2, features],
   * and the gradient, [the network's slices, those]. */
  float *norm_weights, *norm_gradient;
} ep_images_layer;

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_images_parts parts;    /* the rows are ours */
  ep_images_layer *layers;  /* [parts.count] */
  bool half;                /* numbers are bfloat16, else float32 */
  bool splits;              /* what convolutions read is split */
  int first_trained;        /* gradients stop here; parts.count when there is none */

  int64_t in_pitch;
  void *input;   /* numbers [batch, in pixels, in_pitch] */
  void *patches; /* windows of the first part, [batch, out pixels, pitch of a window]; NULL when it
                    is a convolution like others */
  float *flat;   /* [batch, features]: what the shared network goes on from; the last part's output,
                    where that lies so */
  const ep_op *head;  /* a linear layer of few outputs after flatten, or NULL */
  int head_slices;    /* of a batch's rows, for its gradients */
  float *head_weight; /* [outputs, pixels, pitch] */
  float *head_gradient, *head_bias_gradient; /* [head_slices, those]; [head_slices, outputs] */
  /* Numbers, as many as the widest part's: what a part takes and leaves, and what the gradient by a
   * convolution's weights, beside the way back, is still found from. */
  void *grads[EP_IMAGES_GRADS];
  float *sums;              /* scratch of the blends */
  float *plain;             /* scratch of the layer_norms */
  float *split_x, *split_y; /* a convolution's input in three parts; the gradient by its output */
  void *workspace, *weights_workspace;
  ep_images_weights weights;
} ep_images_network;

/* Memory and convolutions for a network, which is lent. *out is for ep_images_network_destroy. */
ep_status ep_images_network_create(ep_cuda_network *network, ep_images_network **out,
                                   ep_error *error);
void ep_images_network_destroy(ep_images_network *images); /* NULL is allowed */

/* step.c: queues one training step, as ep_cuda_network_step does. */
ep_status ep_images_gradients_queue(ep_images_network *images, int64_t rows, ep_error *error);

/* What part i takes; -1 as i - 1: the input. */
static inline void *ep_images_output(const ep_images_network *images, int i) {
  return i < 0 ? images->input : images->layers[i].output;
}

/* Numbers of a pixel with so many channels. */
static inline int64_t ep_images_across(const ep_images_network *images, int64_t channels) {
  return ep_images_pitch(images->half, channels);
}

/* Whether a part is a layer_norm that takes the images as they lie: float32 without gaps, whose
 * weights are put into their order. Its way back writes over the gradient. */
static inline bool ep_images_norm_is_direct(const ep_images_network *images,
                                            const ep_images_part *part) {
  return part->kind == EP_IMAGES_LAYER_NORM && !images->half &&
         ep_images_across(images, part->in.channels) == part->in.channels;
}

/* Numbers of a convolution's window. */
static inline int64_t ep_images_window(const ep_op *op) {
  return op->in.channels * op->kernel[0] * op->kernel[1];
}

/* The first layer that the shared network runs. */
static inline int ep_images_tail(const ep_images_network *images) {
  return images->head ? images->parts.tail + 2 : images->parts.tail;
}

/* Numbers of an image, gaps included. */
static inline int64_t ep_images_numbers(const ep_images_network *images, ep_shape shape) {
  return shape.height * shape.width * ep_images_across(images, shape.channels);
}

/* What convolution i reads, forward: its windows where they are laid out. channels: numbers of a
 * pixel. */
static inline ep_shape ep_images_read_shape(const ep_images_network *images, int i) {
  const ep_images_part *part = &images->parts.rows[i];
  ep_shape shape = part->in;
  if (i == 0 && images->patches)
    shape = (ep_shape){ep_images_window(part->own), part->out.height, part->out.width};
  shape.channels = ep_images_across(images, shape.channels);
  return shape;
}

#endif
