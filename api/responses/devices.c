#include "api/responses/devices.h"

#include "api/json/writer.h"

enum { DEVICES_TEXT_LIMIT = 1 << 20 }; /* EP_LIMIT_WORKERS devices of 1 KiB */

static void partition_write(ep_writer *writer, const ep_partition_view *partition) {
  ep_writer_key(writer, "partition");
  if (!partition) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_boolean(writer, "up", partition->up);
  ep_writer_member_integer(writer, "nodes", partition->nodes);
  ep_writer_member_integer(writer, "nodes_idle", partition->nodes_idle);
  ep_writer_member_integer(writer, "nodes_unavailable", partition->nodes_unavailable);
  ep_writer_member_integer(writer, "cores", partition->cpus);
  ep_writer_member_integer(writer, "cores_idle", partition->cpus_idle);
  ep_writer_member_integer(writer, "gpus", partition->gpus);
  ep_writer_member_integer(writer, "gpus_idle", partition->gpus_idle);
  ep_writer_member_integer(writer, "node_cores", partition->node_cpus);
  ep_writer_member_integer(writer, "node_gpus", partition->node_gpus);
  ep_writer_member_integer(writer, "node_memory_bytes", partition->node_memory_bytes);
  ep_writer_member_integer(writer, "max_minutes", partition->max_minutes);
  ep_writer_member_integer(writer, "default_minutes", partition->default_minutes);
  ep_writer_close(writer, '}');
}

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
    partition_write(&writer, device->partition);
    ep_writer_close(&writer, '}');
  }
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
