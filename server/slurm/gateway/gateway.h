/* gateway.h: `epochd --slurm-gateway`, a process of epochd's own: between epochd and its workers on
 * the nodes of Slurm. It submits and cancels them, knows their secrets, and hands frames and files
 * on. Strangers reach this process alone. epochd starts it (server/workers/remote.h). */
#ifndef EP_SERVER_SLURM_GATEWAY_GATEWAY_H
#define EP_SERVER_SLURM_GATEWAY_GATEWAY_H

/* The main of the process: ends with the control socket. Returns its exit status. */
int ep_gateway_serve(void);

#endif
