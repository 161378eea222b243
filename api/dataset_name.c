#include "api/dataset_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* How many bytes of the name come before a usual ending; all where it has none. */
static size_t ending_cut(const char *name, size_t bytes) {
  static const char *const ENDINGS[] = {
      ".csv", ".tsv", ".tab",   ".txt",         ".data", ".json", ".jsonl", ".ndjson", ".npy",
      ".npz", ".idx", ".ubyte", ".safetensors", ".zip",  ".tar",  ".tgz",   ".gz"};
  for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
    size_t length = strlen(ENDINGS[i]);
    if (bytes > length && strncasecmp(name + bytes - length, ENDINGS[i], length) == 0)
      return bytes - length;
  }
  return bytes;
}

void ep_dataset_name_of_file(const char *file, char out[EP_LIMIT_NAME_BYTES + 1]) {
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  size_t used = 0;
  size_t bytes = strlen(name), before = 0;
  while (bytes != before) {
    before = bytes;
    bytes = ending_cut(name, bytes);
  }
  while (bytes > 0 && !is_plain(*name)) name++, bytes--;
  for (size_t i = 0; i < bytes && used < EP_LIMIT_NAME_BYTES; i++) {
    bool more = (name[i] & 0xC0) == 0x80; /* of a character that has its dash */
    if (!more) out[used++] = is_plain(name[i]) || strchr("_.-", name[i]) ? name[i] : '-';
  }
  out[used] = 0;
  if (used == 0) snprintf(out, EP_LIMIT_NAME_BYTES + 1, "table");
}
