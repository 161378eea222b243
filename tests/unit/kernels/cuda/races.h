/* races.h: finds data races between blocks that run at once, on one thread. Each block does its
 * acts in its own order; the blocks' acts follow one another at random. A block has a clock: how
 * many acts of each other block it knows of, by the arrivals that it awaited. Two acts on the same
 * thing, one of them a write, race where the later act's block does not know of the earlier one.
 * Needs no libcheck; ends the process where memory is short or a number is out of range. */
#ifndef EP_TESTS_KERNELS_RACES_H
#define EP_TESTS_KERNELS_RACES_H

typedef struct ep_races ep_races;

/* Meetings and things: numbers below these. The caller destroys it (NULL is fine). */
ep_races *ep_races_create(int blocks, int meetings, int things);
void ep_races_destroy(ep_races *self);

/* A block's next act. An await ends when `till` blocks have arrived since the beginning. Acts of
 * different blocks with the same turn, unless it is 0, are on different parts of a thing. A block's
 * turns on a thing never fall. */
void ep_races_arrive(ep_races *self, int block, int meeting);
void ep_races_await(ep_races *self, int block, int meeting, unsigned till);
void ep_races_read(ep_races *self, int block, int thing, int turn);
void ep_races_write(ep_races *self, int block, int thing, int turn);

typedef enum { EP_RACES_NONE, EP_RACES_STUCK, EP_RACES_FOUND } ep_races_outcome;

typedef struct {
  ep_races_outcome outcome;
  int block,
      what; /* the block whose act on the thing races, or that waits at the meeting for ever */
} ep_races_finding;

/* Runs all that the blocks do, in an order that the seed gives. */
ep_races_finding ep_races_run(ep_races *self, unsigned seed);

#endif
