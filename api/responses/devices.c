#include "api/responses/devices.h"

#include "api/json/writer.h"

enum { DEVICES_TEXT_LIMIT = 1 << 20 }; /* EP_LIMIT_WORKERS devices of 1 KiB */

char *ep_devices_format(const ep_device_view *devices, int count) {
  ep_writer writer;
  ep_writer_init(&writer, DEVICES_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "list");
  ep_writer_member_open(&writer, "data", '[');
  for (int i = 0; i < count; i++) {
    const ep_device_view *device = &devices[i];
    ep_writer_open(&writer, '{');
    ep_writer_member_string(&writer, "id", device->info.id);
    ep_writer_member_string(&writer, "object", "device");
    ep_writer_member_string(&writer, "name", device->info.name);
    ep_writer_member_string(&writer, "state", device->state);
    ep_writer_member_string(&writer, "job", device->jobs_count > 0 ? device->jobs[0] : NULL);
    ep_writer_member_open(&writer, "jobs", '[');
    for (int j = 0; j < device->jobs_count; j++) ep_writer_string(&writer, device->jobs[j]);
    ep_writer_close(&writer, ']');
    ep_writer_member_integer(&writer, "cores", device->cores);
    ep_writer_member_string(&writer, "instruction_set", device->info.instruction_set);
    ep_writer_member_integer(&writer, "memory_bytes", device->info.memory_bytes);
    ep_writer_member_integer(&writer, "memory_free_bytes", device->info.memory_free_bytes);
    ep_writer_member_integer(&writer, "threads", device->info.threads);
    ep_writer_member_integer(&writer, "pid", device->pid);
    ep_writer_member_integer(&writer, "restarts", device->restarts);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
