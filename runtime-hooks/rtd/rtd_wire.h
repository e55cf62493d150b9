/* SPDX-License-Identifier: MIT */
/*
 * rtd_wire - messages as bytes, and answers that are a status only, for every method alike.
 *
 * Threads: any; no state.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_WIRE_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

struct rtd_call;

#define RTD_WIRE_INVALID 2 /* NERR_INVALID */

enum rtd_wire_fault {
    RTD_WIRE_GOOD,
    RTD_WIRE_BROKEN,
    RTD_WIRE_NUL, /* a text has a NUL, behind which protobuf-c would lose it */
};

/* *out_message is freed with protobuf_c_message_free_unpacked(); NULL unless it is good. */
enum rtd_wire_fault rtd_wire_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                    size_t bytes_count, ProtobufCMessage **out_message);

/* Finishes the call with a reply of its method that has this code (enum nerr) and these details,
 * and nothing else. */
void rtd_wire_refuse(struct rtd_call *call, int code, const char *details);

#endif
