/* SPDX-License-Identifier: MIT */
/* tensor_traffic - counts executions of each slot, then examines its transfers once. */
#include "profiler/analysis/tensor_traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/hbm_traffic.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

struct sums {
    struct ntk_vec rows;                  /* elements are struct ntk_tensor_row */
    struct ntk_map indices;               /* maps a name to index + 1 */
    uint64_t times;                       /* number of runs of the slot */
    bool is_load;                         /* data is moved to memory on the core */
    bool is_spill;                        /* it belongs to a spill queue */
    const struct ntk_neff_position *line; /* NULL if unknown */
    bool has_transfer, has_unnamed;
    int failed;
};

const char *ntk_tensor_kind_name(enum ntk_neff_var_type type)
{
    switch (type) {
    case NTK_NEFF_VAR_INPUT:
        return "input";
    case NTK_NEFF_VAR_OUTPUT:
        return "output";
    case NTK_NEFF_VAR_FILE:
        return "weight";
    default:
        return "scratch";
    }
}

/* Finds the row of a tensor; cores of a pair share tensors by name. */
static struct ntk_tensor_row *row_of(struct sums *sums, const struct ntk_neff_var *var)
{
    uintptr_t index = (uintptr_t)ntk_map_get(&sums->indices, var->name);

    if (!index) {
        struct ntk_tensor_row row = { .name = var->name,
                                      .kind = ntk_tensor_kind_name(var->type),
                                      .size_bytes = var->bytes_count };
        index = sums->rows.count + 1;
        if (ntk_vec_push(&sums->rows, &row) < 0 ||
            ntk_map_put(&sums->indices, var->name, (void *)index) < 0) {
            sums->failed = -ENOMEM;
            return NULL;
        }
    }
    return ntk_vec_at(&sums->rows, index - 1);
}

static void visit(const struct ntk_neff_var *var, bool is_write, uint64_t bytes_count, void *ctx)
{
    struct sums *sums = ctx;
    struct ntk_tensor_row *row = var ? row_of(sums, var) : NULL;

    if (!row) {
        sums->has_unnamed = true;
        return;
    }
    row->is_spill = row->is_spill || sums->is_spill;
    *(is_write ? &row->write_bytes : &row->read_bytes) += sums->times * bytes_count;
    *(is_write ? &row->write_count : &row->read_count) += sums->times;
    if (!is_write) {
        ntk_line_costs_add(&row->readers, sums->line, NULL, (double)(sums->times * bytes_count));
    }
    if (!is_write && sums->is_load) {
        row->load_bytes += sums->times * bytes_count;
        row->load_count += sums->times;
    }
}

static int compare(const void *a, const void *b)
{
    const struct ntk_tensor_row *x = a;
    const struct ntk_tensor_row *y = b;
    uint64_t x_bytes = x->read_bytes + x->write_bytes;
    uint64_t y_bytes = y->read_bytes + y->write_bytes;

    return x_bytes != y_bytes ? (x_bytes > y_bytes ? -1 : 1) : strcmp(x->name, y->name);
}

/* Adds the transfers of one core: each slot once, with its number of executions. */
static int add_core(struct sums *sums, const struct ntk_program *program, size_t index)
{
    const struct ntk_trace_core *core = &program->trace->cores[index];

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = core->ntff->engine_buffers[e];
        size_t slots = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        uint64_t *times = calloc(slots + 1, sizeof *times);

        if (!times) {
            return -ENOMEM;
        }
        ntk_trace_each_instruction(core, instruction) {
            if (instruction->engine == e &&
                ntk_program_fact(program, index, instruction)->code->is_transfer) {
                times[instruction->slot]++;
            }
        }
        for (size_t s = 0; s < slots; s++) {
            struct ntk_trace_instruction instruction = {
                .engine = (uint8_t)e,
                .slot = (uint32_t)s,
                .opcode = buffer->code[s * NTK_NTFF_SLOT_BYTES],
            };
            const struct ntk_slot_fact *fact = ntk_program_fact(program, index, &instruction);
            const struct ntk_moves *moves = fact->code->moves;
            sums->times = times[s];
            sums->line = times[s] ? ntk_program_position(program, index, &instruction) : NULL;
            sums->is_load = moves && moves->is_load;
            sums->is_spill = fact->code->queue && strstr(fact->code->queue, "SpillReload");
            sums->has_transfer = sums->has_transfer || times[s];
            if (times[s] &&
                !ntk_hbm_traffic_visit(program->trace, core, &instruction, visit, sums)) {
                sums->has_unnamed = true;
            }
        }
        free(times);
    }
    return sums->failed;
}

/* Returns false if no instruction describes the data of a vendor's prepared queues. */
static bool has_data(const struct ntk_trace *trace)
{
    struct ntk_dma_traffic traffic;

    ntk_analysis_dma_traffic(trace, &traffic);
    return traffic.all.packet_count > traffic.classes[NTK_TRACE_DMA_INSTRUCTION].packet_count;
}

int ntk_analysis_tensor_traffic(const struct ntk_program *program,
                                struct ntk_tensor_traffic *out_traffic)
{
    struct sums sums = { .rows = NTK_VEC_INIT(struct ntk_tensor_row) };
    int ret = program->trace->neff ? 0 : -ENODATA;

    for (size_t c = 0; c < program->trace->core_count && ret == 0; c++) {
        ret = add_core(&sums, program, c);
    }
    ntk_map_fini(&sums.indices);
    if (ret == 0 && (sums.has_unnamed || (!sums.has_transfer && has_data(program->trace)))) {
        ret = -ENODATA;
    }
    if (ret < 0) {
        ntk_vec_each(struct ntk_tensor_row, row, &sums.rows) {
            ntk_line_costs_fini(&row->readers);
        }
        ntk_vec_fini(&sums.rows);
        return ret;
    }
    ntk_vec_each(struct ntk_tensor_row, row, &sums.rows) {
        if (row->size_bytes && row->read_bytes) {
            row->has_reload = true;
            row->reload_ratio = (double)row->read_bytes / (double)row->size_bytes;
        }
    }
    ntk_vec_sort(&sums.rows, compare);
    out_traffic->rows = sums.rows.items;
    out_traffic->row_count = sums.rows.count;
    return 0;
}

void ntk_tensor_traffic_fini(struct ntk_tensor_traffic *traffic)
{
    for (size_t i = 0; i < traffic->row_count; i++) {
        ntk_line_costs_fini(&traffic->rows[i].readers);
    }
    free(traffic->rows);
    *traffic = (struct ntk_tensor_traffic){ 0 };
}
