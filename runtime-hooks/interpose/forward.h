/* SPDX-License-Identifier: MIT */
/*
 * forward - defines the exported functions for a row of nrt_calls.def, in the two files that
 * include the headers of each form.
 *
 * Three functions per row: one that passes the call on, exported by the file; one for a runtime
 * without the call; and a resolver for the loader, after exports.h has made the name indirect.
 * Objects relocated before this library find the first.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_FORWARD_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_FORWARD_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime-hooks/interpose/exports.h"
#include "runtime-hooks/interpose/real.h"

/* Returns the function for an exported name: the observing function, else `forward`; NULL if the
 * runtime lacks it. The loader calls it while it relocates other objects. */
interpose_function interpose_pick(enum interpose_call call, interpose_function forward);

/* Observing functions by call; NULL if the call is passed on unobserved. */
extern const interpose_function interpose_observed[INTERPOSE_CALLS];

static inline interpose_function interpose_target(enum interpose_call call)
{
    return interpose_observed[call] ? interpose_observed[call] : interpose_real_get(call);
}

/* Returns the result of a call without a runtime. */
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
