/* layers.h: "report": {"layers": true}: when the layers are looked at (engine/inspection), and that
 * it takes a small share of the training's time. */
#ifndef EP_ENGINE_TRAINING_LAYERS_H
#define EP_ENGINE_TRAINING_LAYERS_H

#include "engine/training/trainer.h"

/* The share of the training's time that looking may take. The first and the last epoch are looked
 * at also where that takes at most so many seconds in all: a job of milliseconds has two lines. */
#define EP_LAYERS_SHARE 0.02
#define EP_LAYERS_SECONDS 0.002

/* Before a segment: the epoch of trainer->layers.due whose end it must not pass; 0: none. */
void ep_layers_plan(ep_trainer *trainer);

/* At the end of an epoch that is due, after `seconds` of training: its records for the sink. A
 * failure of memory ends the reports of layers, not the training. */
ep_status ep_layers_report(ep_trainer *trainer, int64_t epoch, double seconds, ep_error *error);

void ep_layers_deinit(ep_trainer *trainer);

#endif
