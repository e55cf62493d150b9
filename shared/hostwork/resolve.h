/* SPDX-License-Identifier: MIT */
/*
 * resolve - copied stacks become frames with names: unwinding by .eh_frame and by frame pointer,
 * symbols of ELF files, of map files and of the kernel.
 *
 * The files and the stacks come from the observed process, and the libraries that read them were
 * not written for hostile input. So this happens in a child process with little time, little memory
 * and no special rights: if it dies, frames are "module+0x1234".
 *
 * Owner: nothing is kept. Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_RESOLVE_H
#define NTK_SHARED_HOSTWORK_RESOLVE_H

#include "shared/hostwork/hostwork.h"
#include "shared/hostwork/modules.h"
#include "shared/hostwork/raw.h"

/* Conclusions from the frames of a thread on the CPU. */
struct ntk_host_resolved {
    uint32_t stack; /* of the records */
    bool is_in_fault;
};

/* out_stacks: one for each raw stack. processes: struct ntk_host_modules of all pids. 0, or
 * -ENOMEM. */
int ntk_host_resolve(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                     struct ntk_host_stacks *stacks, struct ntk_host_resolved *out_stacks);

/* ---- for resolve.c, its child and tests ---- */

struct ntk_buf;
/* The frames of all stacks as bytes, in the child; is_unwound: with libdw, else only frames that
 * are known without it. */
void ntk_host_resolve_write(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                            bool is_unwound, struct ntk_buf *out);
/* What the child has of its parent's descriptors, by their numbers: these two, and the files of
 * modules. */
void ntk_host_resolve_close(const struct ntk_vec *processes, int answer, int alive);
/* Frames from the bytes of a child, which may be invalid; false: they end early. */
bool ntk_host_resolve_read(const uint8_t *bytes, size_t count, size_t stack_count,
                           struct ntk_host_stacks *stacks, struct ntk_host_resolved *out_stacks);

/* unwind.c, or unwind_none.c without elfutils: addresses of the stack, innermost first; 0: it could
 * not be unwound. */
struct ntk_host_unwinder;
struct ntk_host_unwinder *ntk_host_unwinder_create(const struct ntk_host_modules *modules);
void ntk_host_unwinder_destroy(struct ntk_host_unwinder *unwinder);
size_t ntk_host_unwinder_unwind(struct ntk_host_unwinder *unwinder,
                                const struct ntk_host_raw_stack *stack, uint64_t *out_addresses,
                                size_t out_count);
/* The function at an address, or NULL; lives as long as the unwinder. */
const char *ntk_host_unwinder_symbol(struct ntk_host_unwinder *unwinder, uint64_t address);
/* The build id of the file at an address, in hexadecimal; false: it has none. */
#define NTK_HOST_BUILD_ID_BYTES 129
bool ntk_host_unwinder_build_id(struct ntk_host_unwinder *unwinder, uint64_t address,
                                char out[NTK_HOST_BUILD_ID_BYTES]);

#endif
