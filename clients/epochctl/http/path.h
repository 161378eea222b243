/* path.h: the path and query of a request, percent-encoded (RFC 3986). */
#ifndef EP_CLIENTS_EPOCHCTL_HTTP_PATH_H
#define EP_CLIENTS_EPOCHCTL_HTTP_PATH_H

enum { EP_REQUEST_PATH_BYTES = 4096 };

/* "/v1/jobs/" + name (percent-encoded) + "/events". A path that does not fit becomes "", which no
 * server has; the same holds for ep_path_query. */
void ep_path_make(char path[EP_REQUEST_PATH_BYTES], const char *before, const char *name,
                  const char *after);
/* Appends "?name=value", or "&name=value" where there is a query already; the value is encoded. */
void ep_path_query(char path[EP_REQUEST_PATH_BYTES], const char *name, const char *value);
/* The same of values: [count], with commas between. */
void ep_path_query_list(char path[EP_REQUEST_PATH_BYTES], const char *name,
                        const char *const *values, int count);

#endif
