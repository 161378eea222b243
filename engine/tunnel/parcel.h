/* parcel.h: files that go through a channel: read piece by piece where they are sent from, and put
 * in their place whole where they come to. */
#ifndef EP_ENGINE_TUNNEL_PARCEL_H
#define EP_ENGINE_TUNNEL_PARCEL_H

#include "api/hash/sha256.h"
#include "engine/tunnel/channel.h"

/* A file that is being sent. Starts with file = -1. */
typedef struct {
  int file; /* owned; -1 = none is being sent */
  int64_t left;
  ep_sha256 hash;
} ep_outgoing;

/* Announces the bytes of `file` from `from` on, up to `until`; takes ownership of the descriptor,
 * also on failure. */
ep_status ep_outgoing_begin(ep_outgoing *out, ep_channel *channel, int file, const char *name,
                            int64_t from, int64_t until, ep_error *error);
/* Queues further bytes, as long as few wait in the channel; out->file is -1 once all are queued.
 * EP_IO: the file is shorter than it was. */
ep_status ep_outgoing_go_on(ep_outgoing *out, ep_channel *channel, ep_error *error);
void ep_outgoing_abandon(ep_outgoing *out);

/* A file that comes. Starts with folder = file = -1. */
typedef struct {
  int folder, file; /* owned; -1 = none is coming */
  int64_t left;
  int64_t from; /* bytes that were there before; 0: the file is a new one */
  ep_sha256 hash;
  char name[EP_RECORD_NAME_BYTES]; /* within the folder */
} ep_incoming;

/* Begins the file below `root`, a descriptor, whose folders are made where they are missing, and
 * followed where they are no links. One that goes on behind bytes that are there needs a file of
 * that very size (EP_CONFLICT); any other one gets its name at the end. */
ep_status ep_incoming_begin(ep_incoming *in, int root, const ep_record_file *file, ep_error *error);
/* EP_MALFORMED: more than was announced. */
ep_status ep_incoming_data(ep_incoming *in, const void *bytes, size_t count, ep_error *error);
/* Synced and in its place. EP_MALFORMED: it has another hash, or is too short. */
ep_status ep_incoming_end(ep_incoming *in, const char *sha256, ep_error *error);
void ep_incoming_abandon(ep_incoming *in); /* what has come of it is removed */

#endif
