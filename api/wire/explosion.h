/* explosion.h: what is said of a loss that rises and rises, before it is infinite. */
#ifndef EP_API_WIRE_EXPLOSION_H
#define EP_API_WIRE_EXPLOSION_H

#include "api/wire/event.h"

/* The sentence for a record whose lowest_loss is set. */
void ep_explosion_format(const ep_progress_record *record, char out[EP_MESSAGE_BYTES]);

#endif
