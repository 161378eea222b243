#include "api/json/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NAME_MAX_BYTES = 63 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Case does not count, nor which of _ and - stands between words. */
static char folded(char letter) {
  if (letter >= 'A' && letter <= 'Z') return (char)(letter - 'A' + 'a');
  return letter == '-' || letter == ' ' ? '_' : letter;
}

bool ep_names_alike(const char *a, const char *b) {
  while (*a && folded(*a) == folded(*b)) a++, b++;
  return folded(*a) == folded(*b);
}

size_t ep_edit_distance(const char *a, const char *b) {
  size_t a_bytes = strlen(a), b_bytes = strlen(b);
  if (a_bytes > NAME_MAX_BYTES || b_bytes > NAME_MAX_BYTES) return SIZE_MAX;
  /* Row i of the table of distances between the first i bytes of a and the first j of b. */
  size_t rows[3][NAME_MAX_BYTES + 1];
  for (size_t j = 0; j <= b_bytes; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a_bytes; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_bytes; j++) {
      size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = least(replaced, least(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], above2[j - 2] + 1);
    }
  }
  return rows[a_bytes % 3][b_bytes];
}

const char *ep_nearest_name(const char *name, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (names[i] && *name && ep_names_alike(name, names[i])) return names[i];
  const char *nearest = NULL;
  size_t allowed = strlen(name) / 3; /* a third of the letters may be wrong, but one always */
  if (allowed < 1) allowed = 1;
  size_t best = allowed + 1;
  for (int i = 0; i < count; i++) {
    size_t distance = names[i] ? ep_edit_distance(name, names[i]) : SIZE_MAX;
    if (distance < best && distance < strlen(names[i])) {
      best = distance;
      nearest = names[i];
    }
  }
  return nearest;
}
