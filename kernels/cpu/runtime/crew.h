/* crew.h: threads that wait for work: the caller's and some more. */
#ifndef EP_KERNELS_CPU_RUNTIME_CREW_H
#define EP_KERNELS_CPU_RUNTIME_CREW_H

#include <stdint.h>

#include "api/status.h"

enum { EP_CREW_MOST = 64 }; /* members: more wait for memory, not for processors */

typedef struct ep_crew ep_crew;

/* Task `number` of a run; `member`: 0 … members - 1, who does it. */
typedef void (*ep_crew_task)(void *context, int64_t number, int member);

/* `members` at most, and EP_CREW_MOST, the caller among them; fewer when the system gives no more
 * threads. The caller destroys it. EP_NO_MEMORY. */
ep_status ep_crew_create(int members, ep_crew **out, ep_error *error);
void ep_crew_destroy(ep_crew *crew);

/* Does tasks 0 … count - 1, each once, in any order, and returns when all are done. From one thread
 * at a time. */
void ep_crew_run(ep_crew *crew, ep_crew_task task, void *context, int64_t count);

#endif
