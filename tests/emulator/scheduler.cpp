#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/time.h>

#include "fiber.h"
#include "launch.h"

emulator_index threadIdx, blockIdx, blockDim, gridDim;
/* `memory` of dynamic_memory.cuh. */
extern "C" {
__attribute__((visibility("default"))) float *emulator_shared_memory;
}

launch_state launch;

/* After so many turns of warps in which nobody gets anywhere, it is a deadlock: of each warp that
 * could go on, and in all. */
constexpr uint64_t IDLE_TURNS_PER_WARP = 256, IDLE_TURNS = 20000;
constexpr unsigned QUIET_COLLECTIVES = 64; /* that a loop which polls does not have in a turn */
constexpr int DEFAULT_TIMEOUT_S = 60, GRACE_TICKS = 4;

/* --- switching ------------------------------------------------------------------------------- */

static launch_thread *warp_next(const launch_warp *warp) {
  int lane = warp->descending ? 31 - __builtin_clz(warp->ready) : __builtin_ctz(warp->ready);
  return warp->threads + lane;
}

static inline void thread_enter(launch_thread *thread) {
  launch.current = thread;
  threadIdx.x = thread->number;
}

static void leave_to_scheduler() {
  launch_thread *self = launch.current;
  launch.current = nullptr;
  fiber_switch(&self->fiber, launch.scheduler);
}

void launch_leave() {
  launch_thread *self = launch.current;
  if (!self->warp->ready) return leave_to_scheduler();
  launch_thread *next = warp_next(self->warp);
  if (next == self) return;
  thread_enter(next);
  fiber_switch(&self->fiber, next->fiber);
}

void launch_list(launch_warp *warp) {
  if (warp->listed) return;
  warp->listed = true;
  launch.listed.push_back(warp);
}

static void thread_entry() {
  (*launch.kernel)();
  launch_thread_exit();
}

void launch_thread_exit() {
  launch_thread *self = launch.current;
  barriers_thread_exit(self);
  self->warp->ready &= ~self->bit;
  self->warp->exited |= self->bit;
  launch.live--;
  launch.progress++;
  launch_leave();
  abort();
}

void emulator_fail(emulator_site site, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  launch.current->site = site;
  launch.failure = text + report_thread(launch.current);
  launch.failed = true;
  leave_to_scheduler();
  abort();
}

/* --- what device code calls ------------------------------------------------------------------ */

static bool site_equals(const emulator_site &a, const emulator_site &b) {
  return a.line == b.line && (a.file == b.file || !strcmp(a.file, b.file));
}

/* Whether the lanes are at the same collective as `self`. */
static bool warp_meets(const launch_warp *warp, unsigned members, const launch_thread *self) {
  for (unsigned left = members; left; left &= left - 1) {
    const launch_thread *other = warp->threads + __builtin_ctz(left);
    if (other->kind != self->kind || other->mask != self->mask ||
        !site_equals(other->site, self->site))
      return false;
  }
  return true;
}

void emulator_meet(emulator_collective kind, unsigned mask, void *operands, emulator_site site) {
  launch_thread *self = launch.current;
  launch_warp *warp = self->warp;
  unsigned members = mask & warp->exists;
  self->site = site;
  self->kind = kind;
  self->mask = mask;
  self->operands = operands;
  if (!(mask & self->bit))
    emulator_fail(site, "%s with a mask without the lane's bit: 0x%08x", report_collective(kind),
                  mask);
  warp->ready &= ~self->bit;
  warp->at_collective |= self->bit;
  if ((warp->at_collective & members) != members || !warp_meets(warp, members, self))
    return launch_leave();
  collective_perform(kind, warp, members);
  warp->at_collective &= ~members;
  warp->ready |= members;
  if (++warp->quiet > QUIET_COLLECTIVES) launch.progress++;
  unsigned chance = launch_random();
  warp->descending = chance & 1;
  if (chance >> 1 & 15) return; /* goes on at once */
  leave_to_scheduler();
}

void emulator_poll(emulator_site site) {
  launch_thread *self = launch.current;
  self->site = site;
  self->warp->ready &= ~self->bit;
  self->warp->polling |= self->bit;
  self->warp->quiet = 0;
  launch_leave();
}

void emulator_stored(emulator_site site) {
  launch_thread *self = launch.current;
  self->site = site;
  launch.progress++;
  if (launch_random() & 31) return;
  self->warp->ready &= ~self->bit;
  self->warp->polling |= self->bit;
  launch_leave();
}

/* --- signals --------------------------------------------------------------------------------- */

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};
constexpr int SIGNAL_COUNT = sizeof SIGNALS / sizeof *SIGNALS;

static struct {
  sigjmp_buf back;
  struct sigaction before[SIGNAL_COUNT];
  stack_t stack_before;
  char stack[64 << 10];
  volatile int ticks;  /* since the time was up */
  volatile int signal; /* which ended the run */
  void *volatile address;
} signals;

/* The scheduler looks at `ticks`. Device code that calls nothing is cut off later. */
static void signal_handle(int number, siginfo_t *info, void *) {
  if (number == SIGVTALRM && ++signals.ticks <= GRACE_TICKS) return;
  signals.signal = number;
  signals.address = info->si_addr;
  siglongjmp(signals.back, 1);
}

static void signals_begin(int timeout_s) {
  signals.ticks = 0;
  stack_t stack = {};
  stack.ss_sp = signals.stack;
  stack.ss_size = sizeof signals.stack;
  sigaltstack(&stack, &signals.stack_before);
  struct sigaction action = {};
  action.sa_sigaction = signal_handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  for (int i = 0; i < SIGNAL_COUNT; i++) sigaction(SIGNALS[i], &action, &signals.before[i]);
  struct itimerval timer = {{0, 250000}, {timeout_s, 0}};
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

static void signals_end() {
  struct itimerval timer = {};
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
  for (int i = 0; i < SIGNAL_COUNT; i++) sigaction(SIGNALS[i], &signals.before[i], nullptr);
  sigaltstack(&signals.stack_before, nullptr);
}

static std::string signal_text() {
  std::string who = launch.current ? report_thread(launch.current) : " (in the emulator itself)";
  if (signals.signal == SIGVTALRM) return "timeout: a loop that calls nothing" + who;
  if (signals.signal == SIGILL) return "illegal instruction: __builtin_trap, or a sanitizer" + who;
  if (signals.signal == SIGFPE) return "integer division by zero" + who;
  if (fiber_stack_overflows(signals.address)) return "stack overflow" + who;
  int block = shared_block_of(signals.address);
  if (block >= 0)
    return report_text("access far outside of shared memory of block %d", block) + who;
  return report_text("invalid address %p", signals.address) + who;
}

/* --- the launch ------------------------------------------------------------------------------ */

/* Lanes run until none is ready, or chance takes the processor away. */
static void warp_turn(launch_warp *warp) {
  warp->ready |= warp->polling;
  warp->polling = 0;
  blockIdx.x = warp->block->number;
  emulator_shared_memory = (float *)warp->block->memory;
  launch_thread *next = warp_next(warp);
  thread_enter(next);
  fiber_switch(&launch.scheduler, next->fiber);
}

/* Whether a warp has to wait until all others have polled in vain. */
static bool is_starved(const launch_warp *warp, uint64_t idle) {
  return (int)warp->block->number == launch.size.starved && idle < 4 * launch.listed.size();
}

/* Takes a warp from the list. For a while, some blocks are slow. */
static launch_warp *warp_pick(uint64_t turn, uint64_t idle) {
  size_t count = launch.listed.size(), at = 0;
  unsigned phase = (unsigned)(turn / (4 * launch.warps.size()));
  for (int draw = 0; draw < 8; draw++) {
    at = launch_random() % count;
    unsigned slow =
        (launch.listed[at]->block->number + phase * 7919u + launch.size.seed) * 2654435761u;
    if (slow >> 30) break;
  }
  for (size_t i = 0; i < count && is_starved(launch.listed[at], idle); i++) at = (at + 1) % count;
  launch_warp *warp = launch.listed[at];
  launch.listed[at] = launch.listed.back();
  launch.listed.pop_back();
  warp->listed = false;
  return warp;
}

static void fail(const std::string &text) {
  launch.failure = text;
  launch.failed = true;
}

static void launch_run() {
  uint64_t idle = 0, progress = launch.progress;
  for (uint64_t turn = 0; launch.live && !launch.failed; turn++) {
    if (launch.listed.empty()) return fail("deadlock: all threads wait: " + report_places());
    if (signals.ticks) return fail("timeout: " + report_places());
    launch_warp *warp = warp_pick(turn, idle);
    warp_turn(warp);
    if (launch.failed) return;
    if (warp->ready | warp->polling)
      launch_list(warp);
    else if (warp->at_collective)
      return fail("lanes of a warp diverge: " + report_lanes(warp));
    idle = launch.progress == progress ? idle + 1 : 0;
    progress = launch.progress;
    if (idle > IDLE_TURNS + IDLE_TURNS_PER_WARP * launch.listed.size())
      return fail("deadlock: threads poll in vain: " + report_places());
  }
}

static const char *launch_refusal(const emulator_launch &size) {
  if (size.blocks < 1 || size.blocks > EMULATOR_MAX_BLOCKS) return "blocks";
  if (size.threads < 1 || size.threads > EMULATOR_MAX_THREADS) return "threads";
  if (size.cluster < 0 || (size.cluster > 1 && size.blocks % size.cluster)) return "cluster";
  if (size.shared_bytes > EMULATOR_MAX_SHARED_BYTES || size.shared_bytes % 4) return "shared_bytes";
  return nullptr;
}

static void launch_threads_prepare(char *stacks) {
  for (size_t i = 0; i < launch.threads.size(); i++) {
    unsigned number = (unsigned)(i % launch.size.threads);
    launch_block *block = &launch.blocks[i / launch.size.threads];
    launch_thread *thread = &launch.threads[i];
    thread->warp = block->warps + number / LANES;
    thread->number = number;
    thread->bit = 1u << number % LANES;
    thread->site = {"the beginning", 0};
    thread->fiber = fiber_prepare(fiber_stack_top(stacks, i), thread_entry);
    if (number % LANES == 0) thread->warp->threads = thread;
    thread->warp->exists |= thread->bit;
    thread->warp->ready |= thread->bit;
  }
}

static void launch_prepare(const emulator_launch &size, char *stacks) {
  unsigned cluster = size.cluster > 1 ? (unsigned)size.cluster : 1;
  launch.warps_per_block = ((unsigned)size.threads + LANES - 1) / LANES;
  launch.cluster_threads = cluster * (unsigned)size.threads;
  launch.threads.resize((size_t)size.blocks * size.threads);
  launch.warps.resize((size_t)size.blocks * launch.warps_per_block);
  launch.blocks.resize(size.blocks);
  launch.clusters.resize(size.blocks / cluster);
  launch.live = launch.threads.size();
  for (unsigned i = 0; i < launch.blocks.size(); i++) {
    launch_block *block = &launch.blocks[i];
    block->number = i;
    block->memory = shared_of_block(i);
    block->cluster = &launch.clusters[i / cluster];
    block->warps = &launch.warps[(size_t)i * launch.warps_per_block];
    if (i % cluster == 0) block->cluster->blocks = block;
    for (unsigned w = 0; w < launch.warps_per_block; w++) block->warps[w].block = block;
  }
  launch_threads_prepare(stacks);
  for (launch_warp &warp : launch.warps) launch_list(&warp);
  blockDim = {(unsigned)size.threads, 1, 1};
  gridDim = {(unsigned)size.blocks, 1, 1};
  threadIdx = blockIdx = {0, 0, 0};
}

bool emulator_run(const emulator_launch &size, const std::function<void()> &kernel,
                  std::string *failure) {
  launch = launch_state();
  launch.size = size;
  launch.kernel = &kernel;
  launch.random = (size.seed + 1) * 0x9e3779b97f4a7c15u;
  const char *refusal = launch_refusal(size);
  char *stacks = refusal ? nullptr : fiber_stacks((size_t)size.blocks * size.threads);
  if (refusal) {
    fail(report_text("invalid launch: %s", refusal));
  } else if (!stacks || !shared_create(size.blocks, size.shared_bytes)) {
    fail("no memory for the launch");
  } else {
    launch_prepare(size, stacks);
    signals_begin(size.timeout_s > 0 ? size.timeout_s : DEFAULT_TIMEOUT_S);
    if (sigsetjmp(signals.back, 1))
      fail(signal_text());
    else
      launch_run();
    signals_end();
    for (int i = 0; i < size.blocks && !launch.failed; i++)
      launch.failed = !shared_intact(i, &launch.failure);
  }
  shared_destroy();
  bool done = !launch.failed;
  if (failure) *failure = launch.failure;
  launch = launch_state();
  fiber_stacks_trim();
  return done;
}
