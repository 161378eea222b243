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

int ep_positive_meaning(const char *text, size_t bytes) {
  int meaning = ep_boolean_meaning(text, bytes);
  return meaning >= 0 ? meaning : meaning_find(signs, sizeof signs / sizeof *signs, text, bytes);
}
