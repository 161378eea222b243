/* offsets.h: which piece of a product is whose in cuda/grid, and where it lies in shared memory:
 * numbers alone, which are tested without a GPU. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_OFFSETS_H
#define EP_KERNELS_CUDA_EXECUTORS_GRID_OFFSETS_H

#include "kernels/cuda/executors/grid/args.h"
#include "kernels/random.h" /* EP_DEVICE_INLINE */

EP_DEVICE_INLINE int64_t ep_grid_cut_tasks(const ep_grid_cut *cut) {
  return (int64_t)cut->across * cut->down * cut->splits;
}

/* Outputs (or inputs) of a product's large tile. */
EP_DEVICE_INLINE int ep_grid_large_m(bool precise) {
  return precise ? EP_GRID_LARGE_M : EP_GRID_WIDE_M;
}

/* Whether neighbouring blocks, where they are clusters, add up a large tile's sums between them
 * before they exchange them with others. */
EP_DEVICE_INLINE bool ep_grid_cut_pairs(const ep_grid_cut *cut, int blocks) {
  return cut->large && cut->splits % 2 == 0 && ep_grid_cut_tasks(cut) <= blocks;
}

/* Of a whole product's terms, which are a number of lines: the lines that one copy brings. */
EP_DEVICE_INLINE int ep_grid_whole_lines(int terms) {
  int lines = terms / EP_GRID_LINE;
  return lines < EP_GRID_WHOLE_LINES ? lines : EP_GRID_WHOLE_LINES;
}

/* A task of a cut product: a tile of the result from (m, n) on, number `group`, and the terms of
 * its sums from `first` to `end`, part `split` of them. */
typedef struct {
  int m, n, first, end;
  int group, split;
} ep_grid_task;

/* Task `number` of sums of `terms`. The tile: tile_m of what runs across, by tile_n. */
EP_DEVICE_INLINE ep_grid_task ep_grid_task_of(const ep_grid_cut *cut, unsigned number, int terms,
                                              int tile_m, int tile_n) {
  ep_grid_task of;
  unsigned splits = cut->splits, group = number / splits, down = group / cut->across;
  of.split = (int)(number - group * splits);
  of.group = (int)group;
  of.m = (int)(group - down * cut->across) * tile_m;
  of.n = (int)down * tile_n;
  of.first = of.split * cut->chunk;
  of.end = of.first + cut->chunk < terms ? of.first + cut->chunk : terms;
  return of;
}

/* Four number `four` of a line of EP_GRID_LINE floats, as a warpgroup reads it: the fours of eight
 * lines change places, so that none of the same column share a bank. */
EP_DEVICE_INLINE int ep_grid_line_offset(int line, int four) {
  return line * EP_GRID_LINE + (four ^ line % 8) * 4;
}

/* The first of two neighbouring outputs, of the 64 of two lines, that fragments of a product have
 * as rows g and g + 8 of warp 0 to 3 of a warpgroup. In this order the loads of a warp's halves,
 * from four lines each, meet in no bank. */
EP_DEVICE_INLINE int ep_grid_pair(int warp, int g) {
  int four = warp % 2 * 2 + g / 4 + g / 2 % 2 * 4;
  return warp / 2 * EP_GRID_LINE + four * 4 + g % 2 * 2;
}

/* Which four of a line a thread has as the first or second (i) of its two, in the lines of such
 * outputs: threads of every other g begin with the second, so that none of eight neighbours meet in
 * a bank. */
EP_DEVICE_INLINE int ep_grid_pair_four(int g, int t, int i) {
  return (i ^ g % 2) * 4 + t;
}

/* The column of an input in fragments of a product: a thread's, 2t and 2t + 1 of each eight, are of
 * four neighbours 4t to 4t + 3 of 16. */
EP_DEVICE_INLINE int ep_grid_turned(int input) {
  return input / 16 * 16 + input % 4 / 2 * 8 + input % 16 / 4 * 2 + input % 2;
}

/* Floats of a panel: EP_GRID_LARGE_N rows of EP_GRID_LARGE_M inputs, turned. */
enum { EP_GRID_PANEL_FLOATS = EP_GRID_LARGE_M * EP_GRID_LARGE_N };

/* Where panels, one behind the other, have a row of an input: a line has 32 rows of an input, all
 * inputs' first lines come first; the last eight rows lie in blocks of four rows by eight inputs.
 * Rows: EP_GRID_LARGE_N, eight more than some lines. */
EP_DEVICE_INLINE int64_t ep_grid_panel_offset(int row, int input) {
  int line = ep_grid_turned(input % EP_GRID_LARGE_M);
  int64_t lines = (int64_t)(input / EP_GRID_LARGE_M) * EP_GRID_PANEL_FLOATS +
                  row / EP_GRID_LINE * EP_GRID_LINE * EP_GRID_LARGE_M;
  if (row >= EP_GRID_LARGE_N - 8)
    return lines + line / 8 * 64 + row % 8 / 4 * 32 + line % 8 * 4 + row % 4;
  return lines + ep_grid_line_offset(line, row % EP_GRID_LINE / 4) + row % 4;
}

/* Of products that are whole: the four, of a line's eight, in which a thread has two neighbours of
 * its line's terms, number `eight` of four such, the second ones for odd t. */
EP_DEVICE_INLINE int ep_grid_whole_terms(int eight, int t) {
  return eight + t / 2 * 4;
}

/* The same where terms lie across: in which fragments i = 0 or 1 have two neighbouring inputs as
 * rows g and g + 8, the second ones for odd g. */
EP_DEVICE_INLINE int ep_grid_whole_four(int g, int i) {
  return i * 2 + g / 4 + g / 2 % 2 * 4;
}

/* A front of one block: where a row has a feature, of `features`: in blocks of eight rows by eight
 * features, in a block a feature a line. Of every other four features the halves of the rows change
 * places: so that neither single numbers, of eight rows of four features, meet in a bank nor fours
 * of rows, of eight features. */
EP_DEVICE_INLINE int ep_grid_chain_offset(int row, int feature, int features) {
  return row / 8 * 8 * features + feature * 8 + (row % 8 ^ (feature & 4));
}

/* Floats of a line of weights: an odd number of eights, so that loads of eight lines meet in no
 * bank. */
EP_DEVICE_INLINE int ep_grid_chain_line(int columns) {
  return ((columns + 7) / 8 | 1) * 8;
}

/* The same of weights, an output a line: an output's column. */
EP_DEVICE_INLINE int ep_grid_chain_weight(int output, int column, int line) {
  return output * line + (column ^ (output & 4));
}

#endif
