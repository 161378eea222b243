/* plots.h: the numbers of a plot of a trained job, from its weights and its data. On the CPU. */
#ifndef EP_ENGINE_WORKER_PLOTS_H
#define EP_ENGINE_WORKER_PLOTS_H

#include "api/wire/frame.h"
#include "engine/worker/inference.h"

/* Obeys EP_COMMAND_PLOT; predictor: the thread's. Errors: as ep_plot_write's (engine/plots);
 * EP_TOO_LARGE: over EP_LIMIT_PLOT_BYTES. */
ep_status ep_plots_write(const char *data_dir, const ep_command *command, ep_predictor *predictor,
                         ep_error *error);

#endif
