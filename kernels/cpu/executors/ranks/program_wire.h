/* program_wire.h: a program as bytes, for another node. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_PROGRAM_WIRE_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_PROGRAM_WIRE_H

#include <stddef.h>

#include "api/status.h"
#include "kernels/program.h"

enum { EP_PROGRAM_PARTS = 6 }; /* the program and its arrays */

/* Where the bytes lie. count: [EP_PROGRAM_PARTS], written; 0 of an array that is not there. */
void ep_program_parts(const ep_program *program, const void *parts[EP_PROGRAM_PARTS],
                      size_t count[EP_PROGRAM_PARTS]);

/* The program that these bytes are, in place: its arrays point into them. bytes: [count], aligned
 * as malloc aligns. EP_MALFORMED: they are of another length than its counts say, or a bool is
 * neither 0 nor 1. Whether the program makes sense is not looked at. */
ep_status ep_program_unpack(void *bytes, size_t count, ep_program **out, ep_error *error);

#endif
