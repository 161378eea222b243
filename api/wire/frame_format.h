/* frame_format.h: what the encoder (frame.c) and the decoder (frame_decode.c) agree on. */
#ifndef EP_API_WIRE_FRAME_FORMAT_H
#define EP_API_WIRE_FRAME_FORMAT_H

#include "api/names.h"
#include "api/wire/frame.h"

enum { EP_COMMAND_NAMES = EP_COMMAND_CALIBRATE + 1, EP_REPLY_NAMES = EP_REPLY_CALIBRATED + 1 };
extern const char *const ep_command_names[EP_COMMAND_NAMES];
extern const char *const ep_reply_names[EP_REPLY_NAMES];

/* The payload of progress: this, then `count` records. */
typedef struct {
  char job[EP_ID_BYTES];
  int32_t attempt;
  uint32_t count;
} ep_progress_prefix;

_Static_assert(sizeof(ep_progress_prefix) == 48, "no padding on the wire");
_Static_assert(sizeof(ep_progress_record) == 56, "no padding on the wire");

#endif
