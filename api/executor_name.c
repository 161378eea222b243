#include "api/executor_name.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *former, *present;
} renamed[] = {{"cuda/graph", "cuda/cnn"}, {"cuda/cluster", "cuda/persistent"}};

void ep_executor_name_update(char *name, size_t bytes) {
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (strcmp(name, renamed[i].former) == 0) snprintf(name, bytes, "%s", renamed[i].present);
}
