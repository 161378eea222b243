/* CSV for spreadsheets, of the delimiter that is the first byte: nothing but apostrophes is added,
 * and what is harmless stays as it is. */
#include <string.h>

#include "api/json/spreadsheet.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (count == 0) return 0;
  const char delimiter = (char)bytes[0];
  char *text = strndup((const char *)bytes + 1, count - 1);
  FUZZ_HOLDS(text != NULL);
  char *once = ep_spreadsheet_text(strdup(text), delimiter);
  FUZZ_HOLDS(once != NULL);
  const char *at = text;
  for (const char *made = once; *made; made++) {
    if (*made == *at)
      at++;
    else
      FUZZ_HOLDS(*made == '\'');
  }
  FUZZ_HOLDS(*at == 0);
  if (delimiter != '\'' && delimiter != '"') {
    char *twice = ep_spreadsheet_text(strdup(once), delimiter);
    FUZZ_HOLDS(twice && strcmp(once, twice) == 0);
    free(twice);
  }
  free(once);
  free(text);
  return 0;
}
