/* SPDX-License-Identifier: MIT */
/*
 * forward - what the library exports for a row of nrt_calls.def, for the two files that include the
 * headers of either form.
 *
 * Three functions per row: one that passes the call on, which is the exported name in the file; one
 * that answers where the runtime has no such call; and one that the loader asks which function the
 * name is once exports.h has made it indirect. Objects that the loader relocates before us find the
 * first.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_FORWARD_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_FORWARD_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime-hooks/interpose/exports.h"
#include "runtime-hooks/interpose/real.h"

/* The function of an exported name: the observing one, else forward; NULL when the runtime lacks
 * it. The loader calls this while it relocates others. */
interpose_function interpose_pick(enum interpose_call call, interpose_function forward);

/* NULL: passed on unseen. */
extern const interpose_function interpose_observed[INTERPOSE_CALLS];

static inline interpose_function interpose_target(enum interpose_call call)
{
    return interpose_observed[call] ? interpose_observed[call] : interpose_real_get(call);
}

/* What a call answers that reaches no runtime. */
#define ABSENT_ANSWER(result) \
    _Generic((result *)NULL,                                      \
             NRT_STATUS *: NRT_FAILURE,                           \
             int *: -1,                                           \
             bool *: false,                                       \
             size_t *: (size_t)0,                                 \
             const char **: "NRT_UNKNOWN",                        \
             void **: NULL,                                       \
             void *: (void)0)

#define FORWARD(call, result, parameters, arguments)                                           \
    static result forward_##call parameters                                                    \
    {                                                                                          \
        return ((result(*) parameters)interpose_target(call))arguments;                        \
    }                                                                                          \
    static result absent_##call parameters                                                     \
    {                                                                                          \
        return ABSENT_ANSWER(result);                                                          \
    }                                                                                          \
    __attribute__((used, no_sanitize("address", "undefined", "thread"))) static result(        \
        *pick_##call(void)) parameters                                                         \
    {                                                                                          \
        return (result(*) parameters)interpose_pick(call, (interpose_function)forward_##call); \
    }

#endif
