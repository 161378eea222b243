/* simulator.h: the daemon's core (server/store, server/events, server/jobs, server/workers) in one
 * process and one thread, on a clock, a disk, threads and workers that are simulated, from a seed.
 *
 * The code of the daemon is linked as it is. What it calls of the C library is replaced by the
 * linker (--wrap, CMakeLists.txt), a header each:
 *
 *   memory.h   malloc and free: a crash takes all memory of the daemon, and its variables
 *   tasks.h    threads, mutexes, conditions, clocks
 *   disk.h     files and folders; files.c: the calls, vfs.c: those of SQLite
 *   sockets.h  socket pairs, event descriptors, poll, processes
 *   workers.h  the workers behind the sockets
 *   model.h    what clients were told, and what must hold
 *   clients.h  what clients do
 *
 * All that is random comes from the seed, so a run is repeated by its seed; its trace, a hash of
 * all that happened, shows that it was. */
#ifndef EP_TEST_SIMULATOR_SIMULATOR_H
#define EP_TEST_SIMULATOR_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happened, for the summary. */
typedef struct {
  uint64_t submissions, operations, ends, starts, reports, deaths, kills, power_failures, stops,
      opens, faults, quiets;
} simulated_counts;

typedef struct {
  uint64_t seed, random;
  uint64_t trace;
  uint64_t events, events_most; /* operations, reports, deaths, faults, crashes, starts */
  int64_t now_us;               /* since the machine was switched on */
  int64_t utc_us;               /* what the clock for people shows at 0 */
  bool inside;                  /* a task of the daemon runs, and not the simulator */
  bool verbose;
  simulated_counts counts;
} simulation;

/* In memory that a crash of the daemon does not take. */
extern simulation *SIM;

void simulation_begin(uint64_t seed, uint64_t events_most, bool verbose);

uint64_t random_next(void);
uint64_t random_below(uint64_t limit);
static inline bool one_in(uint64_t times) {
  return random_below(times) == 0;
}

/* Adds to the trace. */
void trace_note(uint64_t what, uint64_t value);
void trace_text(const char *text);

/* An event: counted, and part of the trace. With --verbose it is printed. */
void event_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An invariant does not hold: prints seed and event, and ends the program with status 1. */
_Noreturn void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define must_hold(condition, ...)             \
  do {                                        \
    if (!(condition)) violation(__VA_ARGS__); \
  } while (0)

#endif
