/* SPDX-License-Identifier: MIT */
/* work_words - decodes slots to shapes, and follows the last writers of their inputs. */
#include "profiler/analysis/work_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/chip_access.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/open_slot.h"
#include "profiler/analysis/tensor_traffic.h"
#include "shared/base/buf.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/vendor_slot.h"

#define SOURCES_MAX 8 /* maximum number of sources per instruction */
#define OP_BYTES 64
#define ACTIVATE_FUNCTION 35 /* byte in a vendor's slot */
#define UNKNOWN 0            /* text number for none */

struct ntk_work_words {
    const struct ntk_program *program;
    size_t core;
    bool has_accesses;
    struct ntk_chip_accesses accesses;
    uint32_t *writers[NTK_CHIP_SPACE_COUNT]; /* indexed by cell: a text, or UNKNOWN */
    struct ntk_map text_numbers;             /* maps a text to 1 + its index in entries */
    struct ntk_map tensors; /* maps the name of a scratch tensor to the text of the stored data */
    uint32_t *slots[NTK_NTFF_ENGINE_COUNT];   /* indexed by slot: 1 + word; 0 if not yet computed */
    uint32_t *outputs[NTK_NTFF_ENGINE_COUNT]; /* indexed by slot: text of its output */
    uint32_t stationary;                      /* text of the last data loaded by LDWEIGHTS */
    struct ntk_vec *words;
    struct ntk_map *word_numbers; /* maps the closest form to 1 + index */
};

/* ---- texts ---- */

/* Returns the number of a text, from 1; UNKNOWN for "", or if out of memory. */
static uint32_t text_number(struct ntk_work_words *w, const char *text)
{
    uintptr_t number = text[0] ? (uintptr_t)ntk_map_get(&w->text_numbers, text) : UNKNOWN;

    if (number || !text[0]) {
        return (uint32_t)number;
    }
    number = w->text_numbers.count + 1;
    return ntk_map_put(&w->text_numbers, text, (void *)number) < 0 ? UNKNOWN : (uint32_t)number;
}

static const char *text_of(const struct ntk_work_words *w, uint32_t number)
{
    return number ? w->text_numbers.entries[number - 1].key : "";
}

/* ---- sources ---- */

struct sources {
    uint32_t texts[SOURCES_MAX];
    size_t count;
};

static void sources_add(struct sources *sources, uint32_t text)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->texts[i] == text) {
            return;
        }
    }
    if (text != UNKNOWN && sources->count < SOURCES_MAX) {
        sources->texts[sources->count++] = text;
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns a text such as "input+exp", sorted, so that numbers in a program do not matter. */
static uint32_t sources_text(struct ntk_work_words *w, const struct sources *sources)
{
    const char *texts[SOURCES_MAX];
    struct ntk_buf joined = { 0 };
    uint32_t number = UNKNOWN;

    if (sources->count == 1) {
        return sources->texts[0];
    }
    for (size_t i = 0; i < sources->count; i++) {
        texts[i] = text_of(w, sources->texts[i]);
    }
    qsort(texts, sources->count, sizeof *texts, compare_texts);
    for (size_t i = 0; i < sources->count; i++) {
        ntk_buf_add_text(&joined, i ? "+" : "");
        ntk_buf_add_text(&joined, texts[i]);
    }
    if (sources->count && ntk_buf_ok(&joined)) {
        number = text_number(w, ntk_buf_text_get(&joined));
    }
    ntk_buf_fini(&joined);
    return number;
}

/* Returns the sources in the first cell of each range that the instruction reads without
 * accumulating. */
static uint32_t read_sources(struct ntk_work_words *w, const struct ntk_trace_instruction *of)
{
    const struct ntk_chip_slot *slot = ntk_chip_slot_of(&w->accesses, of);
    struct sources sources = { .count = 0 };

    for (uint32_t i = slot->first; i < slot->first + slot->count; i++) {
        const struct ntk_chip_access *access = ntk_vec_at(&w->accesses.list, i);
        struct ntk_chip_span span = w->accesses.spans[i];
        if (access->is_read && !access->is_write && span.first < span.end) {
            sources_add(&sources, w->writers[access->space][span.first]);
        }
    }
    if (of->opcode == NTK_NTFF_OPCODE_MATMUL) {
        sources_add(&sources, w->stationary);
    }
    return sources_text(w, &sources);
}

static void write_cells(struct ntk_work_words *w, const struct ntk_trace_instruction *of,
                        uint32_t text)
{
    const struct ntk_chip_slot *slot = ntk_chip_slot_of(&w->accesses, of);

    for (uint32_t i = slot->first; i < slot->first + slot->count; i++) {
        const struct ntk_chip_access *access = ntk_vec_at(&w->accesses.list, i);
        struct ntk_chip_span span = w->accesses.spans[i];
        for (uint32_t c = span.first; access->is_write && c < span.end; c++) {
            w->writers[access->space][c] = text;
        }
    }
}

/* ---- effects of a slot ---- */

struct deed {
    char op[OP_BYTES];    /* such as "matmul", "activate 3" or "TENSOR_TENSOR" */
    char shape[OP_BYTES]; /* such as "128x128"; "" if unknown */
    const char *type;     /* NULL if unknown */
    bool passes_on;       /* it only moves data of others */
    bool is_transfer;
    bool is_store;                  /* writes to device memory */
    const struct ntk_neff_var *var; /* variable that it moves; NULL if unknown */
    uint64_t bytes;
};

static void add_side(const struct ntk_neff_var *var, bool is_write, uint64_t bytes, void *ctx)
{
    struct deed *deed = ctx;

    deed->bytes += bytes;
    deed->is_store = is_write;
    deed->var = var ? var : deed->var;
}

static void describe_open(const struct ntk_isa_instr *open, const struct ntk_slot_fact *fact,
                          struct deed *deed)
{
    const struct ntk_isa_operand *tile =
        &open->operand[open->op == NTK_ISA_OP_NC_MATMUL ? NTK_ISA_SRC0 : NTK_ISA_DST];

    deed->passes_on = open->op == NTK_ISA_OP_NC_TRANSPOSE || open->op == NTK_ISA_OP_TENSOR_COPY;
    if (!fact->code->has_flops) {
        snprintf(deed->op, sizeof deed->op, "op %d %d %d %d", (int)open->op, (int)open->act,
                 (int)open->op0, (int)open->op1);
    }
    if (tile->space != NTK_ISA_SPACE_NONE) {
        snprintf(deed->shape, sizeof deed->shape, "%ux%llu", tile->partition_count,
                 (unsigned long long)ntk_isa_operand_partition_elements(tile));
        deed->type = ntk_dtype_name(tile->dtype);
    }
}

static void describe_vendor(const uint8_t *slot, const struct ntk_slot_fact *fact,
                            struct deed *deed)
{
    if (fact->code->has_flops || slot[0] == NTK_NTFF_OPCODE_LDWEIGHTS) {
        snprintf(deed->shape, sizeof deed->shape, "%ux%u", slot[38], slot[39]);
        deed->type = fact->code->has_flops ? ntk_dtype_name(fact->code->dtype) : NULL;
        deed->passes_on = !fact->code->has_flops;
        return;
    }
    if (slot[0] == NTK_NTFF_OPCODE_ACTIVATE) {
        snprintf(deed->op, sizeof deed->op, "ACTIVATE %u", slot[ACTIVATE_FUNCTION]);
    }
    snprintf(deed->shape, sizeof deed->shape, "%ux%llu", ntk_vendor_slot_channels(slot),
             (unsigned long long)(fact->code->sbuf_read_bytes + fact->code->psum_read_bytes));
    deed->passes_on = slot[0] == NTK_NTFF_OPCODE_COPY || slot[0] == NTK_NTFF_OPCODE_CAST;
}

static void describe(const struct ntk_work_words *w, const struct ntk_trace_instruction *of,
                     const struct ntk_slot_fact *fact, struct deed *deed)
{
    const struct ntk_trace *trace = w->program->trace;
    const struct ntk_trace_core *core = &trace->cores[w->core];
    const uint8_t *slot = ntk_ntff_slot_get(core->ntff, of->engine, of->slot);
    struct ntk_isa_instr open;
    char name[16];

    *deed = (struct deed){ .is_transfer = fact->code->is_transfer };
    snprintf(deed->op, sizeof deed->op, "%s", ntk_ntff_opcode_name(of->opcode, name, sizeof name));
    if (fact->code->is_transfer) {
        deed->passes_on = true;
        (void)ntk_hbm_traffic_visit(trace, core, of, add_side, deed);
        return;
    }
    if (fact->code->has_flops) {
        snprintf(deed->op, sizeof deed->op, "%s",
                 fact->code->is_transpose ? "transpose" : "matmul");
        deed->passes_on = fact->code->is_transpose;
    }
    if (ntk_open_slot_decode(core, of, &open)) {
        describe_open(&open, fact, deed);
    } else if (slot && trace->has_chip && ntk_vendor_slot_has_layout(trace->chip.generation)) {
        describe_vendor(slot, fact, deed);
        deed->passes_on = deed->passes_on || (fact->code->has_flops && fact->code->is_transpose);
    }
}

/* ---- words ---- */

static void form_set(struct ntk_work_word *word, unsigned form, const char *text)
{
    word->forms[form] = strdup(text);
}

/* Creates the forms of a transfer. The widest form of scratch is its size, because a store of
 * another tensor is different work. */
static void transfer_forms(const struct deed *deed, struct ntk_work_word *word)
{
    const char *direction = deed->is_store ? "store" : "load";
    const char *kind = deed->var ? ntk_tensor_kind_name(deed->var->type) : "memory";
    bool is_scratch = strcmp(kind, "scratch") == 0;
    char text[512];

    if (deed->var) {
        snprintf(text, sizeof text, "%s %s %s", direction, kind, deed->var->name);
        form_set(word, 0, text);
        snprintf(text, sizeof text, "%s %s of %llu", direction, kind,
                 (unsigned long long)deed->var->bytes_count);
        form_set(word, 1, text);
    } else {
        snprintf(text, sizeof text, "%s memory %llu", direction, (unsigned long long)deed->bytes);
        form_set(word, 0, text);
    }
    if (!is_scratch) {
        snprintf(text, sizeof text, "%s %s", direction, kind);
        form_set(word, 3, text);
    }
}

static void work_forms(const struct deed *deed, const char *sources, struct ntk_work_word *word)
{
    struct ntk_buf text = { 0 };

    for (unsigned form = 0; form < NTK_WORK_FORMS; form++) {
        ntk_buf_reset(&text);
        ntk_buf_add_text(&text, deed->op);
        if (form <= 1) {
            ntk_buf_add_format(&text, " %s", deed->shape);
        }
        if (form == 0 && deed->type) {
            ntk_buf_add_format(&text, " %s", deed->type);
        }
        if (form <= 2 && sources[0]) {
            ntk_buf_add_format(&text, " of %s", sources);
        }
        if (ntk_buf_ok(&text)) {
            form_set(word, form, ntk_buf_text_get(&text));
        }
    }
    ntk_buf_fini(&text);
}

void ntk_work_word_fini(struct ntk_work_word *word)
{
    for (unsigned form = 0; form < NTK_WORK_FORMS; form++) {
        free(word->forms[form]);
    }
}

/* Returns the index in the words; NTK_WORK_NO_WORD if *failed is set. */
static uint32_t word_number(struct ntk_work_words *w, const struct deed *deed, const char *sources,
                            int *failed)
{
    struct ntk_work_word word = { { NULL } };

    if (deed->is_transfer) {
        transfer_forms(deed, &word);
    } else {
        work_forms(deed, sources, &word);
    }
    uintptr_t number = word.forms[0] ? (uintptr_t)ntk_map_get(w->word_numbers, word.forms[0]) : 0;
    if (number) {
        ntk_work_word_fini(&word);
        return (uint32_t)number - 1;
    }
    if (!word.forms[0] || ntk_vec_push(w->words, &word) < 0) {
        ntk_work_word_fini(&word);
        *failed = -ENOMEM;
        return NTK_WORK_NO_WORD;
    }
    if (ntk_map_put(w->word_numbers, word.forms[0], (void *)(uintptr_t)w->words->count) < 0) {
        *failed = -ENOMEM;
    }
    return (uint32_t)w->words->count - 1;
}

/* Returns the source for instructions that read its result. */
static uint32_t output_of(struct ntk_work_words *w, const struct deed *deed, uint32_t sources)
{
    if (deed->is_transfer && !deed->is_store) {
        const char *kind = deed->var ? ntk_tensor_kind_name(deed->var->type) : "memory";
        uintptr_t stored =
            deed->var && deed->var->name ? (uintptr_t)ntk_map_get(&w->tensors, deed->var->name) : 0;
        return stored ? (uint32_t)stored : text_number(w, kind);
    }
    return deed->passes_on ? sources : text_number(w, deed->op);
}

/* Computes the word at the first execution of a slot. */
static uint32_t find(struct ntk_work_words *w, const struct ntk_trace_instruction *of,
                     const struct ntk_slot_fact *fact, int *failed)
{
    struct deed deed;
    uint32_t sources = w->has_accesses ? read_sources(w, of) : UNKNOWN;

    describe(w, of, fact, &deed);
    uint32_t word = word_number(w, &deed, text_of(w, sources), failed);
    uint32_t output = output_of(w, &deed, sources);
    w->outputs[of->engine][of->slot] = output;
    if (deed.is_transfer && deed.is_store && deed.var && deed.var->name && sources) {
        *failed = ntk_map_put(&w->tensors, deed.var->name, (void *)(uintptr_t)sources) < 0
                      ? -ENOMEM
                      : *failed;
    }
    return word;
}

uint32_t ntk_work_words_next(struct ntk_work_words *w, const struct ntk_trace_instruction *of,
                             int *failed)
{
    const struct ntk_slot_fact *fact = ntk_program_fact(w->program, w->core, of);
    uint32_t *known = &w->slots[of->engine][of->slot];

    if (!ntk_fact_is_work(fact, of->opcode)) {
        return NTK_WORK_NO_WORD;
    }
    if (*known == 0) {
        uint32_t word = find(w, of, fact, failed);
        if (word == NTK_WORK_NO_WORD) {
            return word;
        }
        *known = word + 1;
    }
    if (w->has_accesses) {
        write_cells(w, of, w->outputs[of->engine][of->slot]);
        if (of->opcode == NTK_NTFF_OPCODE_LDWEIGHTS) {
            w->stationary = w->outputs[of->engine][of->slot];
        }
    }
    return *known - 1;
}

/* ---- all of it ---- */

struct ntk_work_words *ntk_work_words_create(const struct ntk_program *program, size_t core,
                                             struct ntk_vec *words, struct ntk_map *numbers)
{
    struct ntk_work_words *w = calloc(1, sizeof *w);
    bool is_made = w != NULL;

    if (!w) {
        return NULL;
    }
    w->program = program;
    w->core = core;
    w->words = words;
    w->word_numbers = numbers;
    w->has_accesses = ntk_chip_accesses_init(&w->accesses, program, core) == 0;
    is_made = w->has_accesses;
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT && is_made; s++) {
        w->writers[s] = calloc(w->accesses.cells[s].count + 1, sizeof *w->writers[s]);
        is_made = w->writers[s] != NULL;
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && is_made; e++) {
        const struct ntk_ntff_buffer *buffer = program->trace->cores[core].ntff->engine_buffers[e];
        size_t count = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        w->slots[e] = calloc(count + 1, sizeof *w->slots[e]);
        w->outputs[e] = calloc(count + 1, sizeof *w->outputs[e]);
        is_made = w->slots[e] && w->outputs[e];
    }
    if (!is_made) {
        ntk_work_words_destroy(w);
        return NULL;
    }
    return w;
}

void ntk_work_words_destroy(struct ntk_work_words *w)
{
    if (!w) {
        return;
    }
    if (w->has_accesses) {
        ntk_chip_accesses_fini(&w->accesses);
    }
    for (unsigned s = 0; s < NTK_CHIP_SPACE_COUNT; s++) {
        free(w->writers[s]);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(w->slots[e]);
        free(w->outputs[e]);
    }
    ntk_map_fini(&w->text_numbers);
    ntk_map_fini(&w->tensors);
    free(w);
}
