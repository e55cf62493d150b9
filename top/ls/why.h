/* SPDX-License-Identifier: MIT */
/*
 * why - finds the processes that hold logical cores: the cause of "NeuronCore(s) not available".
 *
 * Holders come from the locks of the software machine, from segments, and from processes that have
 * a device's node open. Each is printed with the signs that it may be stale.
 *
 * Threads: one.
 */
#ifndef NTK_TOP_LS_WHY_H
#define NTK_TOP_LS_WHY_H

#include "shared/base/buf.h"
#include "top/ls/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cores: a list such as "0-3,8". Adds lines, or a JSON object, to out. *out_is_free: every core is
 * known to be free. -EINVAL for an invalid list or a list without a core of this machine; otherwise
 * the same as ntk_ls_read(). */
int ntk_ls_why(const struct ntk_ls_read_options *options, const char *cores, bool as_json,
               struct ntk_buf *out, bool *out_is_free, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
