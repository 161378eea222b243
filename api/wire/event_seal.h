/* event_seal.h: the last member of an event's line, ,"crc":"1a2b3c4d": the CRC-32 (of zlib) of all
 * bytes of the line before it, in hexadecimal digits. It tells whether a line is what was written:
 * docs/adr/0030-a-crc-in-each-event-line.md. */
#ifndef EP_API_WIRE_EVENT_SEAL_H
#define EP_API_WIRE_EVENT_SEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/writer.h"

enum { EP_EVENT_SEAL_BYTES = 17 }; /* ,"crc":"1a2b3c4d" */

/* Adds the member to the object that is the writer's whole text so far. */
void ep_event_seal_write(ep_writer *writer);

/* Lines that were written before there were seals have none. */
typedef enum { EP_SEAL_ABSENT, EP_SEAL_BROKEN, EP_SEAL_WHOLE } ep_event_seal;

/* line: without its newline. */
ep_event_seal ep_event_seal_check(const char *line, size_t bytes);

#endif
