/* spec.h: a training job from JSON and to it.
 *
 * One table a struct (tables.h) names each field, its type, range and default; the parser, the
 * writer and the documentation walk the tables. Every error carries a JSON pointer. */
#ifndef EP_API_SPEC_SPEC_H
#define EP_API_SPEC_SPEC_H

#include <stddef.h>

#include "api/json/problem.h"
#include "api/spec/job_spec.h"

struct json_t; /* jansson's */

/* A request that submits a job or a sweep, as a tree: parsed once, whoever asks what of it.
 * EP_MALFORMED when it is not JSON, or has a key twice. The caller owns *out (json_decref). */
ep_status ep_spec_request_parse(const char *text, size_t bytes, struct json_t **out,
                                ep_problem *problem);
/* Whether its data are files that a path names, which may have to be read whole. */
bool ep_spec_request_names_files(const struct json_t *request);
/* The job that it is, as ep_job_spec_parse reads one; stored: as ep_job_spec_load. */
ep_status ep_job_request_read(const struct json_t *request, bool stored, ep_job_spec **out,
                              ep_problem *problem);

/* Parses JSON text into *out, defaults filled in. On failure *out is NULL and *problem lists every
 * field at fault (EP_MALFORMED when it is not JSON at all, EP_INVALID otherwise). Unknown fields
 * are errors, with the nearest known name in the message. The caller owns *out:
 * ep_job_spec_destroy. */
ep_status ep_job_spec_parse(const char *text, size_t bytes, ep_job_spec **out, ep_problem *problem);

/* The same of a spec that was stored, by an earlier version perhaps: its name and its tags may have
 * characters that do not show, which are refused since, and its target an index in quotes. */
ep_status ep_job_spec_load(const char *text, size_t bytes, ep_job_spec **out, ep_error *error);

/* The whole spec as JSON text, all defaults filled in; parsing it again gives the same spec.
 * The caller owns the text (free). NULL when memory is short. */
char *ep_job_spec_format(const ep_job_spec *spec);

/* Whether a webhook of the spec has the event. webhooks.c. */
bool ep_webhooks_have(const ep_job_spec *spec, ep_webhook event);

void ep_job_spec_destroy(ep_job_spec *spec); /* NULL is allowed */

/* Seeds the hash tables of everything here that reads JSON, and has its memory watched. Once in a
 * process, before any thread. */
void ep_json_seed(void);

#endif
