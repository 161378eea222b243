/* id.h: job ids: "job_" and a ULID in lower-case Crockford base32 (48 bits of milliseconds, 80
 * random bits), so that they sort by age. */
#ifndef EP_SERVER_PROCESS_ID_H
#define EP_SERVER_PROCESS_ID_H

#include <stdbool.h>

#include "api/names.h"

/* A new id, greater than every one before it, even when the clock is set back. Thread-safe. */
void ep_id_create(char id[EP_ID_BYTES]);

/* Later ids are greater than `id`: the store's newest, at start. */
void ep_id_observe(const char *id);

/* Whether it is "job_" and 26 characters of the alphabet, which is safe as the name of a folder. */
bool ep_id_valid(const char *id);

#endif
