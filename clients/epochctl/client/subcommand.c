#include "clients/epochctl/client/subcommand.h"

#include <string.h>

const ep_subcommand *ep_subcommand_find(const ep_subcommand_table *table, int argc,
                                        const char *const *argv, int at, int *words) {
  for (const ep_subcommand *const *row = table->rows; *row && at < argc; row++) {
    const char *name = (*row)->name;
    size_t bytes = strcspn(name, " ");
    if (strlen(argv[at]) != bytes || memcmp(argv[at], name, bytes) != 0) continue;
    if (name[bytes] && (at + 1 >= argc || strcmp(argv[at + 1], name + bytes + 1) != 0)) continue;
    *words = name[bytes] ? 2 : 1;
    return *row;
  }
  return NULL;
}
