/* columns.h: the inputs of a request as columns of a table by their names. */
#ifndef EP_API_INFERENCE_COLUMNS_H
#define EP_API_INFERENCE_COLUMNS_H

#include "api/inference/inference.h"
#include "api/inference/slice.h"

/* inputs: the list, of one input at least: each has one cell a row, as texts (BYTES) or numbers;
 * null, "" and NaN are missing cells. Their bytes lie behind the JSON one after the other. Fills
 * out->named and out->rows. */
ep_status ep_inference_columns_read(ep_slice inputs, ep_slice behind, ep_inference_request *out,
                                    ep_error *error);

#endif
