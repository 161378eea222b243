/* member.h: looks up one string in a JSON text that the program itself wrote, without a tree. */
#ifndef EP_SERVER_HTTP_MEMBER_H
#define EP_SERVER_HTTP_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

/* The string at {"name": …}, or at {"outer": {"name": …}} unless outer is NULL. False when it is
 * not there, or is no string. Escapes stay as they are. */
bool ep_member_find(const char *text, const char *outer, const char *name, char *out,
                    size_t out_bytes);
/* Undoes the escapes of ep_writer_string, in place; a zero ends the text. */
void ep_member_unescape(char *text);

#endif
