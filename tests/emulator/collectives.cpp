/* What collectives of a warp do, once all lanes are there. */
#include <cstring>

#include "launch.h"

template <typename T> static T *operands_of(const launch_warp *warp, unsigned lane) {
  return (T *)warp->threads[lane].operands;
}

static void shuffle(const launch_warp *warp, unsigned members) {
  for (unsigned left = members; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    emulator_shuffle *own = operands_of<emulator_shuffle>(warp, lane);
    if (!(members >> own->from & 1))
      emulator_fail(launch.current->site, "lane %u shuffles with lane %u, which does not take part",
                    lane, own->from);
    own->got = operands_of<emulator_shuffle>(warp, own->from)->value;
  }
}

static void vote(const launch_warp *warp, unsigned members) {
  unsigned ballot = 0;
  for (unsigned left = members; left; left &= left - 1)
    if (operands_of<emulator_vote>(warp, (unsigned)__builtin_ctz(left))->predicate)
      ballot |= left & -left;
  for (unsigned left = members; left; left &= left - 1)
    operands_of<emulator_vote>(warp, (unsigned)__builtin_ctz(left))->ballot = ballot;
}

/* --- products -------------------------------------------------------------------------------- */

static float float_of(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

template <int K> struct matrices { float a[16][K], b[K][8], c[16][8]; };

static inline void fragment_load(matrices<8> &all, unsigned g, unsigned t,
                                 const emulator_product &of) {
  constexpr unsigned KEPT = 0xffffe000u;
  for (unsigned i = 0; i < 4; i++) all.a[g + i % 2 * 8][t + i / 2 * 4] = float_of(of.a[i] & KEPT);
  for (unsigned i = 0; i < 2; i++) all.b[t + i * 4][g] = float_of(of.b[i] & KEPT);
}

static inline void fragment_load(matrices<16> &all, unsigned g, unsigned t,
                                 const emulator_product &of) {
  for (unsigned i = 0; i < 4; i++) {
    float *to = &all.a[g + i % 2 * 8][2 * t + i / 2 * 8];
    to[0] = float_of(of.a[i] << 16);
    to[1] = float_of(of.a[i] & 0xffff0000u);
  }
  for (unsigned i = 0; i < 2; i++) {
    all.b[2 * t + i * 8][g] = float_of(of.b[i] << 16);
    all.b[2 * t + i * 8 + 1][g] = float_of(of.b[i] & 0xffff0000u);
  }
}

/* Each sum in the order of k. */
template <int K> static void product(const launch_warp *warp) {
  matrices<K> all;
  for (unsigned lane = 0; lane < LANES; lane++) {
    unsigned g = lane / 4, t = lane % 4;
    const emulator_product &of = *operands_of<emulator_product>(warp, lane);
    fragment_load(all, g, t, of);
    for (unsigned i = 0; i < 4; i++) all.c[g + i / 2 * 8][2 * t + i % 2] = of.c[i];
  }
  for (int i = 0; i < 16; i++) {
    float sums[8];
    memcpy(sums, all.c[i], sizeof sums);
    for (int k = 0; k < K; k++)
      for (int j = 0; j < 8; j++) sums[j] += all.a[i][k] * all.b[k][j];
    memcpy(all.c[i], sums, sizeof sums);
  }
  for (unsigned lane = 0; lane < LANES; lane++) {
    float *c = operands_of<emulator_product>(warp, lane)->c;
    for (unsigned i = 0; i < 4; i++) c[i] = all.c[lane / 4 + i / 2 * 8][2 * (lane % 4) + i % 2];
  }
}

/* --- ldmatrix -------------------------------------------------------------------------------- */

static void ldmatrix(const launch_warp *warp, bool transposed) {
  unsigned words[LANES][4];
  for (unsigned lane = 0; lane < LANES; lane++) {
    const void *row = operands_of<emulator_rows>(warp, lane)->row;
    unsigned address = emulator_shared_address(row, launch.current->site);
    memcpy(words[lane], emulator_shared_pointer(address, 16, "ldmatrix", launch.current->site), 16);
  }
  for (unsigned lane = 0; lane < LANES; lane++)
    for (unsigned i = 0; i < 4; i++) {
      unsigned *to = operands_of<emulator_rows>(warp, lane)->to + i;
      if (!transposed) {
        *to = words[8 * i + lane / 4][lane % 4];
        continue;
      }
      unsigned column = lane / 4, row = 8 * i + 2 * (lane % 4), shift = column % 2 * 16;
      unsigned first = words[row][column / 2] >> shift & 0xffff;
      *to = first | (words[row + 1][column / 2] >> shift & 0xffff) << 16;
    }
}

void collective_perform(emulator_collective kind, launch_warp *warp, unsigned members) {
  if (kind >= EMULATOR_MMA_TF32 && members != 0xffffffffu && kind != EMULATOR_CLUSTER_BARRIER)
    emulator_fail(launch.current->site, "%s in a warp of fewer than 32 lanes",
                  report_collective(kind));
  switch (kind) {
  case EMULATOR_SYNCWARP:
  case EMULATOR_CLUSTER_BARRIER: return;
  case EMULATOR_SHUFFLE: return shuffle(warp, members);
  case EMULATOR_VOTE: return vote(warp, members);
  case EMULATOR_MMA_TF32: return product<8>(warp);
  case EMULATOR_MMA_BF16: return product<16>(warp);
  case EMULATOR_LDMATRIX: return ldmatrix(warp, false);
  case EMULATOR_LDMATRIX_TRANSPOSED: return ldmatrix(warp, true);
  }
}
