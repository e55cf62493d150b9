/* SPDX-License-Identifier: MIT */
/* scan - the memory of a list that is read from one end to the other. */
#include <sys/mman.h>

#include "profiler/trace/trace.h"

void ntk_trace_scan_give_back(const void *first, size_t passed_bytes)
{
    /* The pages stay in the file: a later look maps them again. The last piece is what was not given
     * back before. */
    size_t from = passed_bytes > NTK_TRACE_SCAN_BYTES ? passed_bytes - NTK_TRACE_SCAN_BYTES : 0;

    (void)madvise((char *)first + from, passed_bytes - from, MADV_DONTNEED);
}
