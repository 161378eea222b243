/* calibration_fields.h: a calibration within a larger JSON text: a frame, a file. */
#ifndef EP_API_WIRE_CALIBRATION_FIELDS_H
#define EP_API_WIRE_CALIBRATION_FIELDS_H

#include <jansson.h>
#include <stdbool.h>

#include "api/json/writer.h"
#include "api/wire/calibration.h"

/* The array of executors. */
void ep_calibration_write(ep_writer *writer, const ep_calibration *calibration);
/* False when it is none, or has a figure that is no finite number >= 0. */
bool ep_calibration_read(const json_t *executors, ep_calibration *out);

#endif
