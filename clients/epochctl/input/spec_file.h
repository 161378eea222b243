/* spec_file.h: the job of a command line: a file, and the edits of --set, --name, --tag and
 * --webhook. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_SPEC_FILE_H
#define EP_CLIENTS_EPOCHCTL_INPUT_SPEC_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "api/arguments/arguments.h"

/* Reads the file of the first word and applies the edits. Without edits *out is the text of the
 * file, so that the server's messages fit it. *out is the caller's (free). EP_INVALID for a file
 * that is not a JSON object, and for an edit that fails. */
ep_status ep_spec_file_read(const ep_arguments *arguments, char **out, size_t *out_bytes,
                            ep_error *error);

/* The JSON object of a file ("-": standard input), and its text: both the caller's (json_decref,
 * free). EP_INVALID for a file that is none. */
ep_status ep_spec_file_load(const char *path, json_t **out, char **text, size_t *bytes,
                            ep_error *error);
/* Applies --set, --name, --tag and --webhook, in the order of the command line. */
ep_status ep_spec_edit(json_t *spec, const ep_arguments *arguments, ep_error *error);
/* Applies --name, --tag or --webhook; any other option changes nothing. */
ep_status ep_spec_label(json_t *spec, const char *option, const char *value, ep_error *error);
/* The text of a spec, the caller's (free). */
ep_status ep_spec_format(const json_t *spec, char **text, size_t *bytes, ep_error *error);

#endif
