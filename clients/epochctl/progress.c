#include "clients/epochctl/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clients/epochctl/figures.h"

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS 10.0 /* in a pipe: no longer silence than this while epochs come */
enum { BAR_LEAST = 8, BAR_MOST = 30, FIELDS = 6, LINE_BYTES = 2048, NAME_WIDTH = 24 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double fraction(const ep_event *event) {
  return event->epochs > 0 ? (double)event->progress.epoch / (double)event->epochs : 0;
}

/* What stands behind the bar, the most wanted first; an empty text is left out. */
static void fields_write(const ep_event *event, char fields[FIELDS][96]) {
  const ep_progress_record *record = &event->progress;
  char a[EP_FIGURE_BYTES], b[EP_FIGURE_BYTES];
  for (int i = 0; i < FIELDS; i++) fields[i][0] = 0;
  snprintf(fields[0], 96, "%s", ep_figure_percent(fraction(event), a));
  snprintf(fields[1], 96, "loss %s", ep_figure_number(record->loss, a));
  if (!isnan(event->eta_seconds) && record->epoch < event->epochs)
    snprintf(fields[2], 96, "%s left", ep_figure_seconds(event->eta_seconds, a));
  if (!isnan(record->validation_loss))
    snprintf(fields[3], 96, "validation %s", ep_figure_number(record->validation_loss, a));
  else if (!isnan(record->error))
    snprintf(fields[3], 96, "error %s", ep_figure_number(record->error, a));
  snprintf(fields[4], 96, "epoch %s/%s", ep_figure_count(record->epoch, a),
           ep_figure_count(event->epochs, b));
  if (record->elapsed_seconds > 0)
    snprintf(fields[5], 96, "%s epochs/s",
             ep_figure_rate((double)record->epoch / record->elapsed_seconds, a));
}

static size_t bar_write(const ep_terminal *terminal, double part, int width, char *text,
                        size_t bytes) {
  int full = (int)(part * width + 0.5);
  size_t used = 0;
  for (int i = 0; i < width && used + 4 < bytes; i++) {
    const char *block =
        terminal->unicode ? (i < full ? "\u2501" : "\u2500") : (i < full ? "#" : ".");
    used += (size_t)snprintf(text + used, bytes - used, "%s", block);
  }
  return used;
}

/* In the order of reading, which is not that of importance. */
static void line_join(const ep_progress *progress, char fields[FIELDS][96], int kept, int bar,
                      char *text, size_t bytes) {
  static const int ORDER[FIELDS] = {0, 4, 1, 3, 5, 2};
  char name[NAME_WIDTH * 4 + 1];
  size_t fit = ep_text_fit(progress->name, NAME_WIDTH);
  snprintf(name, sizeof name, "%.*s", (int)fit, progress->name);
  size_t used = (size_t)snprintf(text, bytes, "%s%s", name, *name ? " " : "");
  if (bar > 0) {
    used +=
        bar_write(progress->terminal, fraction(&progress->last), bar, text + used, bytes - used);
    text[used] = 0;
  }
  for (int i = 0; i < FIELDS; i++) {
    int field = ORDER[i];
    if (field >= kept || !fields[field][0] || used + 100 > bytes) continue;
    used +=
        (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? "  " : "", fields[field]);
  }
}

void ep_progress_line(const ep_progress *progress, int width, char *text, size_t bytes) {
  char fields[FIELDS][96];
  if (progress->last.seq == 0) {
    const char *what = progress->state == EP_EVENT_STARTED ? "started" : "waiting for a device";
    snprintf(text, bytes, "%s%s%s", progress->name, *progress->name ? "  " : "", what);
    text[ep_text_fit(text, width)] = 0;
    return;
  }
  fields_write(&progress->last, fields);
  for (int kept = FIELDS; kept >= 1; kept--) {
    line_join(progress, fields, kept, BAR_LEAST, text, bytes);
    int room = width - ep_text_width(text);
    if (room < 0) continue;
    int bar = BAR_LEAST + (room < BAR_MOST - BAR_LEAST ? room : BAR_MOST - BAR_LEAST);
    line_join(progress, fields, kept, bar, text, bytes);
    return;
  }
  text[ep_text_fit(text, width)] = 0;
}

static void draw(ep_progress *progress) {
  char text[LINE_BYTES];
  int width = ep_terminal_width(progress->terminal) - 1; /* the last column would wrap */
  ep_progress_line(progress, width, text, sizeof text);
  printf("\r%s\x1b[K", text);
  fflush(stdout);
  progress->drawn = true;
  progress->shown_s = now_s();
  progress->shown_seq = progress->last.seq;
}

static void print_epoch(ep_progress *progress) {
  char fields[FIELDS][96];
  static const int ORDER[FIELDS] = {4, 0, 1, 3, 5, 2};
  bool first = true;
  fields_write(&progress->last, fields);
  for (int i = 0; i < FIELDS; i++) {
    if (!fields[ORDER[i]][0]) continue;
    printf("%s%s", first ? "" : "  ", fields[ORDER[i]]);
    first = false;
  }
  putchar('\n');
  fflush(stdout);
  progress->shown_s = now_s();
  progress->shown_seq = progress->last.seq;
}

void ep_progress_note(ep_progress *progress, ep_colour colour, const char *text) {
  if (progress->drawn) fputs("\r\x1b[K", stdout);
  progress->drawn = false;
  printf("%s%s%s\n", ep_terminal_colour(progress->terminal, colour), text,
         ep_terminal_colour(progress->terminal, EP_COLOUR_PLAIN));
  fflush(stdout);
}

static void epoch_comes(ep_progress *progress, const ep_event *event) {
  progress->last = *event;
  progress->state = EP_EVENT_EPOCH;
  if (progress->terminal->live) {
    if (now_s() - progress->shown_s >= REDRAW_SECONDS) draw(progress);
    return;
  }
  int tenths = (int)floor(fraction(event) * 10);
  bool waited = now_s() - progress->shown_s >= LINE_SECONDS;
  if (tenths <= progress->shown_tenths && !waited) return;
  progress->shown_tenths = tenths;
  print_epoch(progress);
}

void ep_progress_event(ep_progress *progress, const ep_event *event, const char *message) {
  char text[LINE_BYTES];
  switch (event->type) {
  case EP_EVENT_EPOCH: epoch_comes(progress, event); return;
  case EP_EVENT_QUEUED:
  case EP_EVENT_STARTED:
    progress->state = event->type;
    if (progress->terminal->live)
      draw(progress);
    else if (event->type == EP_EVENT_STARTED)
      ep_progress_note(progress, EP_COLOUR_PLAIN, message ? message : "started");
    return;
  case EP_EVENT_RESTARTED:
    progress->last.seq = 0;
    progress->shown_tenths = 0;
    break;
  default: break;
  }
  if (!message) return;
  snprintf(text, sizeof text, "%s: %s", ep_event_type_name(event->type), message);
  ep_progress_note(progress, EP_COLOUR_YELLOW, text);
}

void ep_progress_idle(ep_progress *progress) {
  bool behind = progress->last.seq > progress->shown_seq;
  if (progress->terminal->live && behind && now_s() - progress->shown_s >= REDRAW_SECONDS)
    draw(progress);
}

void ep_progress_end(ep_progress *progress) {
  if (progress->drawn) fputs("\r\x1b[K", stdout);
  progress->drawn = false;
}
