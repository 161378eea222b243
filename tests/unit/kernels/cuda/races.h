/* races.h: blocks that run at once, told on one thread: each does its acts in its order, those of
 * all in an order of chance. Each has a clock of what it knows of every other: of all acts before
 * an arrival that it awaited. Two acts on the same thing, one of them a write, race where the later
 * one's block does not know of the other. For any test program; all of it ends the process when
 * memory is out, or a number is none. */
#ifndef EP_TESTS_KERNELS_RACES_H
#define EP_TESTS_KERNELS_RACES_H

typedef struct ep_races ep_races;

/* Meetings and things: numbers below these. The caller destroys it (NULL is fine). */
ep_races *ep_races_create(int blocks, int meetings, int things);
void ep_races_destroy(ep_races *self);

/* What a block does next. An await is over when `till` blocks arrived since the beginning. Acts of
 * different blocks with the same turn, unless it is 0, are on different parts of a thing. A block's
 * turns on a thing never fall. */
void ep_races_arrive(ep_races *self, int block, int meeting);
void ep_races_await(ep_races *self, int block, int meeting, unsigned till);
void ep_races_read(ep_races *self, int block, int thing, int turn);
void ep_races_write(ep_races *self, int block, int thing, int turn);

typedef enum { EP_RACES_NONE, EP_RACES_STUCK, EP_RACES_FOUND } ep_races_outcome;

typedef struct {
  ep_races_outcome outcome;
  int block, what; /* whose act on which thing races, or who waits at which meeting for ever */
} ep_races_finding;

/* Runs all that the blocks do, in an order that the seed gives. */
ep_races_finding ep_races_run(ep_races *self, unsigned seed);

#endif
