/* memory.h: jansson in a process whose memory may be short. jansson passes over some of its own
 * allocations that failed: its reader leaves characters out of strings and numbers, or aborts; its
 * writer leaves keys out of objects. So all JSON is read and written by these functions. */
#ifndef EP_API_JSON_MEMORY_H
#define EP_API_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Has jansson's allocations watched. Once in a process, before any thread and any JSON. What
 * jansson returns as text is then no block of malloc: ep_json_write in the place of json_dumps. */
void ep_json_memory_watch(void);

/* Bytes that jansson has of malloc's, in all threads; 0 unless they are watched. */
int64_t ep_json_memory_bytes(void);

/* Somebody else counts the first `bytes` that jansson takes in this thread from here on, until the
 * next call: then those that it took count here. 0: nobody does. */
void ep_json_memory_foresee(int64_t bytes);

/* json_loadb. NULL with an empty fault->text where memory is short. The caller owns the value:
 * json_decref. */
json_t *ep_json_read(const char *text, size_t bytes, size_t flags, json_error_t *fault);

/* Whether an allocation of jansson failed in this thread since its last ep_json_read: then
 * json_unpack may have failed because of it. */
bool ep_json_memory_short(void);

/* json_dumps. NULL where memory is short, or for a value that is NULL. The caller owns the text:
 * free. */
char *ep_json_write(const json_t *value, size_t flags);

#endif
