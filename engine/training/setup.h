/* setup.h: a job becomes a plan, rows, an instance on a device and first weights. */
#ifndef EP_ENGINE_TRAINING_SETUP_H
#define EP_ENGINE_TRAINING_SETUP_H

#include "engine/training/trainer.h"

/* From a trainer of which `job` alone is set. On failure what was made is still the caller's to
 * deinit. */
ep_status ep_trainer_init(ep_trainer *trainer, ep_error *error);
/* Makes trainer->instance, of the executor of that name (NULL: of the device's choice), with the
 * trainer's state and rows. On failure what was made is the caller's to release. */
ep_status ep_trainer_instance_make(ep_trainer *trainer, const char *executor, ep_error *error);

void ep_trainer_deinit(ep_trainer *trainer);

#endif
