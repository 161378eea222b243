/* record.h: what the gateway of epochd and the relay of a worker on another machine send each other
 * over TLS: records, little-endian, of a header of 16 bytes (u32 payload bytes, u32 kind, u64
 * number) and the payload.
 *
 * A relay says HELLO, the gateway WELCOME or REFUSED. Then frames (frame.h) go both ways as they
 * are, and the files that they speak of go before them. The relay numbers its frames from 1 on for
 * as long as it lives, and holds each until the gateway says TAKEN: after a break of the connection
 * it sends again what was not taken. What a gateway took may be lost with epochd: so the relay
 * holds all frames of a job until it gets the next one.
 *
 * Between two nodes of one training the same records are HELLO, JOINED or REFUSED, then DATA both
 * ways. This file encodes and decodes; it owns no
 * socket. */
#ifndef EP_API_WIRE_RECORD_H
#define EP_API_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/status.h"
#include "api/wire/frame.h"

#define EP_RECORD_MAGIC "EPRELAY2" /* another where the records below change */

enum {
  EP_RECORD_HEADER_BYTES = 16,
  EP_RECORD_DATA_BYTES = 256 << 10, /* of one record of a file's bytes */
  EP_RECORD_NAME_BYTES = 256,       /* of a file, relative to the data folder; the 0 included */
  EP_RECORD_NAMES_BYTES = 256 << 10 /* of all names of a job's folder */
};

/* X(code, most payload bytes) */
#define EP_RECORD_TABLE(X)                                                                    \
  X(HELLO, sizeof(ep_record_hello))     /* relay */                                           \
  X(WELCOME, sizeof(ep_record_welcome)) /* gateway */                                         \
  X(GONE, EP_MESSAGE_BYTES)             /* relay: its worker has ended, and how; text */      \
  X(REFUSED, EP_MESSAGE_BYTES)          /* gateway: why, text; the end of the worker */       \
  X(FRAME, EP_LIMIT_FRAME_BYTES + EP_FRAME_HEADER_BYTES) /* number: the relay's; else 0 */    \
  X(TAKEN, 0)                                            /* gateway: frames up to number */   \
  X(FILE, sizeof(ep_record_file))                        /* a file begins; one at a time */   \
  X(DATA, EP_RECORD_DATA_BYTES)                          /* its bytes, or of nodes' frames */ \
  X(FILE_END, EP_SHA256_HEX_BYTES - 1)                   /* SHA-256 of these bytes, in hex */ \
  X(NAMES, EP_RECORD_NAMES_BYTES) /* relay: all names of the job's folder, each with a 0 */   \
  X(FOLDER, EP_RECORD_NAME_BYTES) /* gateway: does the relay have "datasets/<sha256>"? */     \
  X(HAVE, 1)                      /* relay: 1 = it has; 0 = the gateway sends the files */    \
  X(JOINED, 0)                    /* a relay to the HELLO of another node's process */

typedef enum {
  EP_RECORD_NONE,
#define EP_RECORD_ENUM(code, most) EP_RECORD_##code,
  EP_RECORD_TABLE(EP_RECORD_ENUM)
#undef EP_RECORD_ENUM
} ep_record_kind;

typedef struct {
  ep_record_kind kind;
  uint64_t number;
  const uint8_t *payload; /* [bytes], lent */
  size_t bytes;
} ep_record;

/* Texts end with a 0, and are filled up with zeros. */
typedef struct {
  char magic[8];
  char version[32]; /* of the program: another one's relay is refused */
  char worker[EP_ID_BYTES];
  char secret[EP_SHA256_HEX_BYTES + 7]; /* of the first connection; then the one of WELCOME */
  char node[64];
  char slurm_job[32];
  char job[EP_ID_BYTES]; /* that it has; "" = none */
  int32_t attempt;
  int16_t has_all;      /* 1: it holds every frame of this attempt, not only those not taken */
  int16_t ended;        /* 1: the gateway took the last frame of this attempt */
  uint64_t first, last; /* the numbers of the frames that it holds; last = first - 1: none */
} ep_record_hello;

typedef struct {
  char secret[EP_SHA256_HEX_BYTES + 7]; /* of further connections */
  uint64_t taken;                       /* frames up to this number arrived before */
  int32_t keep;                         /* 1: the job that HELLO names goes on; 0: it is given up */
  int32_t reconnect_seconds;            /* how long to try, after a break */
} ep_record_welcome;

typedef struct {
  char name[EP_RECORD_NAME_BYTES];
  int64_t from;  /* bytes of the file that the other side has; the rest follows */
  int64_t bytes; /* that follow */
} ep_record_file;

_Static_assert(sizeof(ep_record_hello) == 312, "no padding on the wire");
_Static_assert(sizeof(ep_record_welcome) == 88, "no padding on the wire");
_Static_assert(sizeof(ep_record_file) == 272, "no padding on the wire");

void ep_record_header_write(uint8_t header[EP_RECORD_HEADER_BYTES], ep_record_kind kind,
                            size_t bytes, uint64_t number);
/* EP_MALFORMED: an unknown kind; EP_TOO_LARGE: over the most that its kind has. */
ep_status ep_record_header_read(const uint8_t header[EP_RECORD_HEADER_BYTES], ep_record *out,
                                ep_error *error);

/* Readers of payloads: EP_MALFORMED for another size, a text without its 0 or with what is no plain
 * ASCII, a number out of its range, a name that ep_record_name_valid refuses. A HELLO of other
 * magic is EP_UNSUPPORTED. */
ep_status ep_record_hello_read(const ep_record *record, ep_record_hello *out, ep_error *error);
ep_status ep_record_welcome_read(const ep_record *record, ep_record_welcome *out, ep_error *error);
ep_status ep_record_file_read(const ep_record *record, ep_record_file *out, ep_error *error);
/* hash: [EP_SHA256_HEX_BYTES]. */
ep_status ep_record_end_read(const ep_record *record, char *hash, ep_error *error);
/* name: [EP_RECORD_NAME_BYTES]. */
ep_status ep_record_folder_read(const ep_record *record, char *name, ep_error *error);
/* The header of the frame within a FRAME record, whose payload is behind it. */
ep_status ep_record_frame_read(const ep_record *record, ep_frame_kind *kind, ep_error *error);
/* Whether every name is a plain one, without a folder. */
ep_status ep_record_names_read(const ep_record *record, ep_error *error);
/* The text of a REFUSED or GONE, as far as it is plain. text: [EP_MESSAGE_BYTES], written. */
void ep_record_text_read(const ep_record *record, char *text);

/* A relative path of 1 to 4 parts of letters, digits and . _ -, none of which begins with a dot. */
bool ep_record_name_valid(const char *name);

/* Whether a worker leaves a file of this name in its job's folder: weights, predictions, trials,
 * checkpoints. No other one is taken from a relay. */
bool ep_record_result_valid(const char *name);

#endif
