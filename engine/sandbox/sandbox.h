/* sandbox.h: walls around this process, raised by itself and for good, before it reads what others
 * wrote: no new privileges, a filter of system calls (seccomp), files (Landlock), and limits. */
#ifndef EP_ENGINE_SANDBOX_SANDBOX_H
#define EP_ENGINE_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  /* Reads files that are open, and writes in its working folder: the system calls that this takes
   * are listed, and no other one works. No other file can be opened. */
  EP_SANDBOX_INGEST,
  /* Trains. No other program, process, mount, key, kernel module or trace of another process; on
   * the CPU no socket either, on a GPU none that reaches another machine: its driver is a library
   * whose system calls nobody lists. */
  EP_SANDBOX_CPU,
  EP_SANDBOX_GPU,
  /* Speaks to other machines. Reads libraries, the settings of names and whom TLS trusts, and no
   * other file; writes none. No other program or process, and no socket but of the internet, and
   * those by which the kernel tells of this machine's network. */
  EP_SANDBOX_COURIER
} ep_sandbox_kind;

/* 0 in a limit: none. */
typedef struct {
  ep_sandbox_kind kind;
  int64_t memory_bytes; /* private and writable: what is allocated, not files that are mapped */
  int64_t file_bytes;   /* of each file that is written */
  int64_t cpu_seconds;
  int64_t files; /* open at once */
} ep_sandbox;

/* Which walls stand; each stays open where the machine, a container say, does not permit it. */
typedef struct {
  bool privileges; /* no program that it starts has more rights than itself */
  bool filter, files;
} ep_sandbox_walls;

/* Raises the walls, around all threads but for the files, whose wall is around this thread and
 * those that it starts. All libraries are loaded and all they read at first is read by then. */
ep_sandbox_walls ep_sandbox_enter(const ep_sandbox *sandbox);

/* Which walls this machine permits; raises none. */
ep_sandbox_walls ep_sandbox_find(void);

/* The names of walls that stand in all, or do not: "no-new-privileges, seccomp, landlock"; "none".
 */
const char *ep_sandbox_text(ep_sandbox_walls walls, bool stands, char *text, size_t bytes);

#endif
