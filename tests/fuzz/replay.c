/* replay.c: runs a fuzzer without libFuzzer: every seed of the folder given, then a fixed number of
 * mutations of them, always the same ones of a number (1 unless given). On a fault the program
 * dies; run it again with FUZZ_INPUT naming a file, and the input that it died of is in there.
 *
 *   replay_spec CORPUS_FOLDER [mutations [number]] */
#include <dirent.h>
#include <string.h>

#include "kernels/random.h"
#include "tests/fuzz/fuzz.h"

enum { SEEDS_MAX = 256, SEED_BYTES_MAX = 1 << 16, CORPUS_BYTES_MAX = 1 << 15, MUTATIONS = 200000 };

typedef struct {
  uint8_t *bytes; /* owned */
  size_t count;
} seed;

/* Words that make parsers turn. */
static const char *const pieces[] = {"{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     ":",
                                     ",",
                                     "\\",
                                     "\\u0000",
                                     "\\ud800",
                                     "null",
                                     "true",
                                     "NaN",
                                     "-",
                                     "0",
                                     "-0",
                                     "1e999",
                                     "1e-999",
                                     "18446744073709551616",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     "2147483648",
                                     "0.1",
                                     "\xFF",
                                     "\xC3",
                                     "\xED\xA0\x80",
                                     "\n",
                                     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                                     "{\"a\":",
                                     "\"x\":",
                                     "\"type\":",
                                     "1",
                                     ".5",
                                     "e",
                                     "~1",
                                     "/"};
enum { PIECES = sizeof pieces / sizeof pieces[0] };

static uint32_t draws_left[4];
static uint64_t draws, draws_of = 1;

/* The next number below `below`. */
static size_t draw(size_t below) {
  if (draws % 4 == 0) {
    ep_random4 words = ep_random(draws_of, EP_RANDOM_GENERATOR, 0, draws / 4);
    memcpy(draws_left, words.word, sizeof draws_left);
  }
  return below ? draws_left[draws++ % 4] % below : 0;
}

/* Reads one file; false when it is not a plain file or too large. */
static int seed_read(const char *folder, const char *name, seed *out) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  out->bytes = malloc(SEED_BYTES_MAX);
  out->count = out->bytes ? fread(out->bytes, 1, SEED_BYTES_MAX, file) : 0;
  fclose(file);
  return out->bytes != NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

/* Their count; -1: there are more than fit, or they are not small. */
static int seeds_read(const char *folder, seed seeds[SEEDS_MAX]) {
  struct dirent **entries;
  size_t bytes = 0;
  int count = 0, found = scandir(folder, &entries, NULL, by_name);
  for (int i = 0; i < found; i++) {
    if (entries[i]->d_name[0] != '.' && count < SEEDS_MAX &&
        seed_read(folder, entries[i]->d_name, &seeds[count]))
      bytes += seeds[count++].count;
    free(entries[i]);
  }
  if (found >= 0) free(entries);
  return count == SEEDS_MAX || bytes > CORPUS_BYTES_MAX ? -1 : count;
}

static size_t splice(uint8_t *bytes, size_t count, size_t at, const uint8_t *piece, size_t length) {
  if (count + length > SEED_BYTES_MAX) return count;
  memmove(bytes + at + length, bytes + at, count - at);
  memcpy(bytes + at, piece, length);
  return count + length;
}

/* One change of `bytes` [count]; returns the new count. */
static size_t mutate(uint8_t *bytes, size_t count, const seed *other) {
  size_t at = draw(count + 1), length;
  const char *piece;
  switch (draw(7)) {
  case 0: /* a bit */
    if (at < count) bytes[at] ^= (uint8_t)(1u << draw(8));
    return count;
  case 1: /* a byte */
    if (at < count) bytes[at] = (uint8_t)draw(256);
    return count;
  case 2: /* cut out */
    length = draw(count - at + 1) % 64;
    memmove(bytes + at, bytes + at + length, count - at - length);
    return count - length;
  case 3: /* cut off */ return draw(8) ? count : at;
  case 4: /* a word */
    piece = pieces[draw(PIECES)];
    return splice(bytes, count, at, (const uint8_t *)piece, strlen(piece));
  case 5: { /* a piece of itself again */
    uint8_t copy[64];
    length = draw(count - at + 1) % sizeof copy;
    memcpy(copy, bytes + at, length);
    return splice(bytes, count, draw(count + 1), copy, length);
  }
  default: { /* a piece of another seed */
    size_t from = draw(other->count + 1);
    length = draw(other->count - from + 1) % 64;
    return splice(bytes, count, at, other->bytes + from, length);
  }
  }
}

/* The input gets a block of just its size, so that a sanitizer sees one byte too many. */
static void run(const uint8_t *bytes, size_t count) {
  const char *path = getenv("FUZZ_INPUT");
  FILE *file = path ? fopen(path, "wb") : NULL;
  if (file) {
    fwrite(bytes, 1, count, file);
    fclose(file);
  }
  uint8_t *exact = malloc(count ? count : 1);
  if (!exact) abort();
  memcpy(exact, bytes, count);
  LLVMFuzzerTestOneInput(exact, count);
  free(exact);
}

int main(int argc, char **argv) {
  static seed seeds[SEEDS_MAX];
  static uint8_t bytes[SEED_BYTES_MAX];
  long mutations = argc > 2 ? strtol(argv[2], NULL, 10) : MUTATIONS;
  if (argc > 3) draws_of = strtoull(argv[3], NULL, 10);
  int count = argc > 1 ? seeds_read(argv[1], seeds) : 0;
  if (count <= 0) {
    fprintf(stderr, "%s: replay FOLDER [mutations [number]]\n",
            count < 0 ? "too many seeds" : "no seeds");
    return 2;
  }
  for (int i = 0; i < count; i++) run(seeds[i].bytes, seeds[i].count);
  for (long i = 0; i < mutations; i++) {
    const seed *from = &seeds[draw((size_t)count)];
    size_t length = from->count;
    memcpy(bytes, from->bytes, length);
    for (size_t changes = 1 + draw(6); changes > 0; changes--)
      length = mutate(bytes, length, &seeds[draw((size_t)count)]);
    run(bytes, length);
  }
  printf("%d seeds and %ld mutations\n", count, mutations);
  for (int i = 0; i < count; i++) free(seeds[i].bytes);
  return 0;
}
