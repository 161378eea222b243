#include "engine/data/cells/boolean.h"

#include <string.h>
#include <strings.h>

#include "engine/data/cells/cell.h"

enum { MEANINGS = 2 }; /* false, true */

static const char *const booleans[][MEANINGS] = {
    {"false", "true"}, {"f", "t"},     {"no", "yes"}, {"n", "y"},
    {"0", "1"},        {"0.0", "1.0"}, {"0.", "1."},
};
static const char *const signs[][MEANINGS] = {
    {"negative", "positive"}, {"neg", "pos"}, {"off", "on"}, {"-", "+"}};

static int meaning_find(const char *const (*pair)[MEANINGS], size_t pairs, const char *text,
                        size_t bytes) {
  text = ep_cell_trim(text, &bytes);
  for (size_t i = 0; i < pairs; i++)
    for (int meaning = 0; meaning < MEANINGS; meaning++)
      if (strlen(pair[i][meaning]) == bytes && strncasecmp(pair[i][meaning], text, bytes) == 0)
        return meaning;
  return -1;
}

int ep_boolean_meaning(const char *text, size_t bytes) {
  return meaning_find(booleans, sizeof booleans / sizeof *booleans, text, bytes);
}

int ep_boolean_bits(const char *text, size_t bytes) {
  text = ep_cell_trim(text, &bytes);
  int meaning = ep_boolean_meaning(text, bytes);
  if (meaning < 0) return EP_WORD_OTHER;
  int letter = bytes != 1              ? 0
               : strchr("tTfF", *text) ? EP_WORD_T_OR_F
               : strchr("yYnN", *text) ? EP_WORD_Y_OR_N
                                       : 0;
  return letter | (meaning ? EP_WORD_TRUE : EP_WORD_FALSE);
}

bool ep_words_are_booleans(int bits, int64_t words) {
  enum { BOTH = EP_WORD_FALSE | EP_WORD_TRUE, LETTERS = EP_WORD_T_OR_F | EP_WORD_Y_OR_N };
  int letters = bits & LETTERS;
  if (words == 0 || bits & EP_WORD_OTHER || letters == LETTERS) return false;
  return (bits & BOTH) == BOTH || (words == 1 && !letters);
}

int ep_positive_meaning(const char *text, size_t bytes) {
  int meaning = ep_boolean_meaning(text, bytes);
  return meaning >= 0 ? meaning : meaning_find(signs, sizeof signs / sizeof *signs, text, bytes);
}
