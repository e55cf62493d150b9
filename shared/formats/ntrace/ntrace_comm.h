/* SPDX-License-Identifier: MIT */
/*
 * ntrace_comm - the communicator of a collective operation, which is part of its event's name:
 * "comm 00f1d2c3b4a59687 rank 1 of 2, 3 of 8 in total".
 *
 * The event's exec_id is the number of the operation in the communicator.
 *
 * Threads: any; plain data.
 */
#ifndef NTK_SHARED_FORMATS_NTRACE_NTRACE_COMM_H
#define NTK_SHARED_FORMATS_NTRACE_NTRACE_COMM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NTRACE_COMM_BYTES 96

struct ntk_ntrace_comm {
    uint64_t key; /* not 0; the same for all of its ranks, on any machine */
    uint32_t rank, rank_count;
    uint32_t world_rank, world_count;
};

void ntk_ntrace_comm_write(const struct ntk_ntrace_comm *comm, char out[NTK_NTRACE_COMM_BYTES]);
/* Parses a name of this form. Returns 0, or -EINVAL for any other text. */
int ntk_ntrace_comm_read(const char *text, struct ntk_ntrace_comm *out_comm);

#ifdef __cplusplus
}
#endif
#endif
