#include "engine/sandbox/filter.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SCMP(name) SCMP_SYS(name)

/* What reading an open file, computing on threads, and writing files of one's own takes. */
static const int INGEST[] = {
    /* files */
    SCMP(read), SCMP(pread64), SCMP(readv), SCMP(preadv), SCMP(write), SCMP(pwrite64), SCMP(writev),
    SCMP(pwritev), SCMP(lseek), SCMP(open), SCMP(openat), SCMP(close), SCMP(fstat), SCMP(stat),
    SCMP(lstat), SCMP(newfstatat), SCMP(statx), SCMP(statfs), SCMP(fstatfs), SCMP(access),
    SCMP(faccessat), SCMP(faccessat2), SCMP(fcntl), SCMP(dup), SCMP(ftruncate), SCMP(fallocate),
    SCMP(fsync), SCMP(fdatasync), SCMP(sync_file_range), SCMP(fadvise64), SCMP(rename),
    SCMP(renameat), SCMP(renameat2), SCMP(unlink), SCMP(unlinkat), SCMP(getdents64), SCMP(getcwd),
    SCMP(umask), SCMP(readlink), SCMP(readlinkat), SCMP(flock),
    /* memory */
    SCMP(munmap), SCMP(mremap), SCMP(madvise), SCMP(brk), SCMP(memfd_create),
    /* threads, and their end */
    SCMP(futex), SCMP(set_robust_list), SCMP(rseq), SCMP(exit), SCMP(exit_group), SCMP(sched_yield),
    SCMP(sched_getaffinity), SCMP(gettid), SCMP(getpid), SCMP(rt_sigaction), SCMP(rt_sigprocmask),
    SCMP(rt_sigreturn), SCMP(sigaltstack), SCMP(restart_syscall),
    /* time, chance, the machine */
    SCMP(clock_gettime), SCMP(clock_getres), SCMP(clock_nanosleep), SCMP(nanosleep),
    SCMP(gettimeofday), SCMP(time), SCMP(getrandom), SCMP(sysinfo), SCMP(uname), SCMP(poll),
    SCMP(ppoll)};

/* What no training needs, and what a process that is no longer its own would try next. */
static const int WORKER_REFUSED[] = {
    /* other programs and processes */
    SCMP(execve), SCMP(execveat), SCMP(ptrace), SCMP(process_vm_readv), SCMP(process_vm_writev),
    SCMP(pidfd_getfd), SCMP(process_madvise), SCMP(setns), SCMP(unshare),
    /* mounts and roots */
    SCMP(mount), SCMP(umount2), SCMP(pivot_root), SCMP(chroot), SCMP(move_mount), SCMP(open_tree),
    SCMP(fsopen), SCMP(fsconfig), SCMP(fsmount), SCMP(fspick), SCMP(mount_setattr), SCMP(swapon),
    SCMP(swapoff), SCMP(quotactl), SCMP(quotactl_fd), SCMP(name_to_handle_at),
    SCMP(open_by_handle_at), SCMP(fanotify_init),
    /* the kernel */
    SCMP(bpf), SCMP(kexec_load), SCMP(kexec_file_load), SCMP(init_module), SCMP(finit_module),
    SCMP(delete_module), SCMP(reboot), SCMP(acct), SCMP(syslog), SCMP(ioperm), SCMP(iopl),
    SCMP(userfaultfd), SCMP(io_uring_setup), SCMP(io_uring_enter), SCMP(io_uring_register),
    SCMP(keyctl), SCMP(add_key), SCMP(request_key), SCMP(lookup_dcookie), SCMP(personality),
    SCMP(perf_event_open),
    /* the clock, the names, and who one is */
    SCMP(settimeofday), SCMP(clock_settime), SCMP(adjtimex), SCMP(clock_adjtime), SCMP(sethostname),
    SCMP(setdomainname), SCMP(setuid), SCMP(setgid), SCMP(setreuid), SCMP(setregid),
    SCMP(setresuid), SCMP(setresgid), SCMP(setgroups), SCMP(setfsuid), SCMP(setfsgid),
    SCMP(capset)};

/* A GPU's driver speaks to daemons and processes of this machine (it listens on a socket of its own
 * for these), and to the kernel about devices. */
static const int GPU_FAMILIES[] = {AF_UNIX, AF_NETLINK};

/* The C library looks by netlink which addresses this machine has. */
static const int COURIER_FAMILIES[] = {AF_INET, AF_INET6, AF_NETLINK};

/* Without those that this kind of machine does not have. */
static bool rules_add(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int failed = calls[i] == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, action, calls[i], 0);
    if (failed != 0 && calls[i] >= 0) return false;
  }
  return true;
}

/* Threads and no processes; memory that is written to is never run. No filter sees the flags of
 * clone3, for which the C library takes clone where there is none. */
static bool ingest_add(scmp_filter_ctx filter) {
  const uint32_t allow = SCMP_ACT_ALLOW;
  return rules_add(filter, allow, INGEST, sizeof INGEST / sizeof *INGEST) &&
         seccomp_rule_add(filter, allow, SCMP(clone), 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) == 0 &&
         seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP(clone3), 0) == 0 &&
         seccomp_rule_add(filter, allow, SCMP(mmap), 1,
                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) == 0 &&
         seccomp_rule_add(filter, allow, SCMP(mprotect), 1,
                          SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) == 0 &&
         seccomp_rule_add(filter, allow, SCMP(tgkill), 1,
                          SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())) == 0 &&
         seccomp_rule_add(filter, allow, SCMP(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0)) == 0;
}

/* No sockets but of these families. */
static bool families_add(scmp_filter_ctx filter, uint32_t refuse, const int *families,
                         size_t count) {
  for (int family = 0; family < AF_MAX; family++) {
    bool needed = false;
    for (size_t i = 0; i < count; i++) needed = needed || family == families[i];
    if (!needed && seccomp_rule_add(filter, refuse, SCMP(socket), 1,
                                    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family)) != 0)
      return false;
  }
  return seccomp_rule_add(filter, refuse, SCMP(socket), 1, SCMP_A0(SCMP_CMP_GE, AF_MAX)) == 0;
}

/* A namespace of its own would give a worker all rights in it. */
static bool namespaces_refuse(scmp_filter_ctx filter, uint32_t refuse) {
  static const scmp_datum_t namespaces[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                            CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                            CLONE_NEWNET};
  for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
    if (seccomp_rule_add(filter, refuse, SCMP(clone), 1,
                         SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i])) != 0)
      return false;
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP(clone3), 0) == 0;
}

/* epochd and its other workers are of the same user: signals are for oneself. */
static bool signals_refuse(scmp_filter_ctx filter, uint32_t refuse) {
  static const int calls[] = {SCMP(kill), SCMP(tgkill), SCMP(rt_sigqueueinfo),
                              SCMP(rt_tgsigqueueinfo)};
  static const int others[] = {SCMP(tkill), SCMP(pidfd_send_signal)};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (seccomp_rule_add(filter, refuse, calls[i], 1,
                         SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid())) != 0)
      return false;
  return rules_add(filter, refuse, others, sizeof others / sizeof *others);
}

static bool sockets_add(scmp_filter_ctx filter, uint32_t refuse, ep_sandbox_kind kind) {
  static const int sockets[] = {SCMP(socket), SCMP(connect), SCMP(bind),
                                SCMP(listen), SCMP(accept),  SCMP(accept4)};
  if (kind == EP_SANDBOX_GPU)
    return families_add(filter, refuse, GPU_FAMILIES, sizeof GPU_FAMILIES / sizeof *GPU_FAMILIES);
  if (kind == EP_SANDBOX_COURIER)
    return families_add(filter, refuse, COURIER_FAMILIES,
                        sizeof COURIER_FAMILIES / sizeof *COURIER_FAMILIES);
  return rules_add(filter, refuse, sockets, sizeof sockets / sizeof *sockets);
}

/* epochd bounds the memory of workers on the CPU from outside: they leave their limits. */
static bool limits_refuse(scmp_filter_ctx filter, uint32_t refuse) {
  return rules_add(filter, refuse, &(const int){SCMP(setrlimit)}, 1) &&
         seccomp_rule_add(filter, refuse, SCMP(prlimit64), 1, SCMP_A2(SCMP_CMP_NE, 0)) == 0;
}

static bool worker_add(scmp_filter_ctx filter, ep_sandbox_kind kind) {
  const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
  if (kind == EP_SANDBOX_CPU && !limits_refuse(filter, refuse)) return false;
  return rules_add(filter, refuse, WORKER_REFUSED,
                   sizeof WORKER_REFUSED / sizeof *WORKER_REFUSED) &&
         namespaces_refuse(filter, refuse) && signals_refuse(filter, refuse) &&
         sockets_add(filter, refuse, kind);
}

bool ep_filter_load(ep_sandbox_kind kind) {
  bool ingest = kind == EP_SANDBOX_INGEST;
  scmp_filter_ctx filter = seccomp_init(ingest ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
  if (!filter) return false;
  bool loaded = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0 &&
                (ingest ? ingest_add(filter) : worker_add(filter, kind)) &&
                seccomp_load(filter) == 0;
  seccomp_release(filter);
  return loaded;
}

bool ep_filter_permitted(void) {
  const uint32_t action = SCMP_ACT_ALLOW;
  return syscall(SCMP_SYS(seccomp), 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, &action) == 0;
}
