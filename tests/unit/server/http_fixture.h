/* http_fixture.h: the HTTP server over real sockets, with jobs that nobody trains behind it. */
#ifndef EP_TESTS_UNIT_SERVER_HTTP_FIXTURE_H
#define EP_TESTS_UNIT_SERVER_HTTP_FIXTURE_H

#include <stdbool.h>

#include "server/curves/curves.h"
#include "server/http/http.h"
#include "tests/wait.h"

enum { OTHERS = 29 }; /* connections beside the watchers, where there is room for few */
enum { HELD_BYTES = 64 << 20, ANSWER_BYTES = 1 << 20, PATIENCE_MS = EP_PATIENCE_SECONDS * 1000 };

extern ep_server server;
extern ep_curves curves;
extern int port;
extern char answer[ANSWER_BYTES]; /* what `hear` read */
extern char folder[];

/* watchers: that there is room for; 0: as many as descriptors allow. */
void start(int64_t watchers);
void stop(void);
void setup(void); /* start(0) */

int dial(void);
void say(int client, const char *text);
bool is_readable(int client, int patience_ms);

/* Reads on into `answer` until `word` is there or the other side closes; false when it closes or
 * nothing comes for `patience_ms`. */
bool hear(int client, const char *word, int patience_ms, size_t *used);

/* One request on a connection of its own, answered whole in `answer`; returns the status. */
int ask(const char *method, const char *target, const char *headers, const char *body);
int get(const char *target);

#endif
