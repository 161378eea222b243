/* event_parse.c: reads back lines that event.c wrote; a long log has millions, so no tree. */
#include <math.h>
#include <string.h>

#include "api/executor_name.h"
#include "api/json/scanner.h"
#include "api/wire/event.h"

/* What a line must have been seen to hold. */
enum { SEEN_SEQ = 1, SEEN_TYPE = 2, SEEN_EPOCH = 4, SEEN_LOSS = 8 };

/* A number, null for NaN, or one of the words for what JSON has no number for. */
static bool figure_scan(ep_scanner *scanner, double *out) {
  char text[16];
  switch (ep_scan_peek(scanner)) {
  case 'n': *out = NAN; return ep_scan_word(scanner, "null");
  case '"':
    if (!ep_scan_string(scanner, text, sizeof text)) return false;
    if (strcmp(text, "Infinity") == 0)
      *out = INFINITY;
    else if (strcmp(text, "-Infinity") == 0)
      *out = -INFINITY;
    else
      *out = NAN; /* "NaN", or the words of an end event's error */
    return true;
  default: return ep_scan_number(scanner, out);
  }
}

static bool integer_scan(ep_scanner *scanner, int64_t max, int64_t *out) {
  double value;
  if (!ep_scan_number(scanner, &value)) return false;
  if (!(value >= 0 && value <= (double)max) || value != floor(value)) return false;
  *out = (int64_t)value;
  return true;
}

static bool word_scan(ep_scanner *scanner, int (*from_name)(const char *), int *out) {
  char text[32];
  if (!ep_scan_string(scanner, text, sizeof text)) return false;
  *out = from_name(text);
  return *out >= 0;
}

static bool validation_scan(ep_scanner *scanner, ep_progress_record *out) {
  char key[16];
  if (ep_scan_word(scanner, "null")) return true;
  if (!ep_scan_token(scanner, '{')) return false;
  if (ep_scan_token(scanner, '}')) return true;
  do {
    if (!ep_scan_string(scanner, key, sizeof key) || !ep_scan_token(scanner, ':')) return false;
    bool good = strcmp(key, "loss") == 0    ? figure_scan(scanner, &out->validation_loss)
                : strcmp(key, "error") == 0 ? figure_scan(scanner, &out->validation_error)
                                            : ep_scan_skip(scanner);
    if (!good) return false;
  } while (ep_scan_token(scanner, ','));
  return ep_scan_token(scanner, '}');
}

/* Days from 1970-01-01 to a day of the Gregorian calendar: a year begins with March, so that the
 * leap day is its last, and 400 of them have 146,097 days. */
static int64_t days_count(int year, int month, int day) {
  int64_t years = month > 2 ? year : year - 1;
  int64_t era = years / 400, year_of_era = years % 400;
  int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

/* 2026-11-20T16:52:07.123Z, as ep_writer_time writes it; a text of another form is left alone. */
static bool time_scan(ep_scanner *scanner, int64_t *out_us) {
  static const char FORM[] = "0000-00-00T00:00:00.000Z";
  static const int WIDTHS[] = {4, 2, 2, 2, 2, 2, 3};
  char text[32];
  int fields[7];
  if (!ep_scan_string(scanner, text, sizeof text)) return false;
  for (size_t i = 0; i < sizeof FORM; i++)
    if (FORM[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != FORM[i]) return true;
  const char *at = text;
  for (int i = 0; i < 7; i++, at++) {
    fields[i] = 0;
    for (int digit = 0; digit < WIDTHS[i]; digit++) fields[i] = fields[i] * 10 + *at++ - '0';
  }
  int64_t minutes = (days_count(fields[0], fields[1], fields[2]) * 24 + fields[3]) * 60 + fields[4];
  *out_us = ((minutes * 60 + fields[5]) * 1000 + fields[6]) * 1000;
  return true;
}

/* The value of one key, into *out; *seen notes what was there. */
static bool member_scan(ep_scanner *scanner, const char *key, ep_event *out, unsigned *seen) {
  const int64_t exact = INT64_C(1) << 53;
  ep_progress_record *progress = &out->progress;
  int word = 0;
  int64_t integer = 0;
  if (strcmp(key, "seq") == 0) {
    *seen |= SEEN_SEQ;
    return integer_scan(scanner, exact, &out->seq);
  }
  if (strcmp(key, "type") == 0) {
    if (!word_scan(scanner, ep_event_type_from_name, &word)) return false;
    *seen |= SEEN_TYPE;
    out->type = (ep_event_type)word;
    return true;
  }
  if (strcmp(key, "status") == 0) {
    if (!word_scan(scanner, ep_state_from_name, &word)) return false;
    out->state = (ep_state)word;
    return true;
  }
  if (strcmp(key, "epoch") == 0 || strcmp(key, "number") == 0) { /* of a trial */
    *seen |= SEEN_EPOCH;
    return integer_scan(scanner, exact, &progress->epoch);
  }
  if (strcmp(key, "time") == 0) return time_scan(scanner, &out->time_us);
  if (strcmp(key, "loss") == 0) {
    *seen |= SEEN_LOSS;
    return figure_scan(scanner, &progress->loss);
  }
  if (strcmp(key, "attempt") == 0) {
    if (!integer_scan(scanner, 1 << 30, &integer)) return false;
    out->attempt = (int)integer;
    return true;
  }
  if (strcmp(key, "batch") == 0) return integer_scan(scanner, exact, &progress->batch);
  if (strcmp(key, "batches") == 0) return integer_scan(scanner, exact, &progress->batches);
  if (strcmp(key, "epochs") == 0) return integer_scan(scanner, exact, &out->epochs);
  if (strcmp(key, "error") == 0) return figure_scan(scanner, &progress->error);
  if (strcmp(key, "validation") == 0) return validation_scan(scanner, progress);
  if (strcmp(key, "lr") == 0) return figure_scan(scanner, &progress->lr);
  if (strcmp(key, "elapsed_seconds") == 0) return figure_scan(scanner, &progress->elapsed_seconds);
  if (strcmp(key, "eta_seconds") == 0) return figure_scan(scanner, &out->eta_seconds);
  return ep_scan_skip(scanner);
}

static bool line_scan(ep_scanner *scanner, ep_event *out, unsigned *seen) {
  char key[32];
  if (!ep_scan_token(scanner, '{')) return false;
  do {
    if (!ep_scan_string(scanner, key, sizeof key) || !ep_scan_token(scanner, ':') ||
        !member_scan(scanner, key, out, seen))
      return false;
  } while (ep_scan_token(scanner, ','));
  if (!ep_scan_token(scanner, '}')) return false;
  ep_scan_peek(scanner);
  return scanner->at == scanner->end;
}

ep_status ep_event_parse(const char *line, size_t bytes, ep_event *out, ep_error *error) {
  *out = (ep_event){.eta_seconds = NAN};
  out->progress = (ep_progress_record){
      .loss = NAN, .error = NAN, .validation_loss = NAN, .validation_error = NAN};
  ep_scanner scanner = {line, line + bytes};
  unsigned seen = 0, needed = SEEN_SEQ | SEEN_TYPE;
  if (!line_scan(&scanner, out, &seen))
    return ep_fail(error, EP_IO, "a line of the event log cannot be read from byte %zu on",
                   (size_t)(scanner.at - line));
  if (out->type == EP_EVENT_EPOCH) needed |= SEEN_EPOCH | SEEN_LOSS;
  if (out->type == EP_EVENT_BATCH) needed |= SEEN_EPOCH | SEEN_LOSS;
  if (out->type == EP_EVENT_TRIAL || out->type == EP_EVENT_LAYERS) needed |= SEEN_EPOCH;
  if ((seen & needed) != needed || out->seq < 1)
    return ep_fail(error, EP_IO, "a line of the event log lacks its number, type or epoch");
  return EP_OK;
}

static bool place_scan(ep_scanner *scanner, ep_event_place *out) {
  char key[32];
  if (!ep_scan_token(scanner, '{')) return false;
  do {
    if (!ep_scan_string(scanner, key, sizeof key) || !ep_scan_token(scanner, ':')) return false;
    bool good = strcmp(key, "device") == 0
                    ? ep_scan_string(scanner, out->device, sizeof out->device)
                : strcmp(key, "executor") == 0
                    ? ep_scan_string(scanner, out->executor, sizeof out->executor)
                    : ep_scan_skip(scanner);
    if (!good) return false;
  } while (ep_scan_token(scanner, ','));
  return ep_scan_token(scanner, '}');
}

ep_status ep_event_parse_place(const char *line, size_t bytes, ep_event_place *out,
                               ep_error *error) {
  ep_scanner scanner = {line, line + bytes};
  *out = (ep_event_place){0};
  if (!place_scan(&scanner, out))
    return ep_fail(error, EP_IO, "an event line does not say where a job runs");
  ep_executor_name_update(out->executor, sizeof out->executor);
  return EP_OK;
}
