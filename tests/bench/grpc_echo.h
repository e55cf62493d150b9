/* SPDX-License-Identifier: MIT */
/*
 * grpc_echo - a server on gRPC's core that does no work: the floor of every gRPC server.
 */
#ifndef NTK_TESTS_BENCH_GRPC_ECHO_H
#define NTK_TESTS_BENCH_GRPC_ECHO_H

#include <stddef.h>

/* Answers every call of any method with these bytes, until the process is killed. */
void grpc_echo_run(const char *endpoint, const void *bytes, size_t bytes_count)
    __attribute__((noreturn));

#endif
