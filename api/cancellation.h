/* cancellation.h: cooperative cancellation of long work. */
#ifndef EP_API_CANCELLATION_H
#define EP_API_CANCELLATION_H

#include <stdbool.h>

/* The working thread calls asked(context) regularly; true requests the end. {0}: never cancelled.
 */
typedef struct {
  bool (*asked)(void *context);
  void *context;
} ep_cancellation;

#endif
