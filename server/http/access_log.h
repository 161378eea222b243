/* access_log.h: a line for each request that was answered: JSON in a file of its own
 * (--access-log), and a text in the daemon's log (--log-level debug). */
#ifndef EP_SERVER_HTTP_ACCESS_LOG_H
#define EP_SERVER_HTTP_ACCESS_LOG_H

#include "server/http/exchange.h"

/* Opens the file, or standard output for "-", to append to it; where `file` is open already, its
 * number stays: another program has moved the file away. */
ep_status ep_access_log_open(const char *path, int *file, ep_error *error);

/* The exchange is over. */
void ep_access_log_write(const ep_exchange *exchange);

/* The client's X-Request-Id, where it is 1 to 64 letters, digits and . _ -, else one that is made.
 */
void ep_request_id_find(ep_exchange *exchange);

/* Appends what the exchange has changed to the audit log, or may have changed. What cannot be
 * appended is an error in the log: it was done. */
void ep_exchange_audit(const ep_exchange *exchange);

#endif
