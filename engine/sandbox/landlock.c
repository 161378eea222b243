#include "engine/sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct landlock_ruleset_attr as of version 6, which headers may not have yet. An
 * older kernel takes a longer one whose further members are zero. */
typedef struct {
  uint64_t files, network, scoped;
} ruleset;

enum { NETWORK_VERSION = 4, NETWORK_ALL = 3, SCOPED_VERSION = 6, SCOPED_ALL = 3 };

/* Rights to files by version: 1 has 13, 2 adds REFER, 3 TRUNCATE, 5 IOCTL_DEV. */
static uint64_t files_all(int version) {
  int rights = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;
  return (UINT64_C(1) << rights) - 1;
}

int ep_landlock_version(void) {
  long version =
      syscall(__NR_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? (int)version : 0;
}

/* A folder with all below it, or a file, which can only be read. */
static bool path_allow(int rules, const char *path, uint64_t rights) {
  struct landlock_path_beneath_attr rule = {.allowed_access = rights};
  struct stat state;
  rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0) return false;
  if (fstat(rule.parent_fd, &state) != 0 || !S_ISDIR(state.st_mode))
    rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
  long failed = syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(rule.parent_fd);
  return failed == 0;
}

bool ep_landlock_enter(const char *folder) {
  int version = ep_landlock_version();
  if (version == 0) return false;
  ruleset all = {.files = files_all(version),
                 .network = version >= NETWORK_VERSION ? NETWORK_ALL : 0,
                 .scoped = version >= SCOPED_VERSION ? SCOPED_ALL : 0};
  int rules = (int)syscall(__NR_landlock_create_ruleset, &all, sizeof all, 0);
  if (rules < 0) return false;
  bool entered = path_allow(rules, folder, all.files & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE) &&
                 syscall(__NR_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return entered;
}

bool ep_landlock_enter_read_only(void) {
  /* Libraries, the settings of names, and whom TLS trusts. The rest of /etc has secrets. */
  static const char *const paths[] = {"/usr",
                                      "/lib",
                                      "/lib64",
                                      "/run/systemd/resolve",
                                      "/run/resolvconf",
                                      "/etc/resolv.conf",
                                      "/etc/hosts",
                                      "/etc/host.conf",
                                      "/etc/nsswitch.conf",
                                      "/etc/gai.conf",
                                      "/etc/services",
                                      "/etc/ld.so.cache",
                                      "/etc/ssl/certs",
                                      "/etc/ssl/openssl.cnf",
                                      "/etc/pki/ca-trust",
                                      "/etc/pki/tls/certs",
                                      "/etc/gnutls",
                                      "/etc/crypto-policies"};
  int version = ep_landlock_version();
  if (version == 0) return false;
  ruleset all = {.files = files_all(version), .scoped = version >= SCOPED_VERSION ? SCOPED_ALL : 0};
  int rules = (int)syscall(__NR_landlock_create_ruleset, &all, sizeof all, 0);
  if (rules < 0) return false;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) /* not all are everywhere */
    path_allow(rules, paths[i], LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
  bool entered = syscall(__NR_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return entered;
}
