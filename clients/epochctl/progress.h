/* progress.h: a job's events as people follow them: on a terminal one line that is drawn over
 * itself, in a pipe a line now and then. */
#ifndef EP_CLIENTS_EPOCHCTL_PROGRESS_H
#define EP_CLIENTS_EPOCHCTL_PROGRESS_H

#include "api/wire/event.h"
#include "clients/epochctl/terminal.h"

/* From {.terminal = …, .name = …}, both loans. */
typedef struct {
  const ep_terminal *terminal;
  const char *name;    /* of the job: escaped already */
  ep_event last;       /* the newest epoch; seq 0 before the first */
  double shown_s;      /* steady clock, when something was last shown; 0 for never */
  int64_t shown_seq;   /* of the event that is shown */
  int shown_tenths;    /* of the way, in the last line of a pipe */
  bool drawn;          /* the cursor stands behind a drawn line */
  ep_event_type state; /* queued, started or epoch: what the line says before there are figures */
} ep_progress;

/* Any event but the last. `message`: of a warning or a restart, escaped; NULL for none. */
void ep_progress_event(ep_progress *progress, const ep_event *event, const char *message);
/* Draws what was held back because it came too fast. */
void ep_progress_idle(ep_progress *progress);
/* A line of its own, above the drawn one. */
void ep_progress_note(ep_progress *progress, ep_colour colour, const char *text);
/* Takes the drawn line away: the job's summary follows. */
void ep_progress_end(ep_progress *progress);

/* The text of the drawn line, without escape sequences, at most `width` columns: name, bar,
 * percent, epoch, loss, validation loss, rate, time left; of a narrow one the later figures are
 * left out. text: [bytes], ends in 0. */
void ep_progress_line(const ep_progress *progress, int width, char *text, size_t bytes);

#endif
