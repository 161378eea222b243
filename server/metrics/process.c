#include "server/metrics/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "engine/files/free_space.h"
#include "server/metrics/text.h"
#include "server/process/clock.h"

/* /proc/PID/stat, the fields behind the name, which may hold anything: proc(5) counts them from 3.
 */
static bool stat_read(int64_t pid, char *text, size_t bytes) {
  char path[64];
  if (pid == 0)
    snprintf(path, sizeof path, "/proc/self/stat");
  else
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t got = read(file, text, bytes - 1);
  close(file);
  text[got > 0 ? got : 0] = 0;
  return got > 0;
}

bool ep_process_read(int64_t pid, ep_process_metrics *out) {
  char text[1024];
  unsigned long long user = 0, system = 0, start = 0, size = 0;
  long long threads = 0, pages = 0;
  if (!stat_read(pid, text, sizeof text)) return false;
  const char *behind = strrchr(text, ')');
  /* state 3 … utime 14, stime 15 … num_threads 20, starttime 22, vsize 23, rss 24 */
  if (!behind ||
      sscanf(behind + 1,
             " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %*s %*s %*s %*s %lld %*s %llu "
             "%llu %lld",
             &user, &system, &threads, &start, &size, &pages) != 6)
    return false;
  double ticks = (double)sysconf(_SC_CLK_TCK);
  double boot_seconds = (double)(ep_clock_utc_us() - ep_clock_read_us(CLOCK_BOOTTIME)) / 1e6;
  *out = (ep_process_metrics){.cpu_seconds = (double)(user + system) / ticks,
                              .start_seconds = boot_seconds + (double)start / ticks,
                              .resident_bytes = pages * sysconf(_SC_PAGESIZE),
                              .virtual_bytes = (int64_t)size,
                              .threads = threads};
  return true;
}

/* File descriptors that are open, without the one that this look takes. */
static int64_t files_count(void) {
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return 0;
  int64_t count = -1;
  for (const struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

static void disk_format(ep_writer *out, const char *data_dir) {
  struct statvfs disk;
  bool known = statvfs(data_dir, &disk) == 0;
  ep_metrics_family(out, "epochd_data_folder_free_bytes", "gauge",
                    "What is left for the daemon on the disk of its data folder.");
  if (known)
    ep_metrics_sample(out, "epochd_data_folder_free_bytes", NULL,
                      (double)disk.f_bavail * (double)disk.f_frsize);
  ep_metrics_family(out, "epochd_data_folder_size_bytes", "gauge",
                    "Size of the disk of the data folder.");
  if (known)
    ep_metrics_sample(out, "epochd_data_folder_size_bytes", NULL,
                      (double)disk.f_blocks * (double)disk.f_frsize);
  ep_metrics_single(out, "epochd_data_folder_reserve_bytes", "gauge",
                    "What new work leaves free: below it uploads and new jobs get 503.",
                    (double)ep_free_space_reserved());
}

void ep_metrics_process_format(ep_writer *out, const char *data_dir) {
  ep_process_metrics own = {0};
  struct rlimit files = {0};
  disk_format(out, data_dir);
  ep_process_read(0, &own);
  getrlimit(RLIMIT_NOFILE, &files);
  ep_metrics_single(out, "process_cpu_seconds_total", "counter",
                    "CPU time of the daemon, without its workers.", own.cpu_seconds);
  ep_metrics_single(out, "process_resident_memory_bytes", "gauge",
                    "Memory of the daemon, without its workers.", (double)own.resident_bytes);
  ep_metrics_single(out, "process_virtual_memory_bytes", "gauge", "Addresses of the daemon.",
                    (double)own.virtual_bytes);
  ep_metrics_single(out, "process_threads", "gauge", "Threads of the daemon.", (double)own.threads);
  ep_metrics_single(out, "process_open_fds", "gauge", "File descriptors that are open.",
                    (double)files_count());
  ep_metrics_single(out, "process_max_fds", "gauge", "File descriptors that there may be.",
                    (double)files.rlim_cur);
  ep_metrics_single(out, "process_start_time_seconds", "gauge",
                    "When the daemon started, in seconds since 1970.", own.start_seconds);
}
