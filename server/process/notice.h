/* notice.h: what the core has to say to whoever runs the daemon. It decides neither form nor place:
 * the program sets a sink (its log); without one the lines go to stderr. */
#ifndef EP_SERVER_PROCESS_NOTICE_H
#define EP_SERVER_PROCESS_NOTICE_H

typedef enum {
  EP_NOTICE_DEBUG,
  EP_NOTICE_INFO,
  EP_NOTICE_WARNING,
  EP_NOTICE_ERROR
} ep_notice_level;

/* Called from any thread, several at once. `text` is one line without '\n', lent for the call. */
typedef void ep_notice_sink(ep_notice_level level, const char *text);

/* Set once, before any thread is started. NULL: stderr, from EP_NOTICE_INFO on. */
void ep_notice_set_sink(ep_notice_sink *sink);

void ep_notice(ep_notice_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
