/* SPDX-License-Identifier: MIT */
/* scan - the memory of a list that is read from one end to the other. */
#include <sys/mman.h>

#include "profiler/trace/trace.h"

void ntk_trace_scan_give_back(const void *first, size_t passed_bytes)
{
    /* Not the piece that was passed just now: its last elements are still looked at. The pages stay in the
     * file: a later look maps them again. */
    if (passed_bytes >= 2 * NTK_TRACE_SCAN_BYTES) {
        (void)madvise((char *)first + (passed_bytes - 2 * NTK_TRACE_SCAN_BYTES),
                      NTK_TRACE_SCAN_BYTES, MADV_DONTNEED);
    }
}
