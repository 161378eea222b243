/* The barriers of a block and of a cluster. */
#include "launch.h"

/* Lanes of a set go on; the current warp's do when its turn ends or theirs comes. */
static void warp_wake(launch_warp *warp, unsigned launch_warp::*set) {
  if (!(warp->*set)) return;
  warp->ready |= warp->*set;
  warp->*set = 0;
  if (!launch.current || warp != launch.current->warp) launch_list(warp);
}

static void block_wake(const launch_block *block, unsigned launch_warp::*set) {
  for (unsigned i = 0; i < launch.warps_per_block; i++) warp_wake(block->warps + i, set);
}

/* --- __syncthreads --------------------------------------------------------------------------- */

int emulator_barrier(bool predicate, emulator_site site) {
  launch_thread *self = launch.current;
  launch_block *block = self->warp->block;
  self->site = site;
  if (block->exited)
    emulator_fail(site, "__syncthreads, after %u threads of the block have exited", block->exited);
  block->votes += predicate;
  if (++block->arrived < (unsigned)launch.size.threads) {
    self->warp->ready &= ~self->bit;
    self->warp->at_barrier |= self->bit;
    launch_leave();
    return block->counted;
  }
  std::string outside;
  if (!shared_intact(block->number, &outside))
    emulator_fail(site, "%s, seen at __syncthreads", outside.c_str());
  block->counted = block->votes;
  block->arrived = 0;
  block->votes = 0;
  launch.progress++;
  block_wake(block, &launch_warp::at_barrier);
  return block->counted;
}

/* --- barrier.cluster ------------------------------------------------------------------------- */

/* Complete when all threads have arrived that have not exited. */
static void cluster_complete(launch_cluster *cluster) {
  if (!cluster->arrived || cluster->arrived + cluster->exited < launch.cluster_threads) return;
  cluster->arrived = 0;
  cluster->phase++;
  launch.progress++;
  unsigned blocks = launch.cluster_threads / (unsigned)launch.size.threads;
  for (unsigned i = 0; i < blocks; i++)
    block_wake(cluster->blocks + i, &launch_warp::at_cluster_barrier);
}

void emulator_cluster_arrive(emulator_site site) {
  emulator_meet(EMULATOR_CLUSTER_BARRIER, 0xffffffffu, nullptr, site);
  launch_thread *self = launch.current;
  launch_cluster *cluster = self->warp->block->cluster;
  if (self->arrived) emulator_fail(site, "cluster_arrive twice without cluster_wait");
  self->arrived = true;
  self->phase = cluster->phase;
  cluster->arrived++;
  cluster_complete(cluster);
}

void emulator_cluster_wait(emulator_site site) {
  emulator_meet(EMULATOR_CLUSTER_BARRIER, 0xffffffffu, nullptr, site);
  launch_thread *self = launch.current;
  if (!self->arrived) emulator_fail(site, "cluster_wait without cluster_arrive");
  if (self->phase == self->warp->block->cluster->phase) {
    self->warp->ready &= ~self->bit;
    self->warp->at_cluster_barrier |= self->bit;
    launch_leave();
  }
  self->arrived = false;
}

/* --- exits ----------------------------------------------------------------------------------- */

void barriers_thread_exit(launch_thread *thread) {
  launch_block *block = thread->warp->block;
  if (block->arrived)
    emulator_fail(thread->site, "a thread exits while %u of its block wait at __syncthreads",
                  block->arrived);
  if (thread->arrived)
    emulator_fail(thread->site, "a thread exits between cluster_arrive and cluster_wait");
  block->exited++;
  block->cluster->exited++;
  cluster_complete(block->cluster);
}
