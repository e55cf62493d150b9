/* SPDX-License-Identifier: MIT */
/* neuron-packager disasm: the programs of a NEFF's engines as a listing that asm reads back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/packager/packager.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/formats/neff/isa_text.h"
#include "shared/formats/neff/neff.h"

static const char *output;

static const struct ntk_opt options[] = {
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output, "where to write; the default is stdout" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager disasm",
    .usage = "[-o FILE] FILE",
    .summary = "Prints the programs of a NEFF's engines, for people and for neuron-packager asm.",
    .options = options,
};

static void add_pattern(struct ntk_buf *out, const struct ntk_neff_subgraph *subgraph,
                        const struct ntk_neff_pattern *pattern)
{
    const struct ntk_neff_var *var = &subgraph->vars[pattern->var];

    ntk_buf_add_clean(out, var->name);
    if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
        ntk_buf_add_format(out, "(%llu)+%llu",
                           (unsigned long long)(pattern->offset / NTK_NEFF_SBUF_PARTITION_STEP),
                           (unsigned long long)(pattern->offset % NTK_NEFF_SBUF_PARTITION_STEP));
    } else {
        ntk_buf_add_format(out, "+%llu", (unsigned long long)pattern->offset);
    }
    ntk_buf_add_format(out, ":%s[", ntk_dtype_name((unsigned)pattern->dtype));
    for (uint32_t d = 0; d < pattern->dim_count; d++) {
        ntk_buf_add_format(out, "%s%llu:%lld", d ? "," : "", (unsigned long long)pattern->sizes[d],
                           (long long)pattern->steps[d]);
    }
    ntk_buf_add_char(out, ']');
}

static void add_group(struct ntk_buf *out, const struct ntk_neff_subgraph *subgraph,
                      const struct ntk_neff_dma_group *group)
{
    ntk_buf_add_format(out, "; group %u of queue %u ", group->id, group->queue_set);
    ntk_buf_add_clean(out, subgraph->queue_sets[group->queue_set].name);
    if (group->semaphore != NTK_NEFF_NONE) {
        ntk_buf_add_format(out, ", adds to s%u", group->semaphore);
    }
    if (group->event != NTK_NEFF_NONE) {
        ntk_buf_add_format(out, ", sets e%u", group->event);
    }
    if (group->function_start[0]) {
        ntk_buf_add_text(out, ", function ");
        ntk_buf_add_clean(out, group->function_start);
    }
    if (group->comment[0]) {
        ntk_buf_add_text(out, ": ");
        ntk_buf_add_clean(out, group->comment);
    }
    ntk_buf_add_char(out, '\n');
    for (uint32_t t = 0; t < group->transfer_count; t++) {
        const struct ntk_neff_transfer *transfer = &group->transfers[t];

        ntk_buf_add_format(out, ";     %s ", ntk_neff_transfer_op_name(transfer->op));
        add_pattern(out, subgraph, &transfer->to);
        ntk_buf_add_text(out, " <-");
        for (uint32_t s = 0; s < transfer->source_count; s++) {
            ntk_buf_add_char(out, ' ');
            add_pattern(out, subgraph, &transfer->from[s]);
        }
        ntk_buf_add_char(out, '\n');
    }
}

struct notes {
    const struct ntk_neff_subgraph *subgraph;
    const struct ntk_neff_engine *engine;
};

static void add_var_name(struct ntk_buf *out, const struct ntk_neff_subgraph *subgraph,
                         const struct ntk_isa_operand *operand)
{
    const struct ntk_neff_var *var;

    if (operand->space == NTK_ISA_SPACE_VAR &&
        (var = ntk_neff_var_by_id(subgraph, operand->var_id))) {
        ntk_buf_add_format(out, " var%u=", operand->var_id);
        ntk_buf_add_clean(out, var->name);
    }
}

static void note(const struct ntk_isa_instr *instr, struct ntk_buf *out, void *ctx)
{
    const struct notes *notes = ctx;

    if (instr->name_id > 0 && instr->name_id <= notes->engine->name_count) {
        ntk_buf_add_char(out, ' ');
        ntk_buf_add_clean(out, notes->engine->names[instr->name_id - 1]);
    }
    for (int role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        add_var_name(out, notes->subgraph, &instr->operand[role]);
    }
}

/* What asm would read back as one word, and what a terminal may see. */
static bool is_word(const char *name)
{
    size_t bytes = strlen(name);

    for (size_t at = 0; at < bytes;) {
        uint32_t code;
        size_t length = ntk_str_utf8_read(name + at, bytes - at, &code);

        if (length == 0 || ntk_str_is_unsafe(code) || code == ' ' || code == ';') {
            return false;
        }
        at += length;
    }
    return true;
}

static int add_engine(struct ntk_buf *out, const struct ntk_neff_subgraph *subgraph,
                      enum ntk_isa_engine which, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &subgraph->engines[which];
    struct notes notes = { subgraph, engine };
    int ret;

    if (!engine->binary_name) {
        return 0;
    }
    if (!is_word(subgraph->folder) || !is_word(engine->binary_name)) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "a listing cannot hold the name of member \"%s/%s\"", subgraph->folder,
                           engine->binary_name);
    }
    ntk_buf_add_format(out, "\n.engine %s %s%s%s\n", packager_engine_name(which), subgraph->folder,
                       subgraph->folder[0] ? "/" : "", engine->binary_name);
    if (engine->is_empty) {
        ntk_buf_add_format(out, ".zero %zu\n", engine->code_bytes);
        return 0;
    }
    for (uint32_t g = 0; g < engine->group_count; g++) {
        add_group(out, subgraph, &engine->groups[g]);
    }
    ret =
        ntk_isa_text_print_program(engine->code, engine->code_bytes, which, note, &notes, out, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s/%s", subgraph->folder, engine->binary_name);
    }
    return ret;
}

static int add_neff(struct ntk_buf *out, const struct ntk_neff *neff, struct ntk_err *err)
{
    int ret = 0;

    if (neff->is_vendor) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "the engine binaries are in the vendor's encoding, which is not public; "
                           "neuron-profile show-session -i lists what ran in a capture");
    }
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        const struct ntk_neff_kelf *kelf = &neff->kelfs[k];

        for (uint32_t s = 0; s < kelf->subgraph_count && ret == 0; s++) {
            const struct ntk_neff_subgraph *subgraph = &kelf->subgraphs[s];
            bool is_again = false;

            for (uint32_t earlier = 0; earlier < s; earlier++) {
                is_again |= strcmp(kelf->subgraphs[earlier].folder, subgraph->folder) == 0;
            }
            if (is_again) {
                continue; /* both cores of a pair run the same definition */
            }
            ntk_buf_add_text(out, "\n; ");
            ntk_buf_add_clean(out, kelf->file_name);
            ntk_buf_add_text(out, ": ");
            ntk_buf_add_clean(out, subgraph->name);
            ntk_buf_add_char(out, '\n');
            for (int e = 0; e < NTK_ISA_ENGINE_COUNT && ret == 0; e++) {
                ret = add_engine(out, subgraph, (enum ntk_isa_engine)e, err);
            }
        }
    }
    return ret;
}

int packager_disasm(int argc, char **argv)
{
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    struct ntk_buf out = { 0 };
    int code;
    const char *path = packager_parse_file(&program, argc, argv, &code);
    int ret;

    if (!path) {
        return code;
    }
    ret = ntk_neff_open(path, &neff, &err);
    if (ret == 0) {
        ntk_buf_add_text(&out, "; ");
        ntk_buf_add_clean(&out, neff->header.name);
        ntk_buf_add_char(&out, '\n');
        ret = add_neff(&out, neff, &err);
    }
    if (ret == 0 && !ntk_buf_ok(&out)) {
        ret = ntk_err_no_memory(&err);
    }
    if (ret < 0) {
        ntk_err_prefix(&err, "%s", path);
    } else if (output) {
        ret = ntk_fs_write(output, out.bytes, out.bytes_count, &err);
    } else if (fwrite(out.bytes, 1, out.bytes_count, stdout) != out.bytes_count ||
               fflush(stdout) != 0) {
        ret = ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "stdout: %s", strerror(errno));
    }
    ntk_buf_fini(&out);
    ntk_neff_close(neff);
    return ret < 0 ? packager_fail(&err) : 0;
}
