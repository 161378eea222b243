/* event_end.h: reads an `end` line back, for a row that is lost. */
#ifndef EP_API_WIRE_EVENT_END_H
#define EP_API_WIRE_EVENT_END_H

#include "api/vocabulary.h"
#include "api/wire/result.h"

typedef struct {
  ep_state state;
  bool has_result; /* else the job never ran */
  /* Without what the line does not have: the splits' confusion matrices but test's, parameters,
   * bytes, ranks, device, executor. The status of a failed job is EP_INTERNAL. */
  ep_job_result result;
} ep_event_end;

/* EP_IO: the line is no end. *out is the caller's: ep_job_result_deinit(&out->result). */
ep_status ep_event_parse_end(const char *line, size_t bytes, ep_event_end *out, ep_error *error);

#endif
