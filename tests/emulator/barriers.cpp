/* The barriers of a block and of a cluster. */
#include "launch.h"

/* Lanes go on; the current warp's do when its turn ends or theirs comes. */
static void lanes_wake(launch_warp *warp, unsigned launch_warp::*set, unsigned lanes) {
  if (!lanes) return;
  warp->ready |= lanes;
  warp->*set &= ~lanes;
  if (!launch.current || warp != launch.current->warp) launch_list(warp);
}

/* --- barriers of a block --------------------------------------------------------------------- */

static unsigned lanes_at(const launch_warp *warp, unsigned number) {
  unsigned lanes = 0;
  for (unsigned left = warp->at_barrier; left; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    if (warp->threads[lane].barrier == number) lanes |= 1u << lane;
  }
  return lanes;
}

int emulator_barrier(unsigned number, unsigned threads, bool predicate, emulator_site site) {
  launch_thread *self = launch.current;
  launch_block *block = self->warp->block;
  self->site = site;
  const bool is_part = threads % LANES == 0 && threads <= (unsigned)launch.size.threads;
  if (number >= EMULATOR_BARRIERS || (number > 0 && !is_part))
    emulator_fail(site, "barrier %u of %u threads, which there is not", number, threads);
  launch_barrier *barrier = &block->barriers[number];
  if (number == 0 && block->exited)
    emulator_fail(site, "__syncthreads, after %u threads of the block have exited", block->exited);
  if (barrier->arrived && barrier->threads != threads)
    emulator_fail(site, "barrier %u of %u threads and of %u", number, barrier->threads, threads);
  barrier->threads = threads;
  barrier->votes += predicate;
  if (++barrier->arrived < threads) {
    self->barrier = number;
    self->warp->ready &= ~self->bit;
    self->warp->at_barrier |= self->bit;
    launch_leave();
    return barrier->counted;
  }
  std::string outside;
  if (!shared_intact(block->number, &outside))
    emulator_fail(site, "%s, seen at %s", outside.c_str(),
                  number == 0 ? "__syncthreads" : "a barrier");
  barrier->counted = barrier->votes;
  barrier->arrived = 0;
  barrier->votes = 0;
  launch.progress++;
  for (unsigned i = 0; i < launch.warps_per_block; i++)
    lanes_wake(block->warps + i, &launch_warp::at_barrier, lanes_at(block->warps + i, number));
  return barrier->counted;
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
    for (unsigned w = 0; w < launch.warps_per_block; w++) {
      launch_warp *warp = cluster->blocks[i].warps + w;
      lanes_wake(warp, &launch_warp::at_cluster_barrier, warp->at_cluster_barrier);
    }
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
  if (block->barriers[0].arrived)
    emulator_fail(thread->site, "a thread exits while %u of its block wait at __syncthreads",
                  block->barriers[0].arrived);
  if (thread->arrived)
    emulator_fail(thread->site, "a thread exits between cluster_arrive and cluster_wait");
  block->exited++;
  block->cluster->exited++;
  cluster_complete(block->cluster);
}
