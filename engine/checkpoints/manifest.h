/* manifest.h: the numbers of a checkpoint as JSON, and back. */
#ifndef EP_ENGINE_CHECKPOINTS_MANIFEST_H
#define EP_ENGINE_CHECKPOINTS_MANIFEST_H

#include "engine/checkpoints/checkpoint.h"

/* Owned by the caller (free); NULL: memory is short. */
char *ep_checkpoint_format(const ep_checkpoint *checkpoint);
/* EP_DATA: not such a text. */
ep_status ep_checkpoint_parse(const char *text, ep_checkpoint *out, ep_error *error);

#endif
