/* SPDX-License-Identifier: MIT */
/*
 * neff_frames - the calls in the framework's program that led to operations of XLA:
 * debug_info/debug_info_stack_frame_index.dbg, the message StackFrameIndex of XLA in its field 6.
 *
 *   field 6   1 repeated file name, 2 repeated function name,
 *             3 repeated location { 1 file, 2 function, 3 line },
 *             4 repeated frame { 1 location, 2 parent frame }
 *
 * All numbers count from 1 in their lists; 0, and numbers beyond a list, mean none.
 *
 * Errors:  -EBADMSG the member is damaged, with its name and offset; -ENOMEM.
 * Owner:   ntk_neff_frames_read() fills, ntk_neff_frames_fini() frees, including texts.
 * Threads: any; immutable after it is filled.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_FRAMES_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_FRAMES_H

#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NEFF_FRAMES_MAX ((size_t)1 << 22) /* maximum length of each list */

struct ntk_neff_frame_location {
    uint32_t file, function, line;
};

struct ntk_neff_frame {
    /* cycles are kept, so code that follows parents must count its steps */
    uint32_t location, parent;
};

struct ntk_neff_frames {
    struct ntk_vec files;     /* char * */
    struct ntk_vec functions; /* char * */
    struct ntk_vec locations; /* struct ntk_neff_frame_location */
    struct ntk_vec frames;    /* struct ntk_neff_frame */
};

/* Empty if the NEFF has no such member. memory_bytes is the memory limit. */
int ntk_neff_frames_read(const struct ntk_neff *neff, uint64_t memory_bytes,
                         struct ntk_neff_frames *out_frames, struct ntk_err *err);
void ntk_neff_frames_fini(struct ntk_neff_frames *frames);

#ifdef __cplusplus
}
#endif
#endif
