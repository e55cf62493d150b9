/* SPDX-License-Identifier: MIT */
/*
 * grpc_echo - a server on gRPC's core with nothing behind it: the floor of whatever serves by gRPC.
 */
#ifndef NTK_TESTS_BENCH_GRPC_ECHO_H
#define NTK_TESTS_BENCH_GRPC_ECHO_H

#include <stddef.h>

/* Answers each call of any method with these bytes, until the process is killed. */
void grpc_echo_run(const char *endpoint, const void *bytes, size_t bytes_count)
    __attribute__((noreturn));

#endif
