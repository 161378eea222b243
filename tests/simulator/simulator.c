#include "tests/simulator/simulator.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/simulator/memory.h"

simulation *SIM;

/* 2027-01-15, a moment like any other. */
#define UTC_US INT64_C(1800000000000000)

void simulation_begin(uint64_t seed, uint64_t events_most, bool verbose) {
  SIM = outside_calloc(1, sizeof *SIM);
  SIM->seed = seed;
  SIM->random = seed;
  SIM->random = random_next() ^ seed << 32; /* else neighbours have the same numbers, shifted */
  SIM->trace = UINT64_C(14695981039346656037);
  SIM->events_most = events_most;
  SIM->utc_us = UTC_US;
  SIM->now_us = 1000000;
  SIM->verbose = verbose;
}

/* splitmix64 (Steele, Lea, Flood). */
uint64_t random_next(void) {
  uint64_t word = (SIM->random += UINT64_C(0x9e3779b97f4a7c15));
  word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
  return word ^ word >> 31;
}

uint64_t random_below(uint64_t limit) {
  return random_next() % limit;
}

void trace_note(uint64_t what, uint64_t value) {
  SIM->trace = (SIM->trace ^ what) * UINT64_C(1099511628211);
  SIM->trace = (SIM->trace ^ value ^ SIM->trace >> 29) * UINT64_C(1099511628211);
}

void trace_text(const char *text) {
  for (; *text; text++) SIM->trace = (SIM->trace ^ (uint8_t)*text) * UINT64_C(1099511628211);
}

void event_note(const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  SIM->events++;
  trace_text(text);
  trace_note(SIM->events, (uint64_t)SIM->now_us);
  if (SIM->verbose)
    fprintf(stderr, "%8llu %12.6f %s\n", (unsigned long long)SIM->events, (double)SIM->now_us / 1e6,
            text);
}

void violation(const char *format, ...) {
  va_list arguments;
  fflush(NULL);
  printf("VIOLATION: seed %llu, event %llu, %.6f s: ", (unsigned long long)SIM->seed,
         (unsigned long long)SIM->events, (double)SIM->now_us / 1e6);
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  fflush(NULL);
  _exit(1);
}
