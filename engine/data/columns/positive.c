#include "engine/data/columns/positive.h"

#include <string.h>
#include <strings.h>

#include "engine/data/cells/boolean.h"

static char zero[] = "0", one[] = "1";
static char *numbers[EP_BINARY_CLASSES] = {zero, one};
const ep_words ep_binary_numbers = {.word = numbers, .count = EP_BINARY_CLASSES};

static int meaning_of(const char *word) {
  return ep_positive_meaning(word, strlen(word));
}

static bool is_same(const char *a, const char *b) {
  return strcmp(a, b) == 0;
}

static bool means_the_same(const char *a, const char *b) {
  int meaning = meaning_of(a);
  return meaning >= 0 && meaning == meaning_of(b);
}

static bool reads_the_same(const char *a, const char *b) {
  size_t a_bytes = strlen(a), b_bytes = strlen(b);
  a = ep_cell_trim(a, &a_bytes);
  b = ep_cell_trim(b, &b_bytes);
  return a_bytes == b_bytes && strncasecmp(a, b, a_bytes) == 0;
}

/* -1: no class is so, or several are. */
static int64_t only_find(const ep_words *classes, const char *word,
                         bool (*is_so)(const char *a, const char *b)) {
  int64_t found = -1;
  for (int64_t i = 0; i < classes->count; i++) {
    if (!is_so(word, classes->word[i])) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

int64_t ep_positive_find(const ep_words *classes, const char *word) {
  int64_t found = only_find(classes, word, is_same);
  if (found < 0) found = only_find(classes, word, means_the_same);
  return found >= 0 ? found : only_find(classes, word, reads_the_same);
}

/* 2: it means yes; 0: no; 1: neither, as a letter does whose other class has no meaning: it may be
 * a code. */
static int rank_of(const char *word, const char *other) {
  int meaning = meaning_of(word);
  if (meaning < 0 || (strlen(word) == 1 && meaning_of(other) < 0)) return 1;
  return 2 * meaning;
}

int64_t ep_positive_default(const ep_words *classes) {
  const char *first = classes->word[0], *second = classes->word[1];
  return rank_of(first, second) > rank_of(second, first) ? 0 : 1;
}

bool ep_classes_are_swapped(const ep_data_spec *data, const ep_words *classes) {
  return data->positive[0] && classes->count == EP_BINARY_CLASSES &&
         ep_positive_find(classes, data->positive) == 0;
}

void ep_classes_swap(ep_words *classes) {
  char *first = classes->word[0];
  classes->word[0] = classes->word[1];
  classes->word[1] = first;
}
