/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/level_sums.h"

#include <errno.h>
#include <inttypes.h>

#include "profiler/output/tables/rows.h"

static struct ntk_level_interval *interval_of(struct ntk_level_sums *sums,
                                              const struct ntk_trace_instruction *row)
{
    size_t count = sums->intervals.count;
    struct ntk_level_interval *last = count ? ntk_vec_at(&sums->intervals, count - 1) : NULL;

    if (last && (row->start_ps <= last->end_ps || count == NTK_LEVEL_INTERVALS_MAX)) {
        return last;
    }
    if (!count) {
        ntk_vec_init(&sums->intervals, sizeof *last);
    }
    last = ntk_vec_add(&sums->intervals);
    if (last) {
        *last = (struct ntk_level_interval){ .start_ps = row->start_ps, .end_ps = row->end_ps };
    }
    return last;
}

static void add_flops(struct ntk_level_sums *sums, struct ntk_level_interval *interval,
                      const struct ntk_trace *trace, const struct ntk_slot_fact *fact,
                      const struct ntk_trace_instruction *row)
{
    uint64_t peak_flops = 0;

    if (row->opcode != NTK_NTFF_OPCODE_MATMUL) {
        return;
    }
    sums->lacks_flops = sums->lacks_flops || !ntk_code_peak_flops(trace, fact->code, &peak_flops);
    interval->peak_flops += peak_flops;
    interval->useful_flops += fact->code->is_transpose ? 0 : peak_flops;
}

int ntk_level_sums_add(struct ntk_level_sums *sums, const struct ntk_trace *trace,
                       const struct ntk_slot_fact *fact, const struct ntk_trace_instruction *row)
{
    uint64_t elements = fact->code->has_flops ? fact->code->elements : 0;
    bool is_first = sums->intervals.count == 0;
    struct ntk_level_interval *interval = interval_of(sums, row);

    if (!interval) {
        return -ENOMEM;
    }
    int64_t from_ps = is_first || row->start_ps > sums->end_ps ? row->start_ps : sums->end_ps;
    sums->covered_ps += row->end_ps > from_ps ? row->end_ps - from_ps : 0;
    sums->end_ps = is_first || row->end_ps > sums->end_ps ? row->end_ps : sums->end_ps;
    interval->end_ps = row->end_ps > interval->end_ps ? row->end_ps : interval->end_ps;
    interval->elements += elements;
    interval->transposed += fact->code->is_transpose ? elements : 0;
    add_flops(sums, interval, trace, fact, row);
    if (fact->code->has_bytes) {
        interval->hbm_bytes += fact->code->read_bytes + fact->code->write_bytes;
        sums->hbm_read_bytes += fact->code->read_bytes;
        sums->hbm_write_bytes += fact->code->write_bytes;
    }
    if (fact->code->has_onchip) {
        sums->sbuf_read_bytes += fact->code->sbuf_read_bytes;
        sums->sbuf_write_bytes += fact->code->sbuf_write_bytes;
        sums->weight_bytes +=
            row->opcode == NTK_NTFF_OPCODE_LDWEIGHTS ? fact->code->sbuf_read_bytes : 0;
    }
    sums->engine_counts[row->engine]++;
    return 0;
}

void ntk_level_sums_fini(struct ntk_level_sums *sums)
{
    ntk_vec_fini(&sums->intervals);
}

int ntk_level_texts_fill(struct ntk_level_texts *texts, const struct ntk_level_sums *sums)
{
    bool is_ok = true;

    for (size_t l = 0; l < NTK_LEVEL_LIST_COUNT; l++) {
        const char *separator = "";
        struct ntk_buf *list = &texts->lists[l];
        ntk_buf_reset(list);
        ntk_buf_add_char(list, '[');
        ntk_vec_each(const struct ntk_level_interval, interval, &sums->intervals) {
            ntk_buf_add_text(list, separator);
            separator = ", ";
            if (l == NTK_LEVEL_TIMES) {
                ntk_buf_add_format(list, "[%" PRId64 ", %" PRId64 "]",
                                   ntk_rows_ns(interval->start_ps), ntk_rows_ns(interval->end_ps));
            } else {
                ntk_buf_add_u64(list, l == NTK_LEVEL_ELEMENTS     ? interval->elements
                                      : l == NTK_LEVEL_TRANSPOSED ? interval->transposed
                                                                  : interval->hbm_bytes);
            }
        }
        ntk_buf_add_char(list, ']');
        is_ok = is_ok && ntk_buf_ok(list);
    }
    return is_ok ? 0 : -ENOMEM;
}

void ntk_level_texts_fini(struct ntk_level_texts *texts)
{
    for (size_t l = 0; l < NTK_LEVEL_LIST_COUNT; l++) {
        ntk_buf_fini(&texts->lists[l]);
    }
}
