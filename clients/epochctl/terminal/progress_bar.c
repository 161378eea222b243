#include "clients/epochctl/terminal/progress_bar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS 10.0 /* in a pipe: the longest time without a line while epochs come */
enum { BAR_WIDTH_MIN = 8, BAR_WIDTH_MAX = 30, FIELDS = 6, LINE_BYTES = 2048, NAME_WIDTH = 24 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Epochs done; within an epoch a part of one counts too. */
static double progress_epochs(const ep_event *event) {
  const ep_progress_record *record = &event->progress;
  bool within = event->type == EP_EVENT_BATCH && record->batches > 0;
  return (double)record->epoch + (within ? (double)record->batch / (double)record->batches - 1 : 0);
}

static double progress_fraction(const ep_event *event) {
  return event->epochs > 0 ? progress_epochs(event) / (double)event->epochs : 0;
}

static void epoch_fields_write(const ep_event *event, char fields[FIELDS][96]) {
  const ep_progress_record *record = &event->progress;
  char a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES];
  snprintf(fields[1], 96, "loss %s", ep_human_number(record->loss, a));
  if (!isnan(record->validation_loss))
    snprintf(fields[3], 96, "validation %s", ep_human_number(record->validation_loss, a));
  else if (!isnan(record->error))
    snprintf(fields[3], 96, "error %s", ep_human_number(record->error, a));
  snprintf(fields[4], 96, "epoch %s/%s", ep_human_count(record->epoch, a),
           ep_human_count(event->epochs, b));
  if (event->type == EP_EVENT_BATCH) {
    size_t used = strlen(fields[4]);
    snprintf(fields[4] + used, 96 - used, ", batch %s/%s", ep_human_count(record->batch, a),
             ep_human_count(record->batches, b));
  }
  if (record->elapsed_seconds > 0)
    snprintf(fields[5], 96, "%s epochs/s",
             ep_human_rate(progress_epochs(event) / record->elapsed_seconds, a));
}

static void trial_fields_write(const ep_progress_bar *bar, char fields[FIELDS][96]) {
  char a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES];
  if (bar->best && *bar->best) snprintf(fields[1], 96, "best %s", bar->best);
  if (bar->values) snprintf(fields[3], 96, "%s", bar->values);
  snprintf(fields[4], 96, "%s/%s trainings", ep_human_count(bar->last.progress.epoch, a),
           ep_human_count(bar->last.epochs, b));
}

/* The texts behind the bar, the most important first; an empty one is left out. */
static void fields_write(const ep_progress_bar *bar, char fields[FIELDS][96]) {
  const ep_event *event = &bar->last;
  char text[EP_HUMAN_BYTES];
  for (int i = 0; i < FIELDS; i++) fields[i][0] = 0;
  snprintf(fields[0], 96, "%s", ep_human_percent(progress_fraction(event), text));
  if (!isnan(event->eta_seconds) && progress_epochs(event) < (double)event->epochs)
    snprintf(fields[2], 96, "%s left", ep_human_seconds(event->eta_seconds, text));
  if (event->type == EP_EVENT_TRIAL)
    trial_fields_write(bar, fields);
  else
    epoch_fields_write(event, fields);
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

/* The first `shown` fields by importance, in the order of reading. */
static void line_join(const ep_progress_bar *bar, char fields[FIELDS][96], int shown, int bar_width,
                      char *text, size_t bytes) {
  static const int ORDER[FIELDS] = {0, 4, 1, 3, 5, 2};
  char name[NAME_WIDTH * 4 + 1];
  size_t fit = ep_text_fit(bar->name, NAME_WIDTH);
  snprintf(name, sizeof name, "%.*s", (int)fit, bar->name);
  size_t used = (size_t)snprintf(text, bytes, "%s%s", name, *name ? " " : "");
  if (bar_width > 0) {
    used += bar_write(bar->terminal, progress_fraction(&bar->last), bar_width, text + used,
                      bytes - used);
    text[used] = 0;
  }
  for (int i = 0; i < FIELDS; i++) {
    int field = ORDER[i];
    if (field >= shown || !fields[field][0] || used + 100 > bytes) continue;
    used +=
        (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? "  " : "", fields[field]);
  }
}

void ep_progress_bar_line(const ep_progress_bar *bar, int width, char *text, size_t bytes) {
  char fields[FIELDS][96];
  if (bar->last.seq == 0) {
    const char *what = bar->state == EP_EVENT_STARTED ? "started" : "waiting for a device";
    snprintf(text, bytes, "%s%s%s", bar->name, *bar->name ? "  " : "", what);
    text[ep_text_fit(text, width)] = 0;
    return;
  }
  fields_write(bar, fields);
  for (int shown = FIELDS; shown >= 1; shown--) {
    line_join(bar, fields, shown, BAR_WIDTH_MIN, text, bytes);
    int room = width - ep_text_width(text);
    if (room < 0) continue;
    int more = room < BAR_WIDTH_MAX - BAR_WIDTH_MIN ? room : BAR_WIDTH_MAX - BAR_WIDTH_MIN;
    line_join(bar, fields, shown, BAR_WIDTH_MIN + more, text, bytes);
    return;
  }
  text[ep_text_fit(text, width)] = 0;
}

static void line_draw(ep_progress_bar *bar) {
  char text[LINE_BYTES];
  int width = ep_terminal_width(bar->terminal) - 1; /* the last column would wrap */
  ep_progress_bar_line(bar, width, text, sizeof text);
  printf("\r%s\x1b[K", text);
  fflush(stdout);
  bar->drawn = true;
  bar->shown_s = now_s();
  bar->shown_seq = bar->last.seq;
}

static void progress_print(ep_progress_bar *bar) {
  char fields[FIELDS][96];
  static const int ORDER[FIELDS] = {4, 0, 1, 3, 5, 2};
  bool first = true;
  fields_write(bar, fields);
  for (int i = 0; i < FIELDS; i++) {
    if (!fields[ORDER[i]][0]) continue;
    printf("%s%s", first ? "" : "  ", fields[ORDER[i]]);
    first = false;
  }
  putchar('\n');
  fflush(stdout);
  bar->shown_s = now_s();
  bar->shown_seq = bar->last.seq;
}

void ep_progress_bar_note(ep_progress_bar *bar, ep_colour colour, const char *text) {
  ep_progress_bar_end(bar);
  printf("%s%s%s\n", ep_terminal_colour(bar->terminal, colour), text,
         ep_terminal_colour(bar->terminal, EP_COLOUR_PLAIN));
  fflush(stdout);
}

static void progress_show(ep_progress_bar *bar, const ep_event *event) {
  bar->last = *event;
  bar->state = EP_EVENT_EPOCH;
  if (bar->terminal->live) {
    if (now_s() - bar->shown_s >= REDRAW_SECONDS) line_draw(bar);
    return;
  }
  int tenths = (int)floor(progress_fraction(event) * 10);
  bool waited = now_s() - bar->shown_s >= LINE_SECONDS;
  if (tenths <= bar->shown_tenths && !waited) return;
  bar->shown_tenths = tenths;
  progress_print(bar);
}

void ep_progress_bar_event(ep_progress_bar *bar, const ep_event *event, const char *message) {
  char text[LINE_BYTES];
  switch (event->type) {
  case EP_EVENT_EPOCH:
  case EP_EVENT_BATCH:
  case EP_EVENT_TRIAL: progress_show(bar, event); return;
  case EP_EVENT_QUEUED:
  case EP_EVENT_STARTED:
    bar->state = event->type;
    if (bar->terminal->live)
      line_draw(bar);
    else if (event->type == EP_EVENT_STARTED)
      ep_progress_bar_note(bar, EP_COLOUR_PLAIN, message ? message : "started");
    return;
  case EP_EVENT_RESTARTED:
    bar->last.seq = 0;
    bar->shown_tenths = 0;
    break;
  default: break;
  }
  if (!message) return;
  snprintf(text, sizeof text, "%s: %s", ep_event_type_name(event->type), message);
  ep_progress_bar_note(bar, EP_COLOUR_YELLOW, text);
}

void ep_progress_bar_idle(ep_progress_bar *bar) {
  bool behind = bar->last.seq > bar->shown_seq;
  if (bar->terminal->live && behind && now_s() - bar->shown_s >= REDRAW_SECONDS) line_draw(bar);
}

void ep_progress_bar_end(ep_progress_bar *bar) {
  if (bar->drawn) fputs("\r\x1b[K", stdout);
  bar->drawn = false;
}
