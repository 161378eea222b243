/* What failures say. */
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>

#include "launch.h"

constexpr size_t REPORT_BYTES = 4000;

std::string report_text(const char *format, ...) {
  char text[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

#define COLLECTIVE_NAME(code, name) name,
const char *report_collective(emulator_collective kind) {
  static const char *const names[] = {EMULATOR_COLLECTIVES(COLLECTIVE_NAME)};
  return names[kind];
}

static std::string site_text(const emulator_site &site) {
  if (site.line == 0) return site.file;
  const char *name = strrchr(site.file, '/');
  return report_text("%s:%d", name ? name + 1 : site.file, site.line);
}

std::string report_thread(const launch_thread *thread) {
  return report_text(" (block %u, thread %u, at or after ", thread->warp->block->number,
                     thread->number) +
         site_text(thread->site) + ")";
}

static std::string thread_place(const launch_thread *thread) {
  const launch_warp *warp = thread->warp;
  std::string at = ", " + site_text(thread->site);
  if (warp->exited & thread->bit) return "exited";
  if (warp->at_collective & thread->bit) return report_collective(thread->kind) + at;
  if (warp->at_barrier & thread->bit) return "__syncthreads" + at;
  if (warp->at_cluster_barrier & thread->bit) return "cluster_wait" + at;
  if (warp->polling & thread->bit) return "polling" + at;
  return "running, after " + site_text(thread->site);
}

/* "0-3, 7" */
static std::string numbers_text(const std::vector<unsigned> &numbers) {
  std::string text;
  for (size_t i = 0, end; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) end++;
    text +=
        report_text(end - i > 1 ? "%s%u-%u" : "%s%u", i ? ", " : "", numbers[i], numbers[end - 1]);
  }
  return text;
}

std::string report_places() {
  std::map<std::string, std::vector<unsigned>> blocks; /* by what their threads do */
  for (unsigned b = 0; b < launch.blocks.size(); b++) {
    std::map<std::string, unsigned> counts;
    const launch_thread *threads = &launch.threads[(size_t)b * launch.size.threads];
    for (int i = 0; i < launch.size.threads; i++) counts[thread_place(threads + i)]++;
    std::string text;
    for (const auto &[place, count] : counts)
      text += report_text("%s%u ", text.empty() ? "" : ", ", count) + place;
    blocks[text].push_back(b);
  }
  std::string text;
  for (const auto &[places, numbers] : blocks) {
    text += "\n  block " + numbers_text(numbers) + ": " + places;
    if (text.size() > REPORT_BYTES) return text + "\n  ...";
  }
  return text;
}

std::string report_lanes(const launch_warp *warp) {
  std::map<std::string, std::vector<unsigned>> lanes; /* by what they do */
  for (unsigned lane = 0; lane < LANES; lane++)
    if (warp->exists >> lane & 1) lanes[thread_place(warp->threads + lane)].push_back(lane);
  std::string text =
      report_text("block %u, warp %td", warp->block->number, warp - warp->block->warps);
  for (const auto &[place, numbers] : lanes)
    text += "\n  lane " + numbers_text(numbers) + ": " + place;
  return text;
}
