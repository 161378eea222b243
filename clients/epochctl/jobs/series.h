/* series.h: what a job says of the series that it trained on. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_SERIES_H
#define EP_CLIENTS_EPOCHCTL_JOBS_SERIES_H

#include <jansson.h>

#include "clients/epochctl/http/session.h"

typedef struct {
  size_t needed;   /* rows that a forecast begins with */
  json_t *columns; /* the names of its table's columns, as texts; NULL: the table is not there, or
                      was replaced */
} ep_job_series;

/* EP_CONFLICT where the job trained on no series. */
ep_status ep_job_series_find(ep_session *session, const char *id, ep_job_series *out,
                             ep_error *error);
void ep_job_series_deinit(ep_job_series *series);

#endif
