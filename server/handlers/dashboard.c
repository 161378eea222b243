/* The dashboard: a page and its files. Open to all: they hold no data; the page sends the token
 * that its reader enters. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/handlers/dashboard_files.h"
#include "server/handlers/handlers.h"

static const ep_asset *asset_find(const char *name) {
  for (const ep_asset *asset = EP_ASSETS; asset->name; asset++)
    if (strcmp(asset->name, name) == 0) return asset;
  return NULL;
}

/* A browser may load from this daemon alone and may not frame the page. */
static void headers_add(ep_response *response) {
  ep_response_header_add(
      response, "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; "
      "worker-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'none'; "
      "form-action 'none'; base-uri 'none'; frame-ancestors 'none'");
  ep_response_header_add(response, "Referrer-Policy", "no-referrer");
  ep_response_header_add(response, "Cross-Origin-Opener-Policy", "same-origin");
  ep_response_header_add(response, "Cross-Origin-Resource-Policy", "same-origin");
}

/* Whether Accept-Encoding allows gzip. */
static bool takes_gzip(const ep_request *request) {
  const char *at = ep_request_header(request, "Accept-Encoding");
  while (at && *at) {
    at += strspn(at, " \t,");
    size_t bytes = strcspn(at, " \t,;");
    const char *rest = at + bytes + strspn(at + bytes, " \t;");
    if (bytes == 4 && strncasecmp(at, "gzip", 4) == 0)
      return strncasecmp(rest, "q=0", 3) != 0 ||
             strspn(rest + 2, "0.") != strcspn(rest + 2, " \t,");
    at += strcspn(at, ",");
  }
  return false;
}

/* The asset, compressed if the client takes that. vary: a literal, the headers that the response
 * depends on. The browser revalidates every time, so that page and daemon have the same version. */
static ep_route_result asset_serve(ep_exchange *exchange, const ep_asset *asset, const char *vary) {
  ep_response *response = &exchange->response;
  bool compressed = takes_gzip(&exchange->request);
  char etag[2][48];
  snprintf(etag[0], sizeof etag[0], "\"%s\"", asset->hash);
  snprintf(etag[1], sizeof etag[1], "\"%s-gzip\"", asset->hash);
  if (ep_request_matches(&exchange->request, etag[compressed]))
    ep_response_empty(response, 304);
  else if (compressed)
    ep_response_constant(response, 200, asset->type, (const char *)asset->gzip, asset->gzip_count);
  else
    ep_response_constant(response, 200, asset->type, (const char *)asset->bytes,
                         asset->bytes_count);
  if (compressed && response->status == 200)
    ep_response_header_add(response, "Content-Encoding", "gzip");
  ep_response_header_add(response, "ETag", "%s", etag[compressed]);
  ep_response_header_add(response, "Cache-Control", "no-cache");
  ep_response_header_add(response, "Vary", "%s", vary);
  headers_add(response);
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_asset_get(ep_exchange *exchange) {
  static const char FOLDER[] = "/assets/";
  const ep_asset *asset = asset_find(exchange->request.path + sizeof FOLDER - 1);
  if (!asset)
    return ep_exchange_fail_with(exchange, EP_NOT_FOUND, "no file %.200s in the dashboard%s",
                                 exchange->request.path,
                                 EP_ASSETS->name ? "" : ": this build has no dashboard");
  return asset_serve(exchange, asset, "Accept-Encoding");
}

#define TEXT                                                                              \
  "epochd " EP_VERSION "\n\n"                                                             \
  "Trains neural networks for anyone who can send JSON.\n\n"                              \
  "  GET  /openapi.json          the contract of this interface\n"                        \
  "  POST /v1/jobs               submit a training (JSON)\n"                              \
  "  GET  /v1/jobs               submitted jobs\n"                                        \
  "  GET  /v1/jobs/{id}/events   events as they happen (NDJSON, or server-sent events)\n" \
  "  GET  /v1/jobs/{id}/weights  trained weights (safetensors)\n"                         \
  "  PUT  /v1/datasets/{name}    upload data (CSV, NPY, JSON)\n"                          \
  "  GET  /v1/devices            devices\n"                                               \
  "  GET  /metrics               for Prometheus\n\n"
#define NO_DASHBOARD                                                                          \
  "This build has no dashboard: uPlot could not be fetched when it was built, or it was not " \
  "wanted."                                                                                   \
  "\nTo get one: docker/install dashboard, then cmake -DEPOCHD_DASHBOARD=ON and build again.\n"

/* For a client that does not accept HTML, such as curl. */
static ep_route_result text_serve(ep_exchange *exchange) {
  static const char WITH[] = TEXT "A browser gets the dashboard at this address.\n";
  static const char WITHOUT[] = TEXT NO_DASHBOARD;
  bool with = asset_find("index.html") != NULL;
  ep_response_constant(&exchange->response, 200, "text/plain; charset=utf-8", with ? WITH : WITHOUT,
                       with ? sizeof WITH - 1 : sizeof WITHOUT - 1);
  ep_response_header_add(&exchange->response, "Vary", "Accept");
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_root_get(ep_exchange *exchange) {
  static const char WITHOUT[] =
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>epochd</title>\n"
      "<h1>epochd " EP_VERSION "</h1>\n<pre>" TEXT NO_DASHBOARD "</pre>\n</html>\n";
  static const char *const TYPES[] = {"text/html", "text/plain", NULL};
  if (exchange->request.bare) { /* the page's addresses are relative to the folder that it is in */
    ep_response_empty(&exchange->response, 308);
    ep_exchange_locate(exchange, "/");
    return EP_ROUTE_DONE;
  }
  if (ep_request_accepts(&exchange->request, TYPES, 1) != 0) return text_serve(exchange);
  const ep_asset *page = asset_find("index.html");
  if (page) return asset_serve(exchange, page, "Accept, Accept-Encoding");
  ep_response_constant(&exchange->response, 200, "text/html; charset=utf-8", WITHOUT,
                       sizeof WITHOUT - 1);
  ep_response_header_add(&exchange->response, "Vary", "Accept");
  headers_add(&exchange->response);
  return EP_ROUTE_DONE;
}
