/* control.h: what epochd and its gateway (epochd --slurm-gateway) say to each other over a socket
 * pair of packets: structs as they lie in memory, since both ends are the same program. */
#ifndef EP_SERVER_SLURM_CONTROL_CONTROL_H
#define EP_SERVER_SLURM_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/names.h"
#include "api/status.h"
#include "server/slurm/commands.h"

#define EP_GATEWAY_ARGUMENT "--slurm-gateway"

enum {
  EP_GATEWAY_CONTROL = 0,  /* the descriptors that the gateway starts with: the socket pair, … */
  EP_GATEWAY_LISTENER = 3, /* … and the socket that workers connect to, which outlives it */
  EP_SETTING_BYTES = 1024
};

/* The first packet to a gateway. */
typedef struct {
  char data_dir[EP_LIMIT_PATH_BYTES + 1];
  char shared_dir[EP_LIMIT_PATH_BYTES + 1]; /* that nodes see under the same name; "" = none */
  char worker[EP_LIMIT_PATH_BYTES + 1];     /* the program, as nodes see it */
  char plugin[EP_LIMIT_PATH_BYTES + 1];     /* "" = beside the worker */
  char address[256];                        /* HOST:PORT that nodes connect to */
  char kubernetes_template[EP_LIMIT_PATH_BYTES + 1]; /* a Job of it is a worker; "" = none */
  char kubernetes_address[256]; /* HOST:PORT that its Pods connect to; "" = address */
  char account[128], qos[128], options[EP_SETTING_BYTES]; /* of every submission; "" = none */
  int64_t reconnect_seconds, data_bytes_max, checkpoint_after_seconds;
  int64_t reserve_bytes; /* that stay free on the disk */
  int64_t look_seconds;  /* between two looks at partitions and nodes */
  bool copies;           /* worker and plugin are of this machine, and go to the shared folder */
} ep_gateway_setup;

typedef enum {
  /* From the gateway. */
  EP_CONTROL_ATTACH, /* a worker is there, with one end of a socket pair: all but `count`, `keep` */
  EP_CONTROL_GONE,   /* worker, text: it has ended, and how */
  EP_CONTROL_WAITS,  /* device, text: why Slurm lets its workers wait, or refuses them; "" = no more
                      */
  EP_CONTROL_LEAVE,  /* worker, text: its node is to end soon, and why */
  EP_CONTROL_MOVES,  /* worker: files that its job needs are on their way */
  EP_CONTROL_REFUSED,   /* count: connections that were refused since the last one */
  EP_CONTROL_PARTITION, /* device, partition: what Slurm shows of it */
  /* To the gateway. */
  EP_CONTROL_ADMIT, /* worker, taken, keep: of an ATTACH */
  EP_CONTROL_END,   /* worker, text: it is to end, and why */
  EP_CONTROL_WANT /* device, count, request: workers that there should be, with those that are there
                   */
} ep_control_kind;

typedef struct {
  ep_control_kind kind;
  char worker[EP_ID_BYTES];
  char device[EP_DEVICE_ID_BYTES]; /* "slurm:PARTITION" */
  char node[64];
  char job[EP_ID_BYTES]; /* that the worker has; "" = none */
  int attempt;
  bool has_all;         /* its relay holds all frames of this attempt */
  bool ended;           /* a gateway took the last one */
  bool keep;            /* the job goes on */
  uint64_t first, last; /* frames that its relay holds */
  uint64_t taken;
  int count;
  ep_slurm_request request; /* of a worker, or of those to be submitted */
  ep_slurm_partition partition;
  char text[EP_MESSAGE_BYTES];
} ep_control;

/* file: a descriptor to go with it, which stays the caller's; -1 = none. EP_BUSY: the other side
 * reads nothing; EP_UNAVAILABLE: it has ended. Any thread. */
ep_status ep_control_send(int socket, const ep_control *control, int file, ep_error *error);
/* Takes the next packet, if one is there: *got. *file: the caller's, -1 = none. EP_UNAVAILABLE: the
 * other side has ended. */
ep_status ep_control_receive(int socket, ep_control *out, int *file, bool *got, ep_error *error);

#endif
