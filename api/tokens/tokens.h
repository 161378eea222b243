/* tokens.h: the tokens of a token file. A line is empty, a comment that begins with #, a JSON
 * object
 *
 *   {"name":"ci","owner":"ann","scopes":["read","submit"],"expires":"2027-01-01T00:00:00Z","hash":"…"}
 *
 * whose hash is the token's SHA-256 in hex, or a bare token: its name is "token N", N its line, it
 * has no owner, all scopes and no end. Neither memory nor the file has the token of a JSON line. */
#ifndef EP_API_TOKENS_TOKENS_H
#define EP_API_TOKENS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/names.h"
#include "api/status.h"

/* X(code, name): what a token allows. */
#define EP_SCOPE_TABLE(X) \
  X(READ, "read")         \
  X(SUBMIT, "submit")     \
  X(PUBLISH, "publish")   \
  X(ADMIN, "admin")

enum {
#define EP_SCOPE_BIT(code, name) EP_SCOPE_BIT_##code,
  EP_SCOPE_TABLE(EP_SCOPE_BIT)
#undef EP_SCOPE_BIT
      EP_SCOPE_COUNT
};

/* A set of scopes. `admin` has all others. */
typedef enum {
#define EP_SCOPE_ENUM(code, name) EP_SCOPE_##code = 1 << EP_SCOPE_BIT_##code,
  EP_SCOPE_TABLE(EP_SCOPE_ENUM)
#undef EP_SCOPE_ENUM
      EP_SCOPE_ALL = (1 << EP_SCOPE_COUNT) - 1
} ep_scope;

enum { EP_SCOPES_BYTES = 64, EP_TOKEN_LEAST_BYTES = 16 };

typedef struct {
  char name[EP_OWNER_BYTES], owner[EP_OWNER_BYTES]; /* the owner of a bare token is "" */
  int line;                                         /* of the file, from 1 */
  unsigned scopes;                                  /* of ep_scope */
  int64_t expires_us;                               /* UTC; 0 = never */
  char hash[EP_SHA256_HEX_BYTES];
} ep_token;

typedef struct {
  ep_token *tokens; /* [count], owned */
  int count;
} ep_token_list; /* starts as {0} */

void ep_token_list_deinit(ep_token_list *list);

/* A name or an owner: 1 to EP_OWNER_BYTES - 1 letters, digits and _ . @ -. */
bool ep_token_name_valid(const char *name);

/* "read,submit". EP_INVALID names the word that is no scope. */
ep_status ep_scopes_parse(const char *text, unsigned *scopes, ep_error *error);
void ep_scopes_format(unsigned scopes, char text[EP_SCOPES_BYTES]);

/* The text of a token file; `path` is for messages. EP_INVALID names the line. A file without a
 * token is an empty list. */
ep_status ep_tokens_parse(const char *text, size_t bytes, const char *path, ep_token_list *out,
                          ep_error *error);
/* One line without its newline, the caller's (free); NULL: memory is short. */
char *ep_token_format(const ep_token *token);

/* Reads a token file: token_file.c. EP_IO: it cannot be read; EP_FORBIDDEN: others may read or
 * write it. Root's own file may be read by others, as may one on a mount that nobody can write,
 * where containers have their secrets. *text: the whole file, the caller's (free); NULL = not
 * wanted. */
ep_status ep_tokens_read(const char *path, ep_token_list *out, char **text, ep_error *error);
/* Whoever changes a token file holds this lock, of its folder, from before it reads the file. */
ep_status ep_tokens_lock(const char *path, int *lock, ep_error *error);
void ep_tokens_unlock(int lock);
/* Puts a file of this text in the place of `path`, readable for its owner alone. */
ep_status ep_tokens_write(const char *path, const char *text, size_t bytes, ep_error *error);

#endif
