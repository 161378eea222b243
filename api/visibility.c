#include "api/visibility.h"

#include <stddef.h>
#include <string.h>

const char *const EP_VISIBILITY_WORDS[] = {"public", "private", NULL};

const char *ep_visibility_name(bool private) {
  return EP_VISIBILITY_WORDS[private];
}

int ep_visibility_from_name(const char *word) {
  for (int i = 0; EP_VISIBILITY_WORDS[i]; i++)
    if (strcmp(word, EP_VISIBILITY_WORDS[i]) == 0) return i;
  return -1;
}
