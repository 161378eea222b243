/* log.h: what the core has to say to whoever runs the daemon. It decides neither form nor place:
 * the program sets a sink (its log); without one the lines go to stderr. */
#ifndef EP_SERVER_PROCESS_LOG_H
#define EP_SERVER_PROCESS_LOG_H

typedef enum { EP_LOG_DEBUG, EP_LOG_INFO, EP_LOG_WARNING, EP_LOG_ERROR } ep_log_level;

/* Called from any thread, several at once. `text` is one line without '\n', lent for the call. */
typedef void ep_log_sink(ep_log_level level, const char *text);

/* Set once, before any thread is started. NULL: stderr, from EP_LOG_INFO on. */
void ep_log_set_sink(ep_log_sink *sink);

void ep_log(ep_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
