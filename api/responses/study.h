/* study.h: a study as JSON text, the caller's (free); NULL when memory is short. */
#ifndef EP_API_RESPONSES_STUDY_H
#define EP_API_RESPONSES_STUDY_H

#include "api/sweep/study.h"

/* Pointers are loans for the call. */
typedef struct {
  const char *id;
  const ep_sweep_spec *sweep;
  const ep_trial_record *records;
  const ep_trial_row *rows; /* [count] */
  int64_t count;
  const ep_study *study;
} ep_study_view;

char *ep_study_format(const ep_study_view *view);

#endif
