#include "engine/sandbox/sandbox.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "engine/sandbox/filter.h"
#include "engine/sandbox/landlock.h"

/* The hard limit too, so that nothing raises it again; one that is lower already stays. */
static void limit_set(int resource, int64_t most) {
  struct rlimit limit;
  if (most <= 0 || getrlimit((__rlimit_resource_t)resource, &limit) != 0) return;
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)most)
    limit.rlim_max = (rlim_t)most;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > limit.rlim_max)
    limit.rlim_cur = limit.rlim_max;
  setrlimit((__rlimit_resource_t)resource, &limit);
}

ep_sandbox_walls ep_sandbox_enter(const ep_sandbox *sandbox) {
  const struct rlimit none = {0};
  ep_sandbox_walls stands = {0};
  setrlimit(RLIMIT_CORE, &none); /* a core has everybody's data in it */
  limit_set(RLIMIT_FSIZE, sandbox->file_bytes);
  limit_set(RLIMIT_CPU, sandbox->cpu_seconds);
  limit_set(RLIMIT_NOFILE, sandbox->files);
  stands.privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
#ifndef EP_SANITIZED /* a sanitizer's own calls, and its memory, are not those of the program */
  limit_set(RLIMIT_DATA, sandbox->memory_bytes);
  if (stands.privileges && sandbox->kind == EP_SANDBOX_INGEST)
    stands.files = ep_landlock_enter(".");
  if (stands.privileges && sandbox->kind == EP_SANDBOX_COURIER)
    stands.files = ep_landlock_enter_read_only();
  if (stands.privileges) stands.filter = ep_filter_load(sandbox->kind);
#endif
  return stands;
}

ep_sandbox_walls ep_sandbox_find(void) {
  return (ep_sandbox_walls){.privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0,
                            .filter = ep_filter_permitted(),
                            .files = ep_landlock_version() > 0};
}

const char *ep_sandbox_text(ep_sandbox_walls walls, bool stands, char *text, size_t bytes) {
  const struct {
    bool stands;
    const char *name;
  } all[] = {{walls.privileges, "no-new-privileges"},
             {walls.filter, "seccomp"},
             {walls.files, "landlock"}};
  size_t used = 0;
  snprintf(text, bytes, "none");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i].stands != stands || used >= bytes) continue;
    int length = snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", all[i].name);
    used += length > 0 ? (size_t)length : 0;
  }
  return text;
}
