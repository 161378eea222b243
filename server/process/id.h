/* id.h: ids of jobs and of sweeps: EP_JOB_PREFIX or EP_SWEEP_PREFIX and a ULID in lower-case
 * Crockford base32 (48 bits of milliseconds, 80 random bits), so that those of a kind sort by age.
 */
#ifndef EP_SERVER_PROCESS_ID_H
#define EP_SERVER_PROCESS_ID_H

#include <stdbool.h>

#include "api/names.h"

/* A new id, later than every one before it, even when the clock is set back. Thread-safe. */
void ep_id_create(const char *prefix, char id[EP_ID_BYTES]);

/* New ids are later than `id`: the store's newest, at start. */
void ep_id_observe(const char *id);

/* Whether it is a prefix and 26 characters of the alphabet, which is safe as the name of a folder.
 */
bool ep_id_valid(const char *id);
bool ep_id_is_sweep(const char *id);
/* "sweep" or "job": what messages call it. */
const char *ep_id_noun(const char *id);

/* Whether a valid id was made after another, of whichever kind. */
bool ep_id_is_later(const char *id, const char *other);

#endif
