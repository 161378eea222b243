/* launch.h: the state of the launch that runs: clusters of blocks of warps of threads. Internal to
 * the emulator. */
#ifndef EP_TEST_EMULATOR_LAUNCH_H
#define EP_TEST_EMULATOR_LAUNCH_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator.h"
#include "include/device_calls.h"

constexpr unsigned LANES = 32;

struct launch_warp;

/* A copy that a thread started and has not waited for. */
struct launch_copy {
  void *to;
  const void *from;
  unsigned bytes;
  bool in_bounds;
  unsigned group;
};

struct launch_thread {
  void *fiber;
  launch_warp *warp;
  unsigned number;          /* in its block */
  unsigned bit;             /* of its lane */
  emulator_site site;       /* where it last called the emulator */
  emulator_collective kind; /* what follows: while it waits at a collective */
  unsigned mask;
  void *operands;
  bool arrived;                    /* at the cluster's barrier, and has not waited there */
  unsigned phase;                  /* of the cluster's barrier, when it arrived */
  unsigned barrier;                /* of the block, that it waits at */
  unsigned groups;                 /* of copies, committed so far */
  std::vector<launch_copy> copies; /* by group */
};

struct launch_block;

/* Each lane is in one of the sets, which are masks of lanes. */
struct launch_warp {
  launch_block *block;
  launch_thread *threads;
  unsigned exists; /* all of them: fewer than 32 in the last warp of some blocks */
  unsigned ready, polling, at_collective, at_barrier, at_cluster_barrier, exited;
  unsigned quiet;  /* collectives since a lane last polled */
  bool listed;     /* among those that the scheduler picks from */
  bool descending; /* the order in which lanes run */
};

struct launch_cluster;

/* A barrier of a block. */
struct launch_barrier {
  unsigned threads, arrived; /* that it waits for, while any have; that have */
  int votes, counted;        /* of the barrier that fills, and of the last one */
};

struct launch_block {
  unsigned number;
  char *memory; /* shared */
  launch_cluster *cluster;
  launch_warp *warps;
  unsigned exited; /* threads */
  launch_barrier barriers[EMULATOR_BARRIERS];
};

struct launch_cluster {
  launch_block *blocks;
  unsigned arrived, exited; /* threads */
  unsigned phase;           /* of its barrier: how often it was complete */
};

/* The launch. */
struct launch_state {
  emulator_launch size;
  const std::function<void()> *kernel;
  unsigned warps_per_block, cluster_threads;
  std::vector<launch_thread> threads;
  std::vector<launch_warp> warps;
  std::vector<launch_block> blocks;
  std::vector<launch_cluster> clusters;
  std::vector<launch_warp *> listed; /* warps with lanes that are ready or poll */
  launch_thread *current;            /* nullptr: the scheduler */
  void *scheduler;                   /* its fiber */
  size_t live;                       /* threads */
  uint64_t progress;                 /* changes when threads get anywhere */
  uint64_t random;
  bool failed;
  std::string failure;
};
extern launch_state launch;

static inline unsigned launch_random() {
  launch.random ^= launch.random << 13;
  launch.random ^= launch.random >> 7;
  launch.random ^= launch.random << 17;
  return (unsigned)(launch.random >> 32);
}

/* scheduler.cpp: the warp has lanes that are ready. */
void launch_list(launch_warp *warp);
/* Goes on with a lane that is ready, or with the scheduler. The current thread is out of `ready`,
 * or goes on itself. */
void launch_leave();
/* Ends a thread. */
[[noreturn]] void launch_thread_exit();

/* barriers.cpp: what an exit means for those who wait. */
void barriers_thread_exit(launch_thread *thread);

/* collectives.cpp: carries out a collective for some lanes of a warp. */
void collective_perform(emulator_collective kind, launch_warp *warp, unsigned members);

/* shared.cpp: the shared memory of all blocks. false: no memory. */
bool shared_create(int blocks, size_t bytes);
char *shared_of_block(unsigned block);
/* Which block has an address in its memory or around it, -1: none. */
int shared_block_of(const void *address);
/* Whether the words around a block's memory are as they were; where not: says so in *failure. */
bool shared_intact(unsigned block, std::string *failure);
void shared_destroy();

/* report.cpp */
std::string report_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
std::string report_thread(const launch_thread *thread);
/* Where the threads of each block are. */
std::string report_places();
/* Where the lanes of a warp are. */
std::string report_lanes(const launch_warp *warp);
const char *report_collective(emulator_collective kind);

#endif
