/* SPDX-License-Identifier: MIT */
/*
 * calls - numbers every call of libnrt.so.1, from one table (runtime-hooks/nrt/nrt_calls.def).
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_CALLS_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_CALLS_H

#define INTERPOSE_NODE_2 "NRT_2.0.0"
#define INTERPOSE_NODE_3 "NRT_3.0.0"

enum interpose_call {
#define NRT_CALL(result, name, parameters, arguments) CALL_##name,
#define NRT_CALL_2(result, name, parameters, arguments) CALL_2_##name,
#define NRT_CALL_3(result, name, parameters, arguments) CALL_3_##name,
#include "runtime-hooks/nrt/nrt_calls.def"
    INTERPOSE_CALLS
};

struct interpose_call_row {
    const char *name;
    const char *version;
};
extern const struct interpose_call_row interpose_calls[INTERPOSE_CALLS];

/* Any function; it is cast to its type when called. */
typedef void (*interpose_function)(void);

#endif
