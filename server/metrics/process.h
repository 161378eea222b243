/* process.h: what the kernel reports of a process and of a disk. */
#ifndef EP_SERVER_METRICS_PROCESS_H
#define EP_SERVER_METRICS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json/writer.h"

typedef struct {
  double cpu_seconds;   /* user and system, all its threads */
  double start_seconds; /* since 1970 */
  int64_t resident_bytes, virtual_bytes, threads;
} ep_process_metrics;

/* pid: 0 = this process. False: there is no such process. */
bool ep_process_read(int64_t pid, ep_process_metrics *out);

/* The process_* family of Prometheus's convention, and the disk of data_dir. */
void ep_metrics_process_format(ep_writer *out, const char *data_dir);

#endif
