/* verdict.h: whether a training that ended without a fault came to anything. */
#ifndef EP_API_WIRE_VERDICT_H
#define EP_API_WIRE_VERDICT_H

#include "api/wire/result.h"

/* A sentence, or "": the network is no better than the mean of the targets or the commonest class,
 * or says one class of all rows, in the test split, else the validation split, else the training
 * one. A split of a few rows says nothing. */
void ep_result_verdict(const ep_job_result *result, char out[EP_MESSAGE_BYTES]);

#endif
