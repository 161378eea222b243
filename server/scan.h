/* scan.h: walks the members of one JSON object in a text, without building a tree: for the daemon's
 * own flat configuration, and to look one value up in a text that the program itself wrote. */
#ifndef EP_SERVER_SCAN_H
#define EP_SERVER_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of the text that is being scanned: a loan. */
typedef struct {
  const char *at;
  size_t bytes;
} ep_scan_piece;

typedef struct {
  const char *at, *end;
  bool first, failed; /* failed: not JSON; nothing more comes */
} ep_scan;

/* Starts at an object: the text, white space around it. False when it is none. */
bool ep_scan_object(ep_scan *scan, const char *text, size_t bytes);

/* The next member: key without its quotes (escapes as they stand), value as it stands. False at the
 * closing brace (look at `failed`). */
bool ep_scan_member(ep_scan *scan, ep_scan_piece *key, ep_scan_piece *value);

/* True when nothing but white space follows the object. */
bool ep_scan_finish(ep_scan *scan);

/* The value of `key` in the object `text`, or false. */
bool ep_scan_find(ep_scan_piece text, const char *key, ep_scan_piece *value);

/* Decodes a string value (quotes included) into out, ending in 0; false when it is none, has a
 * control character or a \u escape beyond ASCII, or does not fit. */
bool ep_scan_string(ep_scan_piece value, char *out, size_t out_bytes);

/* A JSON integer. */
bool ep_scan_integer(ep_scan_piece value, long long *out);

#endif
