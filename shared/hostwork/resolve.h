/* SPDX-License-Identifier: MIT */
/*
 * resolve - turns copied stacks into frames with names: unwinds by .eh_frame and by frame pointer,
 * and uses the symbols of ELF files, of map files and of the kernel.
 *
 * The files and the stacks come from the observed process, and the libraries that read them were
 * not written for hostile input. So this is done in a child process with limited time and memory
 * and no special rights. If it dies, frames are named "module+0x1234".
 *
 * Owner: nothing is kept. Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_RESOLVE_H
#define NTK_SHARED_HOSTWORK_RESOLVE_H

#include "shared/hostwork/hostwork.h"
#include "shared/hostwork/modules.h"
#include "shared/hostwork/raw.h"

/* What the frames of a thread show: its stack, and more for a thread on the CPU. */
struct ntk_host_resolved {
    uint32_t stack; /* stack in the records */
    bool is_in_fault;
};

/* out_stacks has an entry for each raw stack. processes has a struct ntk_host_modules for each pid.
 * Returns 0 or -ENOMEM. */
int ntk_host_resolve(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                     struct ntk_host_stacks *stacks, struct ntk_host_resolved *out_stacks);

/* ---- for resolve.c, its child and tests ---- */

struct ntk_buf;
/* Runs in the child: writes the frames of all stacks as bytes. is_unwound: use libdw; otherwise
 * only frames that are known without it. */
void ntk_host_resolve_write(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                            bool is_unwound, struct ntk_buf *out);
/* Closes the parent's descriptors in the child, except these two and the files of modules. */
void ntk_host_resolve_close(const struct ntk_vec *processes, int answer, int alive);
/* Reads frames from the child's bytes, which may be invalid; false if they end early. */
bool ntk_host_resolve_read(const uint8_t *bytes, size_t count, size_t stack_count,
                           struct ntk_host_stacks *stacks, struct ntk_host_resolved *out_stacks);

/* In unwind.c, or in unwind_none.c without elfutils. Returns the addresses of a stack, innermost
 * first; 0 if it could not be unwound. */
struct ntk_host_unwinder;
struct ntk_host_unwinder *ntk_host_unwinder_create(const struct ntk_host_modules *modules);
void ntk_host_unwinder_destroy(struct ntk_host_unwinder *unwinder);
size_t ntk_host_unwinder_unwind(struct ntk_host_unwinder *unwinder,
                                const struct ntk_host_raw_stack *stack, uint64_t *out_addresses,
                                size_t out_count);
/* The function at an address, or NULL. Lives as long as the unwinder. */
const char *ntk_host_unwinder_symbol(struct ntk_host_unwinder *unwinder, uint64_t address);
/* The build id of the file at an address, in hexadecimal; false if it has none. */
#define NTK_HOST_BUILD_ID_BYTES 129
bool ntk_host_unwinder_build_id(struct ntk_host_unwinder *unwinder, uint64_t address,
                                char out[NTK_HOST_BUILD_ID_BYTES]);

#endif
