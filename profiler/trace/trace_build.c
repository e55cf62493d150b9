/* SPDX-License-Identifier: MIT */
/* trace_build - implements the common part of all list makers, during reading and at the end. */
#include "profiler/trace/trace_build.h"

#include "shared/formats/ntff/ntff_layout.h"

void ntk_trace_build_passed(struct ntk_trace_build *build, const struct ntk_ntff_section *section,
                            uint64_t until)
{
    uint64_t piece = until % NTK_TRACE_PIECE_RECORDS;
    const size_t record_bytes = NTK_NTFF_RECORD_BYTES;

    piece = piece ? piece : NTK_TRACE_PIECE_RECORDS;
    ntk_ntff_give_back(build->trace->ntff, section->records + (until - piece) * record_bytes,
                       piece * record_bytes);
    build->records_done += piece;
    if (build->options.progress && build->records_total) {
        build->options.progress((double)build->records_done / (double)build->records_total,
                                build->options.progress_ctx);
    }
}

int ntk_trace_build_finish(struct ntk_trace_build *build, struct ntk_sorter *sorter,
                           size_t item_bytes, struct ntk_sorted *out_sorted)
{
    int ret = ntk_sorter_finish(sorter, build->heap_bytes_left, out_sorted, build->err);

    if (ret == 0 && !out_sorted->is_mapped) {
        build->heap_bytes_left -= out_sorted->count * item_bytes;
    }
    return ret;
}
