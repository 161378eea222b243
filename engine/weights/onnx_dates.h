/* onnx_dates.h: from seconds to the parts of a date, as nodes of an ONNX graph: what
 * engine/data/columns/calendar.h computes. */
#ifndef EP_ENGINE_WEIGHTS_ONNX_DATES_H
#define EP_ENGINE_WEIGHTS_ONNX_DATES_H

#include "engine/layers/onnx/graph.h"

enum { EP_ONNX_DATE_CYCLES = 4 };

/* All float64 [N, 1]. */
typedef struct {
  ep_onnx_name year; /* where it is a part */
  /* of month, day, weekday and hour, in this order, those that are parts */
  ep_onnx_name sine[EP_ONNX_DATE_CYCLES], cosine[EP_ONNX_DATE_CYCLES];
  int cycles_count;
} ep_onnx_date;

/* seconds: float64 [N, 1], no NaN; parts: EP_DATE_…. */
ep_onnx_date ep_onnx_date_of(ep_onnx_graph *graph, ep_onnx_name seconds, int parts);

#endif
