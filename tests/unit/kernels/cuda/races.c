#include "tests/unit/kernels/cuda/races.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_MOST = 40 /* acts of a block before another's */ };

typedef enum { ARRIVE, AWAIT, READ, WRITE } act_kind;

typedef struct {
  act_kind kind;
  int what; /* a meeting, or a thing */
  unsigned till;
  int turn;
} act;

typedef struct {
  act *acts;
  int count, room, next;
} actor;

/* When a block last read a thing, or wrote it: at that turn, and at all before. */
typedef struct {
  unsigned time, time_before;
  int turn;
} sight;

struct ep_races {
  int blocks, meetings, things;
  actor *actors;     /* [blocks] */
  unsigned *clocks;  /* [blocks, blocks]: what each knows of each one's acts */
  unsigned *arrived; /* [meetings] */
  unsigned *first;   /* [meetings]: of its arrivals, among all meetings' */
  unsigned *known;   /* [arrivals, blocks]: what was known with each */
  sight *sights;     /* [things, 2, blocks]: reads, writes */
};

static void end_with(const char *why) {
  fprintf(stderr, "races: %s\n", why);
  abort();
}

static void *memory_of(void *before, size_t count, size_t size) {
  void *memory = realloc(before, count * size + 1); /* of nothing, too */
  if (!memory) end_with("out of memory");
  return memory;
}

ep_races *ep_races_create(int blocks, int meetings, int things) {
  ep_races *self = memory_of(NULL, 1, sizeof *self);
  const size_t all = (size_t)blocks;
  *self = (ep_races){.blocks = blocks, .meetings = meetings, .things = things};
  self->actors = memory_of(NULL, all, sizeof *self->actors);
  memset(self->actors, 0, all * sizeof *self->actors);
  self->clocks = memory_of(NULL, all * all, sizeof *self->clocks);
  self->arrived = memory_of(NULL, (size_t)meetings, sizeof *self->arrived);
  self->first = memory_of(NULL, (size_t)meetings, sizeof *self->first);
  self->sights = memory_of(NULL, 2 * all * (size_t)things, sizeof *self->sights);
  return self;
}

void ep_races_destroy(ep_races *self) {
  if (!self) return;
  for (int b = 0; b < self->blocks; b++) free(self->actors[b].acts);
  free(self->actors);
  free(self->clocks);
  free(self->arrived);
  free(self->first);
  free(self->known);
  free(self->sights);
  free(self);
}

static void act_add(ep_races *self, int block, act a) {
  actor *of = &self->actors[block];
  bool meets = a.kind == ARRIVE || a.kind == AWAIT;
  if (a.what < 0 || a.what >= (meets ? self->meetings : self->things)) end_with("no such place");
  if (of->count == of->room) {
    of->room = of->room > 0 ? 2 * of->room : 256;
    of->acts = memory_of(of->acts, (size_t)of->room, sizeof *of->acts);
  }
  of->acts[of->count++] = a;
}

void ep_races_arrive(ep_races *self, int block, int meeting) {
  act_add(self, block, (act){.kind = ARRIVE, .what = meeting});
}

void ep_races_await(ep_races *self, int block, int meeting, unsigned till) {
  if (till > 0) act_add(self, block, (act){.kind = AWAIT, .what = meeting, .till = till});
}

void ep_races_read(ep_races *self, int block, int thing, int turn) {
  act_add(self, block, (act){.kind = READ, .what = thing, .turn = turn});
}

void ep_races_write(ep_races *self, int block, int thing, int turn) {
  act_add(self, block, (act){.kind = WRITE, .what = thing, .turn = turn});
}

static unsigned *clock_of(ep_races *self, int block) {
  return self->clocks + (size_t)block * (size_t)self->blocks;
}

static unsigned *known_of(ep_races *self, int meeting, unsigned arrival) {
  return self->known + (size_t)(self->first[meeting] + arrival) * (size_t)self->blocks;
}

static sight *sights_of(ep_races *self, int thing, bool writes) {
  return self->sights + (size_t)(2 * thing + writes) * (size_t)self->blocks;
}

/* To what is known, what else is. */
static void clock_add(unsigned *to, const unsigned *more, int blocks) {
  for (int b = 0; b < blocks; b++)
    if (more[b] > to[b]) to[b] = more[b];
}

/* Whether what others did to a thing, of the kind that the sights are of, is known to be over, or
 * was to another part of it. */
static bool is_safe(ep_races *self, int block, const sight *sights, int turn) {
  const unsigned *clock = clock_of(self, block);
  for (int b = 0; b < self->blocks; b++) {
    bool shares = turn > 0 && sights[b].turn == turn;
    if (b != block && (shares ? sights[b].time_before : sights[b].time) > clock[b]) return false;
  }
  return true;
}

static bool thing_touch(ep_races *self, int block, const act *a) {
  bool writes = a->kind == WRITE;
  if (!is_safe(self, block, sights_of(self, a->what, true), a->turn)) return false;
  if (writes && !is_safe(self, block, sights_of(self, a->what, false), a->turn)) return false;
  sight *mine = &sights_of(self, a->what, writes)[block];
  if (mine->turn != a->turn) mine->time_before = mine->time;
  mine->turn = a->turn;
  mine->time = clock_of(self, block)[block];
  return true;
}

typedef enum { DONE, WAITS, RACES } progress;

/* The block's next act. */
static progress act_do(ep_races *self, int block) {
  actor *of = &self->actors[block];
  const act *a = &of->acts[of->next];
  unsigned *clock = clock_of(self, block);
  if (a->kind == AWAIT && self->arrived[a->what] < a->till) return WAITS;
  clock[block]++;
  if (a->kind == ARRIVE) { /* each hands on what those before it knew */
    unsigned n = self->arrived[a->what]++, *known = known_of(self, a->what, n);
    memcpy(known, clock, (size_t)self->blocks * sizeof *known);
    if (n > 0) clock_add(known, known_of(self, a->what, n - 1), self->blocks);
  } else if (a->kind == AWAIT) {
    clock_add(clock, known_of(self, a->what, a->till - 1), self->blocks);
  } else if (!thing_touch(self, block, a)) {
    return RACES;
  }
  of->next++;
  return DONE;
}

static void run_begin(ep_races *self) {
  const size_t all = (size_t)self->blocks, meetings = (size_t)self->meetings;
  unsigned arrivals = 0;
  memset(self->clocks, 0, all * all * sizeof *self->clocks);
  memset(self->sights, 0, 2 * all * (size_t)self->things * sizeof *self->sights);
  memset(self->arrived, 0, meetings * sizeof *self->arrived);
  memset(self->first, 0, meetings * sizeof *self->first);
  for (int b = 0; b < self->blocks; b++) {
    actor *of = &self->actors[b];
    of->next = 0;
    for (int i = 0; i < of->count; i++)
      if (of->acts[i].kind == ARRIVE) self->first[of->acts[i].what]++;
  }
  for (int m = 0; m < self->meetings; m++) {
    unsigned count = self->first[m];
    self->first[m] = arrivals;
    arrivals += count;
  }
  self->known = memory_of(self->known, arrivals * all, sizeof *self->known);
}

static ep_races_finding finding_of(const ep_races *self, ep_races_outcome outcome, int block) {
  const actor *of = &self->actors[block];
  return (ep_races_finding){outcome, block, of->acts[of->next].what};
}

ep_races_finding ep_races_run(ep_races *self, unsigned seed) {
  run_begin(self);
  srand(seed);
  for (;;) {
    int first = rand() % self->blocks, run = 1 + rand() % RUN_MOST, waits = -1;
    bool moved = false;
    for (int i = 0; i < self->blocks && !moved; i++) {
      int b = (first + i) % self->blocks;
      const actor *of = &self->actors[b];
      for (int r = 0; r < run && of->next < of->count; r++) {
        progress made = act_do(self, b);
        if (made == RACES) return finding_of(self, EP_RACES_FOUND, b);
        if (made == WAITS) {
          waits = b;
          break;
        }
        moved = true;
      }
    }
    if (moved) continue;
    if (waits < 0) return (ep_races_finding){EP_RACES_NONE, 0, 0};
    return finding_of(self, EP_RACES_STUCK, waits);
  }
}
