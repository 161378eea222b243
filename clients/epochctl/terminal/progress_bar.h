/* progress_bar.h: the progress of a job or a sweep: on a terminal one line that is redrawn in
 * place, in a pipe a line at each tenth. */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_PROGRESS_BAR_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_PROGRESS_BAR_H

#include "api/wire/event.h"
#include "clients/epochctl/terminal/terminal.h"

/* From {.terminal = …, .name = …}, both loans. */
typedef struct {
  const ep_terminal *terminal;
  const char *name;          /* of the job: escaped already */
  const char *best, *values; /* of a sweep: its best trial so far, and that one's point; escaped,
                                loans; "" before the first */
  ep_event last;             /* the newest epoch, batch or trial; seq 0 before the first */
  double shown_s;            /* steady clock at the last line; 0 before the first */
  int64_t shown_seq;         /* of the event in that line */
  int shown_tenths;          /* of the whole, in the last line of a pipe */
  bool drawn;                /* the cursor stands behind a drawn line */
  ep_event_type state;       /* queued, started or epoch: the text before the first */
} ep_progress_bar;

/* Shows any event but the last. `message`: of a warning or a restart, escaped; NULL for none. */
void ep_progress_bar_event(ep_progress_bar *bar, const ep_event *event, const char *message);
/* Draws an event that came too soon after the one before. */
void ep_progress_bar_idle(ep_progress_bar *bar);
/* Prints a line above the drawn one. */
void ep_progress_bar_note(ep_progress_bar *bar, ep_colour colour, const char *text);
/* Clears the drawn line. */
void ep_progress_bar_end(ep_progress_bar *bar);

/* The text of the drawn line, without escape sequences, at most `width` columns: name, bar,
 * percent, epoch, loss, validation loss, rate, time left; of a sweep percent, trainings, the best
 * trial, time left; a narrow line has fewer of them. text:
 * [bytes], ends in 0. */
void ep_progress_bar_line(const ep_progress_bar *bar, int width, char *text, size_t bytes);

#endif
