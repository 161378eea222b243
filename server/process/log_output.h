/* log_output.h: the sink of log.h: stderr, one JSON object a line, or plain text on a terminal.
 * Control characters are never written raw. */
#ifndef EP_SERVER_PROCESS_LOG_OUTPUT_H
#define EP_SERVER_PROCESS_LOG_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "server/process/log.h"

typedef enum { EP_LOG_AUTO, EP_LOG_JSON, EP_LOG_TEXT } ep_log_format;

enum { EP_LOG_LINE_BYTES = 4096 }; /* a longer text is cut */

/* Sets the sink; AUTO is text when stderr is a terminal. Before any thread is started. */
void ep_log_start(ep_log_level least, ep_log_format format);

/* Writes one line, '\n' included, to `line`; returns its bytes. */
size_t ep_log_line(char line[EP_LOG_LINE_BYTES], ep_log_format format, ep_log_level level,
                   int64_t time_us, const char *text);

/* -1: there is no such level. */
int ep_log_level_from_name(const char *name);

#endif
