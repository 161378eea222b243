/* augment.h: where each pixel of a training row comes from, and what a stored byte means. Plain C
 * that also compiles as CUDA. */
#ifndef EP_KERNELS_FORMULAS_AUGMENT_H
#define EP_KERNELS_FORMULAS_AUGMENT_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"
#include "kernels/random.h"

/* What was drawn for one row: first shift, then flip, then crop. */
typedef struct {
  int64_t down, right;           /* the shift */
  int64_t crop_down, crop_right; /* the crop's upper left corner */
  bool mirrored;
} ep_augmentation;

/* 0 … count - 1, from a word of `bits` random bits. */
EP_DEVICE_INLINE int64_t ep_augment_pick(uint32_t word, int bits, int64_t count) {
  return (int64_t)((uint64_t)word * (uint64_t)count >> bits);
}

/* Row `row` of the training set in epoch `epoch`. stored, in: the program's. */
EP_DEVICE_INLINE ep_augmentation ep_augment_draw(const ep_augment *augment, ep_shape stored,
                                                 ep_shape in, uint64_t seed, int64_t epoch,
                                                 int64_t row) {
  ep_random4 words = ep_random(seed, EP_RANDOM_AUGMENT, (uint64_t)epoch, (uint64_t)row);
  int64_t shift = augment->shift;
  ep_augmentation drawn;
  drawn.down = ep_augment_pick(words.word[0], 32, 2 * shift + 1) - shift;
  drawn.right = ep_augment_pick(words.word[1], 32, 2 * shift + 1) - shift;
  drawn.mirrored = augment->flip && (words.word[2] & 1);
  drawn.crop_down = ep_augment_pick(words.word[3] >> 16, 16, stored.height - in.height + 1);
  drawn.crop_right = ep_augment_pick(words.word[3] & 0xFFFF, 16, stored.width - in.width + 1);
  return drawn;
}

/* Evaluation's: the middle. */
EP_DEVICE_INLINE ep_augmentation ep_augment_none(ep_shape stored, ep_shape in) {
  ep_augmentation middle = {0, 0, (stored.height - in.height) / 2, (stored.width - in.width) / 2,
                            false};
  return middle;
}

/* Which number of the stored row becomes pixel (channel, y, x) of the network's input; -1 = none,
 * it is 0 in the stored type. */
EP_DEVICE_INLINE int64_t ep_augment_source(const ep_augmentation *drawn, ep_shape stored,
                                           int64_t channel, int64_t y, int64_t x) {
  y += drawn->crop_down;
  x += drawn->crop_right;
  if (drawn->mirrored) x = stored.width - 1 - x;
  y -= drawn->down;
  x -= drawn->right;
  if (y < 0 || y >= stored.height || x < 0 || x >= stored.width) return -1;
  return (channel * stored.height + y) * stored.width + x;
}

/* A stored byte as the network sees it, by its channel's scale and shift. */
EP_DEVICE_INLINE ep_real ep_byte_value(uint8_t byte, float scale, float shift) {
  return (ep_real)byte * scale + shift;
}

#endif
