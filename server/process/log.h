/* log.h: messages to the operator. The program sets a sink (log_output.h) that gives them form and
 * place; without one they go to stderr. */
#ifndef EP_SERVER_PROCESS_LOG_H
#define EP_SERVER_PROCESS_LOG_H

typedef enum { EP_LOG_DEBUG, EP_LOG_INFO, EP_LOG_WARNING, EP_LOG_ERROR } ep_log_level;

const char *ep_log_level_name(ep_log_level level);

/* Called from any thread, several at once. `text`: one line without '\n', lent for the call. */
typedef void ep_log_sink(ep_log_level level, const char *text);

/* Set once, before any thread is started. NULL: stderr, from EP_LOG_INFO on. */
void ep_log_set_sink(ep_log_sink *sink);

void ep_log(ep_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
