/* settings.h: a JSON file of settings, read by the table of a command line's options. */
#ifndef EP_API_ARGUMENTS_SETTINGS_H
#define EP_API_ARGUMENTS_SETTINGS_H

#include "api/arguments/option.h"

/* Stores each member of the file's object: its key is an option's name with _ for -, its value a
 * string, or an integer for an EP_OPTION_INTEGER. Switches are refused. EP_INVALID names the key.
 */
ep_status ep_settings_read(const char *path, const ep_option *table, void *settings,
                           ep_error *error);

#endif
