/* SPDX-License-Identifier: MIT */
/*
 * neuron-packager disasm: prints the programs of a NEFF's engines as JSON or as a listing, which
 * asm can read if it is in the open encoding.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/packager/packager.h"
#include "profiler/packager/packager_listing.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/formats/neff/isa_text.h"
#include "shared/formats/neff/source_text.h"

static const char *output;
static const char *only_engine;
static const char *only_subgraph;
static const char *nki_root;
static struct ntk_source_text *sources; /* NULL without source text */
static bool as_json;

static const struct ntk_opt options[] = {
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output, "write to FILE (default: stdout)" },
    { 'e', "engine", "NAME", NTK_OPT_TEXT, &only_engine,
      "print only this engine; Tensor, Scalar, GpSimd, Vector and Sync are valid names too",
      "PE Activation Pool DVE SP" },
    { 'g', "subgraph", "NAME", NTK_OPT_TEXT, &only_subgraph,
      "print only this subgraph, such as sg00" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &as_json, "print JSON" },
    { 0, "nki-source-root", "FOLDER", NTK_OPT_TEXT, &nki_root,
      "show source lines, read from the kernel sources in FOLDER" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager disasm",
    .usage = "[OPTION]... FILE",
    .summary = "Prints the engine programs of a NEFF as text; neuron-packager asm reads the text "
               "back if the programs are in the open encoding.",
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

/* maximum size of a comment: asm limits lines to NTK_ISA_LINE_BYTES_MAX */
#define POSITION_BYTES_MAX 2048

struct notes {
    const struct packager_listing *listing;
    const struct ntk_neff_engine *engine;
    enum ntk_isa_engine which;
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

/* Returns true if asm reads it as one word and it is safe for a terminal. */
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

/* Returns the text of the source line; NULL if unknown. */
static const char *text_of(const struct packager_instruction *instruction)
{
    const struct ntk_neff_positions *positions = instruction->positions;
    const struct ntk_neff_position *at = instruction->at;
    const struct ntk_neff_kernel_instruction *kernel = ntk_neff_position_instruction(positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, kernel);

    if (at && at->file) {
        return ntk_source_text_line(sources, ntk_neff_position_file(positions, at), at->line);
    }
    return function ? ntk_source_text_line(sources, function->file, kernel->line) : NULL;
}

/* Adds a position such as " @ attn.py:278 kv_h=0,g=1: x = nl.load(y)". */
static void add_position(struct ntk_buf *out, const struct packager_instruction *instruction)
{
    struct ntk_buf text = { 0 };

    if (ntk_neff_position_line_add(instruction->positions, instruction->at, &text)) {
        ntk_buf_add_text(out, " @ ");
        ntk_buf_add_clean(out, ntk_str_base_name(ntk_buf_text_get(&text)));
        ntk_buf_reset(&text);
        ntk_neff_position_path_add(instruction->positions, instruction->at, &text);
        ntk_buf_add_text(out, text.bytes_count ? " " : "");
        ntk_buf_add_clean(out, ntk_buf_text_get(&text));
        const char *line = text_of(instruction);
        ntk_buf_add_text(out, line ? ": " : "");
        ntk_buf_add_text(out, line ? line : "");
    }
    out->failed |= !ntk_buf_ok(&text);
    ntk_buf_fini(&text);
}

static void note(const struct ntk_isa_instr *instr, size_t slot, struct ntk_buf *out, void *ctx)
{
    const struct notes *notes = ctx;
    struct packager_instruction instruction = { .slot = slot };
    struct ntk_buf position = { 0 };

    if (instr->name_id > 0 && instr->name_id <= notes->engine->name_count) {
        ntk_buf_add_char(out, ' ');
        ntk_buf_add_clean(out, notes->engine->names[instr->name_id - 1]);
    }
    for (int role = 0; role < NTK_ISA_OPERAND_COUNT; role++) {
        add_var_name(out, notes->listing->subgraph, &instr->operand[role]);
    }
    packager_listing_locate(notes->listing, notes->which, &instruction);
    add_position(&position, &instruction);
    if (position.bytes_count <= POSITION_BYTES_MAX) {
        ntk_buf_add(out, position.bytes, position.bytes_count);
    }
    out->failed |= !ntk_buf_ok(&position);
    ntk_buf_fini(&position);
}

struct vendor_lines {
    struct ntk_buf *out;
    struct packager_sums sums;
};

/* Adds a line of vendor code: asm does not support these operations and reports an error. */
static int add_vendor_line(const struct packager_instruction *instruction, void *ctx)
{
    struct vendor_lines *lines = ctx;
    struct ntk_buf *out = lines->out;
    const char *operands = instruction->operands + strspn(instruction->operands, " ");
    size_t length = strlen(operands);

    while (length > 0 && operands[length - 1] == ' ') {
        length--;
    }
    ntk_buf_add_format(out, "    %s%s%.*s ; %zu", instruction->opcode, length > 0 ? " " : "",
                       (int)length, operands, instruction->slot);
    if (instruction->name[0]) {
        ntk_buf_add_char(out, ' ');
        ntk_buf_add_clean(out, instruction->name);
    }
    if (instruction->statement) {
        ntk_buf_add_text(out, " | ");
        ntk_buf_add_clean(out, instruction->statement);
    }
    add_position(out, instruction);
    ntk_buf_add_char(out, '\n');
    if (instruction->figures) {
        packager_sums_add(&lines->sums, instruction->figures);
    }
    return 0;
}

/* Adds a text such as "12 and 34". */
static void add_traffic(struct ntk_buf *out, const char *memory, uint64_t read, uint64_t written)
{
    ntk_buf_add_format(out, "%s %" PRIu64 " and %" PRIu64, memory, read, written);
}

/* Adds the sums over an engine's slots, each executed once. */
static void add_sums(struct ntk_buf *out, const struct packager_sums *sums)
{
    const struct ntk_vendor_work *work = &sums->work;

    uint64_t bytes = work->hbm_read_bytes + work->hbm_write_bytes + work->sbuf_read_bytes +
                     work->sbuf_write_bytes + work->psum_read_bytes + work->psum_write_bytes;

    if (sums->matmuls == 0 && bytes == 0) {
        return;
    }
    ntk_buf_add_text(out, "; with each slot counted once: ");
    if (sums->matmuls) {
        ntk_buf_add_format(out, "%" PRIu64 " operations, %" PRIu64 " of them in transposes",
                           sums->flops, sums->transpose_flops);
        if (!sums->has_unweighted) {
            ntk_buf_add_format(out, " (weighted by type: %" PRIu64 ", %" PRIu64 ")",
                               sums->adjusted_flops, sums->adjusted_transpose_flops);
        }
        ntk_buf_add_text(out, "; ");
    }
    add_traffic(out, "bytes read and written: device memory", work->hbm_read_bytes,
                work->hbm_write_bytes);
    add_traffic(out, ", state buffer", work->sbuf_read_bytes, work->sbuf_write_bytes);
    add_traffic(out, ", accumulation buffer", work->psum_read_bytes, work->psum_write_bytes);
    if (sums->unknown) {
        ntk_buf_add_format(out, "; %" PRIu64 " of %" PRIu64 " slots are unknown and not counted",
                           sums->unknown, sums->slots);
    }
    ntk_buf_add_char(out, '\n');
}

static int add_engine(struct ntk_buf *out, const struct packager_listing *listing,
                      enum ntk_isa_engine which, struct ntk_err *err)
{
    const struct ntk_neff_subgraph *subgraph = listing->subgraph;
    const struct ntk_neff_engine *engine = &subgraph->engines[which];
    struct notes notes = { listing, engine, which };
    int ret;

    if (!engine->binary_name) {
        return 0;
    }
    if (!is_word(subgraph->folder) || !is_word(engine->binary_name)) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "member '%s/%s' has a name that a listing cannot contain",
                           subgraph->folder, engine->binary_name);
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
    if (packager_engine_is_vendor(engine)) {
        struct vendor_lines lines = { .out = out };
        ret = packager_listing_each(listing, which, add_vendor_line, &lines, err);
        add_sums(out, &lines.sums);
        return ret;
    }
    ret =
        ntk_isa_text_print_program(engine->code, engine->code_bytes, which, note, &notes, out, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s/%s", subgraph->folder, engine->binary_name);
    }
    return ret;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Adds the source position, with the same keys as rows of a profile. */
static int add_json_position(struct ntk_json *json, const struct packager_instruction *instruction)
{
    const struct ntk_neff_positions *positions = instruction->positions;
    const struct ntk_neff_kernel_instruction *kernel =
        ntk_neff_position_instruction(positions, instruction->at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, kernel);
    struct ntk_buf text = { 0 };

    if (kernel && ntk_neff_kernel_line_add(positions, kernel, &text)) {
        ntk_json_key_text(json, "nki_source_location", ntk_buf_text_get(&text));
    }
    ntk_buf_reset(&text);
    if (instruction->at && instruction->at->file &&
        ntk_neff_position_line_add(positions, instruction->at, &text)) {
        ntk_json_key_text(json, "bir_debug_info_source_location", ntk_buf_text_get(&text));
    }
    if (kernel) {
        ntk_buf_reset(&text);
        ntk_neff_kernel_id_add(positions, kernel, &text);
        ntk_json_key_text(json, "kernel_instruction_name", ntk_buf_text_get(&text));
    }
    if (function && function->name[0]) {
        ntk_json_key_text(json, "kernel_function", function->name);
    }
    ntk_buf_reset(&text);
    ntk_neff_position_path_json_add(positions, instruction->at, &text);
    if (text.bytes_count) {
        ntk_json_key(json, "iteration");
        ntk_json_raw(json, text.bytes, text.bytes_count);
    }
    const char *line = text_of(instruction);
    if (line) {
        ntk_json_key_text(json, "text", line);
    }
    bool is_whole = ntk_buf_ok(&text);
    ntk_buf_fini(&text);
    return is_whole ? 0 : -ENOMEM;
}

static void add_json_figures(struct ntk_json *json, const struct packager_figures *figures)
{
    const struct ntk_vendor_work *work = &figures->work;

    ntk_json_key_text(json, "instruction_type", figures->is_transpose ? "TRANSPOSE" : "REGULAR");
    if (figures->has_flops) {
        ntk_json_key_u64(json, "elements", figures->flops.elements);
        ntk_json_key_u64(json, "raw_flops", figures->flops.flops);
        if (figures->flops.has_adjusted) {
            ntk_json_key_u64(json, "adjusted_flops", figures->flops.adjusted_flops);
        }
        if (figures->is_transpose) {
            ntk_json_key_u64(json, "flops_transpose", figures->flops.flops);
        }
        if (figures->is_transpose && figures->flops.has_adjusted) {
            ntk_json_key_u64(json, "adjusted_flops_transpose", figures->flops.adjusted_flops);
        }
    }
    if (!work->is_known) {
        return;
    }
    ntk_json_key_u64(json, "sbuf_read_bytes", work->sbuf_read_bytes);
    ntk_json_key_u64(json, "sbuf_write_bytes", work->sbuf_write_bytes);
    ntk_json_key_u64(json, "psum_read_bytes", work->psum_read_bytes);
    ntk_json_key_u64(json, "psum_write_bytes", work->psum_write_bytes);
    ntk_json_key_u64(json, "psum_read_sbuf_write_bytes", work->psum_to_sbuf_bytes);
    ntk_json_key_u64(json, "hbm_read_bytes", work->hbm_read_bytes);
    ntk_json_key_u64(json, "hbm_write_bytes", work->hbm_write_bytes);
}

static int add_json_row(const struct packager_instruction *instruction, void *ctx)
{
    struct ntk_json *json = ctx;

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "slot", instruction->slot);
    ntk_json_key_text(json, "opcode", instruction->opcode);
    ntk_json_key_text(json, "operands", instruction->operands);
    if (instruction->name[0]) {
        ntk_json_key_text(json, "name", instruction->name);
    }
    if (instruction->has_bir_id) {
        ntk_json_key_u64(json, "bir_id", instruction->bir_id);
    }
    if (instruction->statement) {
        ntk_json_key_text(json, "penguin_text", instruction->statement);
    }
    if (instruction->figures) {
        add_json_figures(json, instruction->figures);
    }
    int ret = add_json_position(json, instruction);
    ntk_json_object_end(json);
    return ret;
}

static int add_json_engine(struct ntk_json *json, const struct packager_listing *listing,
                           enum ntk_isa_engine which, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &listing->subgraph->engines[which];
    int ret;

    if (!engine->binary_name) {
        return 0;
    }
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "engine", packager_engine_name(which));
    ntk_json_key_text(json, "binary", engine->binary_name);
    ntk_json_key_text(json, "encoding",
                      engine->is_empty                    ? "empty"
                      : packager_engine_is_vendor(engine) ? "hardware"
                                                          : "open");
    ntk_json_key_array_begin(json, "instructions");
    ret = packager_listing_each(listing, which, add_json_row, json, err);
    ntk_json_array_end(json);
    ntk_json_object_end(json);
    return ret;
}

/* --- subgraphs -------------------------------------------------------------------------------- */

struct printer {
    struct ntk_buf *out;
    struct ntk_json json; /* for --json */
    bool is_incomplete;   /* names are damaged, as already reported */
};

static void subgraph_head(struct printer *printer, const struct packager_listing *listing)
{
    if (as_json) {
        ntk_json_object_begin(&printer->json);
        ntk_json_key_text(&printer->json, "kelf", listing->kelf->file_name);
        ntk_json_key_text(&printer->json, "name", listing->subgraph->name);
        ntk_json_key_array_begin(&printer->json, "engines");
    } else {
        ntk_buf_add_text(printer->out, "\n; ");
        ntk_buf_add_clean(printer->out, listing->kelf->file_name);
        ntk_buf_add_text(printer->out, ": ");
        ntk_buf_add_clean(printer->out, listing->subgraph->name);
        ntk_buf_add_char(printer->out, '\n');
    }
}

static int add_subgraph(struct printer *printer, const struct ntk_neff *neff,
                        const struct ntk_neff_kelf *kelf, const struct ntk_neff_subgraph *subgraph,
                        struct ntk_err *err)
{
    struct packager_listing listing;
    struct ntk_err warning;
    int ret = packager_listing_begin(&listing, neff, kelf, subgraph, &warning);

    if (ret < 0) {
        packager_listing_end(&listing);
        return ntk_err_no_memory(err);
    }
    if (warning.text[0]) {
        fprintf(stderr, "neuron-packager: %s: the instruction names are omitted\n", warning.text);
        printer->is_incomplete = true;
    }
    for (size_t i = 0; listing.positions && i < listing.positions->warnings.count; i++) {
        fprintf(stderr, "neuron-packager: %s\n",
                *(char **)ntk_vec_at(&listing.positions->warnings, i));
    }
    subgraph_head(printer, &listing);
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT && ret == 0; e++) {
        if (only_engine && packager_engine_find(only_engine) != (enum ntk_isa_engine)e) {
            continue;
        }
        ret = as_json ? add_json_engine(&printer->json, &listing, (enum ntk_isa_engine)e, err)
                      : add_engine(printer->out, &listing, (enum ntk_isa_engine)e, err);
    }
    if (as_json) {
        ntk_json_array_end(&printer->json);
        ntk_json_object_end(&printer->json);
    }
    packager_listing_end(&listing);
    return ret;
}

/* Returns true if the definition was already printed, because both cores of a pair may run the same
 * definition. */
static bool is_again(const struct ntk_neff_kelf *kelf, uint32_t index)
{
    for (uint32_t earlier = 0; earlier < index; earlier++) {
        if (strcmp(kelf->subgraphs[earlier].folder, kelf->subgraphs[index].folder) == 0) {
            return true;
        }
    }
    return false;
}

static int add_subgraphs(struct printer *printer, const struct ntk_neff *neff, struct ntk_err *err)
{
    bool has_any = false;
    int ret = 0;

    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        const struct ntk_neff_kelf *kelf = &neff->kelfs[k];

        for (uint32_t s = 0; s < kelf->subgraph_count && ret == 0; s++) {
            if (is_again(kelf, s) ||
                (only_subgraph && strcmp(kelf->subgraphs[s].name, only_subgraph) != 0)) {
                continue;
            }
            has_any = true;
            ret = add_subgraph(printer, neff, kelf, &kelf->subgraphs[s], err);
        }
    }
    if (ret == 0 && only_subgraph && !has_any) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                           "no subgraph '%s': neuron-packager info lists the subgraphs",
                           only_subgraph);
    }
    return ret;
}

static int add_neff(struct printer *printer, const struct ntk_neff *neff, struct ntk_err *err)
{
    int ret;

    if (!as_json) {
        ntk_buf_add_text(printer->out, "; ");
        ntk_buf_add_clean(printer->out, neff->header.name);
        ntk_buf_add_text(
            printer->out,
            neff->is_vendor
                ? ", in the hardware encoding: for reading only, not for neuron-packager asm\n"
                : "\n");
        return add_subgraphs(printer, neff, err);
    }
    ntk_json_init(&printer->json, printer->out, true);
    ntk_json_object_begin(&printer->json);
    ntk_json_key_text(&printer->json, "name", neff->header.name);
    ntk_json_key_array_begin(&printer->json, "subgraphs");
    ret = add_subgraphs(printer, neff, err);
    ntk_json_array_end(&printer->json);
    ntk_json_object_end(&printer->json);
    ntk_buf_add_char(printer->out, '\n');
    return ret;
}

static int open_sources(const char *path, const struct ntk_neff *neff, struct ntk_err *err)
{
    struct stat status;
    struct ntk_source_text_options wanted = { .nki_root = nki_root, .neff = neff };

    wanted.built_s = stat(path, &status) == 0 ? (int64_t)status.st_mtime : 0;
    return ntk_source_text_create(&wanted, &sources, err);
}

static void close_sources(void)
{
    if (!sources) {
        return;
    }
    ntk_vec_each(char *, warning, ntk_source_text_warnings(sources)) {
        fprintf(stderr, "neuron-packager: %s\n", *warning);
    }
    ntk_source_text_destroy(sources);
    sources = NULL;
}

int packager_disasm(int argc, char **argv)
{
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    struct ntk_buf out = { 0 };
    struct printer printer = { .out = &out };
    int code;
    const char *path = packager_parse_file(&program, argc, argv, &code);
    int ret;

    if (!path) {
        return code;
    }
    if (only_engine && packager_engine_find(only_engine) == NTK_ISA_ENGINE_COUNT) {
        return ntk_opt_usage_error(&program,
                                   "unknown engine '%s': expected PE, Activation, Pool, DVE or "
                                   "SP, or Tensor, Scalar, GpSimd, Vector or Sync",
                                   only_engine);
    }
    if (ntk_neff_open(path, &neff, &err) < 0 || open_sources(path, neff, &err) < 0) {
        ntk_neff_close(neff);
        return packager_fail(&err);
    }
    ret = add_neff(&printer, neff, &err);
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
    close_sources();
    ntk_buf_fini(&out);
    ntk_neff_close(neff);
    return ret < 0 ? packager_fail(&err) : printer.is_incomplete;
}
