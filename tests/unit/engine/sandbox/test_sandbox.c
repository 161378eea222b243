/* A process behind the walls tries what it must not do, and does what it has to. */
#include "engine/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite.h"

enum { MEGABYTE = 1 << 20, MEMORY_BYTES = 64 * MEGABYTE, FILE_BYTES = MEGABYTE };

static char folder[64];
static int outside; /* a file that was open before */

static void folder_setup(void) {
  snprintf(folder, sizeof folder, "/tmp/epochd-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  outside = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  ck_assert_int_ge(outside, 0);
}

static void folder_teardown(void) {
  char path[96];
  snprintf(path, sizeof path, "%s/written", folder);
  unlink(path);
  rmdir(folder);
  close(outside);
}

/* Each names what it tried; NULL: all was as it should be. */
typedef const char *trial(void);

static const char *refused(long result, const char *what) {
  return result < 0 && (errno == EPERM || errno == EACCES) ? NULL : what;
}

/* Runs it in a process of its own behind the walls, or without any. */
static void behind(const ep_sandbox *sandbox, trial *run, const char *wanted) {
  int ends[2];
  char said[64] = "";
  ck_assert_int_eq(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    if (chdir(folder) != 0) _exit(1);
    if (sandbox) ep_sandbox_enter(sandbox);
    const char *fault = run();
    const char *text = fault ? fault : "as it should be";
    if (write(ends[1], text, strlen(text)) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  ck_assert_int_ge(read(ends[0], said, sizeof said - 1), 0);
  close(ends[0]);
  ck_assert_int_eq(waitpid(child, NULL, 0), child);
  ck_assert_str_eq(said, wanted);
}

static bool walls_missing(void) {
#ifdef EP_SANITIZED
  return true;
#else
  ep_sandbox_walls walls = ep_sandbox_find();
  return !walls.privileges || !walls.filter || !walls.files;
#endif
}

static const char *network_try(void) {
  static const int families[] = {AF_INET, AF_INET6, AF_PACKET};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (refused(socket(families[i], SOCK_STREAM, 0), "")) return "a socket of the network";
  return NULL;
}

static const char *program_try(void) {
  char *const arguments[] = {"true", NULL};
  return refused(execv("/bin/true", arguments), "a program");
}

static const char *trace_try(void) {
  return refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL), "a trace of another process");
}

static const char *ingest_try(void) {
  const char *fault = network_try();
  if (!fault) fault = refused(socket(AF_UNIX, SOCK_STREAM, 0), "a socket of this machine");
  if (!fault) fault = program_try();
  if (!fault) fault = trace_try();
  if (!fault) fault = refused(fork(), "another process");
  if (!fault) fault = refused(kill(getppid(), 0), "a signal");
  if (!fault) fault = refused(open("/etc/passwd", O_RDONLY), "a file outside");
  if (!fault) fault = refused(open("../written", O_WRONLY | O_CREAT, 0600), "a new file outside");
  if (!fault) fault = refused(prctl(PR_SET_DUMPABLE, 1), "another setting");
  void *code =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!fault && code != MAP_FAILED) fault = "memory that is written and run";
  return fault;
}

static void *thread_run(void *context) {
  char **memory = context;
  *memory = malloc(MEGABYTE);
  if (*memory) memset(*memory, 1, MEGABYTE);
  return NULL;
}

/* What reading takes goes on; what is too much fails and ends nothing. */
static const char *ingest_work(void) {
  char letter, *memory = NULL;
  pthread_t thread;
  signal(SIGXFSZ, SIG_IGN);
  if (pread(outside, &letter, 1, 0) != 1) return "reading an open file";
  int file = open("written", O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0 || write(file, "x", 1) != 1 || fsync(file) != 0) return "writing in the folder";
  if (pwrite(file, "x", 1, FILE_BYTES) >= 0 || errno != EFBIG) return "a file that is too large";
  if (mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED) return "mapping";
  if (pthread_create(&thread, NULL, thread_run, &memory) != 0) return "a thread";
  pthread_join(thread, NULL);
  if (!memory) return "memory";
  for (int i = 0; i < MEMORY_BYTES / MEGABYTE; i++)
    if (mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
      return NULL;
  return "too much memory";
}

/* As unshare does, which is refused too. */
static const char *namespace_try(void) {
  long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  const char *fault = refused(child, "a namespace of its own");
  struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  child = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return fault || (child < 0 && errno == ENOSYS) ? fault : "a namespace of its own by clone3";
}

/* Signal 0 only asks. */
static const char *signal_try(void) {
  if (kill(getpid(), 0) != 0) return "no signal to itself";
  const char *fault = refused(kill(getppid(), 0), "a signal to its parent");
  if (!fault) fault = refused(syscall(SYS_tgkill, getppid(), getppid(), 0), "tgkill of its parent");
  return fault ? fault : refused(syscall(SYS_tkill, getppid(), 0), "tkill of its parent");
}

static const char *threads_work(void) {
  char *memory = NULL;
  pthread_t thread;
  if (pthread_create(&thread, NULL, thread_run, &memory) != 0) return "a thread";
  pthread_join(thread, NULL);
  return memory ? NULL : "memory";
}

static const char *worker_try(void) {
  const char *fault = network_try();
  if (!fault) fault = program_try();
  if (!fault) fault = namespace_try();
  if (!fault) fault = signal_try();
  return fault ? fault : trace_try();
}

static const char *cpu_try(void) {
  struct rlimit limit;
  const char *fault = refused(socket(AF_UNIX, SOCK_STREAM, 0), "a socket of this machine");
  if (!fault && getrlimit(RLIMIT_DATA, &limit) != 0) fault = "its limit cannot be read";
  if (!fault) fault = refused(setrlimit(RLIMIT_DATA, &limit), "another limit of memory");
  if (!fault) fault = refused(syscall(SYS_setrlimit, RLIMIT_DATA, &limit), "the older call of it");
  return fault ? fault : worker_try();
}

static const char *gpu_try(void) {
  return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? "no socket of this machine" : worker_try();
}

static const ep_sandbox INGEST = {
    .kind = EP_SANDBOX_INGEST, .memory_bytes = MEMORY_BYTES, .file_bytes = FILE_BYTES, .files = 16};
static const ep_sandbox CPU = {.kind = EP_SANDBOX_CPU}, GPU = {.kind = EP_SANDBOX_GPU};

START_TEST(ingest_is_walled_in) {
  if (walls_missing()) return;
  behind(&INGEST, ingest_try, "as it should be");
}
END_TEST

START_TEST(ingest_can_work) {
  if (walls_missing()) return;
  behind(&INGEST, ingest_work, "as it should be");
}
END_TEST

START_TEST(workers_are_walled_in) {
  if (walls_missing()) return;
  behind(&CPU, cpu_try, "as it should be");
  behind(&GPU, gpu_try, "as it should be");
  behind(&CPU, threads_work, "as it should be");
  behind(&GPU, threads_work, "as it should be");
}
END_TEST

/* A bare container has no /etc/hosts. */
#define SETTINGS "/etc/nsswitch.conf"

static const char *courier_try(void) {
  const char *fault = refused(socket(AF_UNIX, SOCK_STREAM, 0), "a socket of this machine");
  if (!fault) fault = program_try();
  if (!fault) fault = trace_try();
  if (!fault) fault = refused(kill(getppid(), 0), "a signal");
  if (!fault) fault = refused(open("written", O_RDWR | O_CREAT, 0600), "a file");
  if (!fault) fault = refused(open(SETTINGS, O_WRONLY), "a setting that is written");
  if (!fault) fault = refused(open("/etc/passwd", O_RDONLY), "a file of /etc that is not for it");
  if (!fault) fault = refused(open(folder, O_RDONLY | O_DIRECTORY), "a folder");
  return fault;
}

static const char *courier_work(void) {
  if (socket(AF_INET, SOCK_STREAM, 0) < 0 || socket(AF_INET6, SOCK_STREAM, 0) < 0)
    return "a socket of the network";
  return open(SETTINGS, O_RDONLY) < 0 ? "the settings of names" : NULL;
}

START_TEST(the_courier_is_walled_in) {
  const ep_sandbox sandbox = {.kind = EP_SANDBOX_COURIER, .files = 64};
  if (walls_missing()) return;
  behind(&sandbox, courier_try, "as it should be");
  behind(&sandbox, courier_work, "as it should be");
}
END_TEST

/* Without walls the same trials find them open: these tests can fail. */
START_TEST(trials_find_open_walls) {
  behind(NULL, ingest_try, "a socket of the network");
  behind(NULL, ingest_work, "a file that is too large");
  behind(NULL, cpu_try, "a socket of this machine");
  behind(NULL, gpu_try, "a socket of the network");
  behind(NULL, courier_try, "a socket of this machine");
}
END_TEST

START_TEST(walls_have_names) {
  char text[64];
  const ep_sandbox_walls some = {.privileges = true, .files = true};
  ck_assert_str_eq(ep_sandbox_text(some, true, text, sizeof text), "no-new-privileges, landlock");
  ck_assert_str_eq(ep_sandbox_text(some, false, text, sizeof text), "seccomp");
  ck_assert_str_eq(ep_sandbox_text((ep_sandbox_walls){0}, true, text, sizeof text), "none");
}
END_TEST

EP_SUITE("engine/sandbox") {
  TCase *tests = ep_suite_case(suite, "sandbox");
  tcase_add_checked_fixture(tests, folder_setup, folder_teardown);
  tcase_add_test(tests, ingest_is_walled_in);
  tcase_add_test(tests, ingest_can_work);
  tcase_add_test(tests, workers_are_walled_in);
  tcase_add_test(tests, the_courier_is_walled_in);
  tcase_add_test(tests, trials_find_open_walls);
  tcase_add_test(tests, walls_have_names);
}
