/* SPDX-License-Identifier: MIT */
/* neff_kernel - reads the tree node by node, because its members may be larger than the memory
 * limit. */
#include "shared/formats/neff/neff_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/str.h"
#include "shared/formats/neff/json_scan.h"

#define TEXT_BYTES_MAX ((size_t)4096) /* limit after which texts are truncated */
#define TEXT_COST 64                  /* memory for a text in addition to its bytes */
#define NUMBER_DIGITS_MAX 18
#define MEMBER_BYTES_MAX (UINT64_C(4) << 30) /* limit for all members together */
static const char list_name[] = "kernel_debug_info.json";

struct tree_reader {
    struct ntk_neff_kernel *kernel;
    struct ntk_json_scan scan;
    struct ntk_buf key, value;
    uint64_t memory_left;
    uint64_t text_bytes;
    uint64_t bytes_left; /* bytes of members that may still be read */
    uint32_t tree;
    int depth;
    int failed; /* 0 or -ENOMEM */
    struct ntk_map loops;
};

/* The parents of a node. */
struct place {
    uint32_t function, iteration;
};

static void give_up(struct tree_reader *r)
{
    r->failed = -ENOMEM;
    (void)ntk_json_scan_fail(&r->scan, "out of memory");
}

/* Stores the clean text once; "" if out of memory. */
static const char *keep(struct tree_reader *r, const char *text, size_t bytes)
{
    char clean[TEXT_BYTES_MAX + 4];

    ntk_str_copy_clean(clean, sizeof clean, text, bytes < TEXT_BYTES_MAX ? bytes : TEXT_BYTES_MAX);
    const char *known = ntk_map_get(&r->kernel->texts, clean);
    if (known) {
        return known;
    }
    if (ntk_map_put(&r->kernel->texts, clean, r) < 0) {
        give_up(r);
        return "";
    }
    struct ntk_map_entry *entry = &r->kernel->texts.entries[r->kernel->texts.count - 1];
    entry->value = entry->key;
    r->text_bytes += strlen(entry->key) + TEXT_COST;
    return entry->key;
}

/* Compares the last key with the text, which must be a literal. */
#define KEY_IS(r, text)                          \
    ((r)->key.bytes_count == sizeof(text) - 1 && \
     memcmp((r)->key.bytes, text, sizeof(text) - 1) == 0)

static const char *read_text(struct tree_reader *r)
{
    if (!ntk_json_scan_text(&r->scan, &r->value)) {
        return "";
    }
    return keep(r, ntk_buf_text_get(&r->value), r->value.bytes_count);
}

static void read_line(struct tree_reader *r, uint32_t *out)
{
    uint64_t line;

    if (ntk_json_scan_u64(&r->scan, UINT32_MAX, &line)) {
        *out = (uint32_t)line;
    }
}

/* Adds a row; NULL if there are too many. */
static void *add_node(struct tree_reader *r, struct ntk_vec *rows)
{
    const struct ntk_neff_kernel *kernel = r->kernel;
    size_t count = kernel->functions.count + kernel->iterations.count + kernel->instructions.count;
    uint64_t bytes = r->text_bytes + kernel->functions.count * sizeof(struct ntk_neff_function) +
                     kernel->iterations.count * sizeof(struct ntk_neff_iteration) +
                     kernel->instructions.count * sizeof(struct ntk_neff_kernel_instruction) +
                     kernel->loops.count * (sizeof(struct ntk_neff_loop) + TEXT_COST);

    if (count == NTK_NEFF_KERNEL_NODES_MAX) {
        (void)ntk_json_scan_fail(&r->scan, "more than 16777216 nodes");
        return NULL;
    }
    if (bytes > r->memory_left / 2) { /* half, because rows grow by doubling */
        (void)ntk_json_scan_fail(&r->scan, "exceeds " NTK_NEFF_MEMORY_TEXT);
        return NULL;
    }
    void *row = ntk_vec_add(rows);
    if (!row) {
        give_up(r);
    }
    return row;
}

bool ntk_neff_kernel_number(const char *name, uint64_t *out_number)
{
    static const char begin[] = "inst.";
    const char *digit = name + sizeof begin - 1;
    uint64_t number = 0;

    if (strncmp(name, begin, sizeof begin - 1) != 0 || *digit < '0' || *digit > '9' ||
        (*digit == '0' && digit[1] >= '0' && digit[1] <= '9')) {
        return false;
    }
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (digit - name > 5 + NUMBER_DIGITS_MAX) {
            return false;
        }
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    *out_number = number;
    return *digit == '\0' || *digit == '-';
}

static bool is_whole_number(const char *text)
{
    char again[32];
    int64_t value;

    return ntk_str_parse_i64(text, &value) == 0 &&
           snprintf(again, sizeof again, "%lld", (long long)value) > 0 && strcmp(again, text) == 0;
}

static void read_instruction(struct tree_reader *r, struct place at)
{
    struct ntk_neff_kernel_instruction *to = add_node(r, &r->kernel->instructions);
    uint64_t number;

    if (!to) {
        return;
    }
    to->number = UINT64_MAX;
    to->name = "";
    for (bool first = true; ntk_json_scan_key(&r->scan, &first, &r->key);) {
        if (KEY_IS(r, "name")) {
            if (ntk_json_scan_text(&r->scan, &r->value)) {
                const char *name = ntk_buf_text_get(&r->value);
                bool is_plain = ntk_neff_kernel_number(name, &number) && !strchr(name, '-');
                to->number = is_plain ? number : UINT64_MAX;
                to->name = is_plain ? NULL : keep(r, name, r->value.bytes_count);
            }
        } else if (KEY_IS(r, "line")) {
            read_line(r, &to->line);
        } else {
            (void)ntk_json_scan_skip(&r->scan);
        }
    }
    to->function = at.function;
    to->iteration = at.iteration;
    to->tree = r->tree;
}

static void read_nodes(struct tree_reader *r, struct place at);

static void read_children(struct tree_reader *r, struct place at)
{
    if (r->depth == NTK_NEFF_KERNEL_DEPTH_MAX) {
        (void)ntk_json_scan_fail(&r->scan, "nodes are nested more than 64 levels deep");
        return;
    }
    r->depth++;
    read_nodes(r, at);
    r->depth--;
}

static void read_function(struct tree_reader *r, struct place at)
{
    struct ntk_neff_function one = { .name = "", .file = "", .parent = at.function };
    size_t index = r->kernel->functions.count;

    if (!add_node(r, &r->kernel->functions)) {
        return;
    }
    const struct ntk_neff_function *all = r->kernel->functions.items;
    one.depth = at.function ? all[at.function - 1].depth + 1 : 0;
    one.tree = r->tree;
    *(struct ntk_neff_function *)ntk_vec_at(&r->kernel->functions, index) = one;
    at.function = (uint32_t)index + 1;
    for (bool first = true; ntk_json_scan_key(&r->scan, &first, &r->key);) {
        if (KEY_IS(r, "name")) {
            one.name = read_text(r);
        } else if (KEY_IS(r, "file")) {
            one.file = read_text(r);
        } else if (KEY_IS(r, "line")) {
            read_line(r, &one.line);
        } else if (KEY_IS(r, "children")) {
            read_children(r, at);
        } else {
            (void)ntk_json_scan_skip(&r->scan);
        }
    }
    *(struct ntk_neff_function *)ntk_vec_at(&r->kernel->functions, index) = one;
}

static void read_iteration(struct tree_reader *r, struct place at)
{
    struct ntk_neff_iteration one = { .variable = "", .text = "" };
    size_t index = r->kernel->iterations.count;

    if (!add_node(r, &r->kernel->iterations)) {
        return;
    }
    const struct ntk_neff_iteration *all = r->kernel->iterations.items;
    one.parent = at.iteration;
    one.function = at.function;
    one.depth = at.iteration ? all[at.iteration - 1].depth + 1 : 0;
    one.tree = r->tree;
    *(struct ntk_neff_iteration *)ntk_vec_at(&r->kernel->iterations, index) = one;
    at.iteration = (uint32_t)index + 1;
    for (bool first = true; ntk_json_scan_key(&r->scan, &first, &r->key);) {
        if (KEY_IS(r, "var")) {
            one.variable = read_text(r);
        } else if (KEY_IS(r, "val")) {
            if (ntk_json_scan_is(&r->scan, '{') || ntk_json_scan_is(&r->scan, '[')) {
                (void)ntk_json_scan_skip(&r->scan);
            } else if (ntk_json_scan_scalar(&r->scan, &r->value)) {
                const char *text = ntk_buf_text_get(&r->value);
                bool is_integer = is_whole_number(text);
                one.text = is_integer ? NULL : keep(r, text, r->value.bytes_count);
                one.value = 0;
                (void)(is_integer && ntk_str_parse_i64(text, &one.value));
            }
        } else if (KEY_IS(r, "line")) {
            read_line(r, &one.line);
        } else if (KEY_IS(r, "children")) {
            read_children(r, at);
        } else {
            (void)ntk_json_scan_skip(&r->scan);
        }
    }
    *(struct ntk_neff_iteration *)ntk_vec_at(&r->kernel->iterations, index) = one;
}

/* Reads nodes; unknown kinds are skipped. */
static void read_nodes(struct tree_reader *r, struct place at)
{
    for (bool first = true; ntk_json_scan_item(&r->scan, &first);) {
        for (bool is_first = true; ntk_json_scan_key(&r->scan, &is_first, &r->key);) {
            if (KEY_IS(r, "inst")) {
                read_instruction(r, at);
            } else if (KEY_IS(r, "iter")) {
                read_iteration(r, at);
            } else if (KEY_IS(r, "func")) {
                read_function(r, at);
            } else {
                (void)ntk_json_scan_skip(&r->scan);
            }
        }
    }
}

/* ---- loops ---- */

/* Finds or adds the loop of an iteration. The enclosing iteration was handled before. */
static void find_loop(struct tree_reader *r, struct ntk_neff_iteration *iteration)
{
    const struct ntk_neff_kernel *kernel = r->kernel;
    const struct ntk_neff_iteration *iterations = kernel->iterations.items;
    const struct ntk_neff_function *function =
        iteration->function
            ? (const struct ntk_neff_function *)kernel->functions.items + iteration->function - 1
            : NULL;
    uint32_t parent = iteration->parent ? iterations[iteration->parent - 1].loop + 1 : 0;

    ntk_buf_reset(&r->key); /* texts are stored once, so pointers identify them */
    ntk_buf_add_format(&r->key, "%x/%p/%p/%p/%x", parent,
                       (const void *)(function ? function->name : ""),
                       (const void *)(function ? function->file : ""),
                       (const void *)iteration->variable, iteration->line);
    uintptr_t known = (uintptr_t)ntk_map_get(&r->loops, ntk_buf_text_get(&r->key));
    if (!known) {
        struct ntk_neff_loop *loop = ntk_vec_add(&r->kernel->loops);
        known = r->kernel->loops.count;
        if (!loop || !ntk_buf_ok(&r->key) ||
            ntk_map_put(&r->loops, ntk_buf_text_get(&r->key), (void *)known) < 0) {
            give_up(r);
            return;
        }
        *loop = (struct ntk_neff_loop){ .variable = iteration->variable,
                                        .function = function ? function->name : "",
                                        .file = function ? function->file : "",
                                        .line = iteration->line,
                                        .parent = parent,
                                        .depth = iteration->depth };
    }
    iteration->loop = (uint32_t)known - 1;
}

/* ---- members ---- */

/* The state before a member, restored if the member is damaged. */
struct mark {
    size_t trees, functions, iterations, instructions, loops;
};

static int finish_member(struct tree_reader *r, const char *name, const struct mark *mark,
                         ntk_neff_warn *warn, void *ctx)
{
    struct ntk_neff_kernel *kernel = r->kernel;
    char text[NTK_ERR_TEXT_BYTES];
    struct ntk_err err = { 0 };

    if (!ntk_buf_ok(&r->key) || !ntk_buf_ok(&r->value)) {
        give_up(r);
    }
    if (!r->scan.error || r->failed) {
        return r->failed;
    }
    kernel->trees.count = mark->trees;
    kernel->functions.count = mark->functions;
    kernel->iterations.count = mark->iterations;
    kernel->instructions.count = mark->instructions;
    kernel->loops.count = mark->loops;
    (void)ntk_err_set(&err, -EBADMSG, r->scan.error_position, "%s: %s", name, r->scan.error);
    return warn(ctx, ntk_err_format(&err, text, sizeof text));
}

static void begin(struct tree_reader *r, const struct ntk_neff_member *member)
{
    r->scan = (struct ntk_json_scan){ .bytes = member->bytes, .count = member->bytes_count };
    r->depth = 0;
}

/* entry: file, kernel and Penguin id of the tree. */
static int read_tree(struct tree_reader *r, const struct ntk_neff *neff,
                     const struct ntk_neff_kernel_tree *entry, ntk_neff_warn *warn, void *ctx)
{
    struct ntk_neff_kernel *kernel = r->kernel;
    const struct ntk_neff_member *member = ntk_neff_member_get(neff, entry->member);
    struct mark mark = { kernel->trees.count, kernel->functions.count, kernel->iterations.count,
                         kernel->instructions.count, kernel->loops.count };
    struct ntk_err err = { 0 };

    if (!member || !member->bytes) {
        (void)ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET,
                          member ? "%s does not fit in free memory"
                                 : "%s refers to the missing member '%s'",
                          member ? entry->member : list_name, entry->member);
        return warn(ctx, err.text);
    }
    begin(r, member);
    if (member->bytes_count > r->bytes_left) { /* a list may name the same member many times */
        (void)ntk_json_scan_fail(&r->scan, "the members of the list exceed 4 GiB");
    }
    r->bytes_left -= r->scan.error ? 0 : member->bytes_count;
    for (bool first = true; ntk_json_scan_item(&r->scan, &first);) {
        r->tree = (uint32_t)kernel->trees.count;
        if (ntk_vec_push(&kernel->trees, entry) < 0) {
            give_up(r);
        }
        for (bool is_first = true; ntk_json_scan_key(&r->scan, &is_first, &r->key);) {
            if (strcmp(ntk_buf_text_get(&r->key), "info") == 0) {
                read_nodes(r, (struct place){ 0, 0 });
            } else {
                (void)ntk_json_scan_skip(&r->scan);
            }
        }
        if (kernel->trees.count - mark.trees > NTK_NEFF_KERNEL_FILES_MAX) {
            (void)ntk_json_scan_fail(&r->scan, "more than 65536 entries");
        }
    }
    (void)ntk_json_scan_end(&r->scan);
    for (size_t i = mark.iterations; !r->scan.error && i < kernel->iterations.count; i++) {
        find_loop(r, ntk_vec_at(&kernel->iterations, i));
    }
    return finish_member(r, entry->member, &mark, warn, ctx);
}

/* Reads the entries of kernel_debug_info.json. */
static void read_list(struct tree_reader *r, struct ntk_vec *entries)
{
    for (bool first = true; ntk_json_scan_key(&r->scan, &first, &r->key);) {
        if (strcmp(ntk_buf_text_get(&r->key), "debug_info_files") != 0) {
            (void)ntk_json_scan_skip(&r->scan);
            continue;
        }
        for (bool is_first = true; ntk_json_scan_item(&r->scan, &is_first);) {
            struct ntk_neff_kernel_tree one = { .member = "", .kernel = "" };
            for (bool is_key = true; ntk_json_scan_key(&r->scan, &is_key, &r->key);) {
                const char *key = ntk_buf_text_get(&r->key);
                if (strcmp(key, "file_name") == 0) {
                    one.member = read_text(r);
                } else if (strcmp(key, "kernel_name") == 0) {
                    one.kernel = read_text(r);
                } else if (strcmp(key, "parent_tensorizer_id") == 0) {
                    (void)ntk_json_scan_u64(&r->scan, (UINT64_C(1) << 48) - 1, &one.penguin_id);
                } else {
                    (void)ntk_json_scan_skip(&r->scan);
                }
            }
            one.file = (uint32_t)entries->count;
            if (entries->count == NTK_NEFF_KERNEL_FILES_MAX) {
                (void)ntk_json_scan_fail(&r->scan, "more than 65536 files");
            } else if (ntk_vec_push(entries, &one) < 0) {
                give_up(r);
            }
        }
    }
    (void)ntk_json_scan_end(&r->scan);
}

int ntk_neff_kernel_read(const struct ntk_neff *neff, uint64_t memory_bytes, ntk_neff_warn *warn,
                         void *ctx, struct ntk_neff_kernel *out_kernel)
{
    const struct ntk_neff_member *list =
        neff->member_count ? ntk_neff_member_get(neff, list_name) : NULL;
    struct tree_reader r = { .kernel = out_kernel,
                             .memory_left = memory_bytes,
                             .bytes_left = MEMBER_BYTES_MAX };
    struct ntk_vec entries = NTK_VEC_INIT(struct ntk_neff_kernel_tree);
    struct mark none = { 0 };

    *out_kernel = (struct ntk_neff_kernel){
        .trees = NTK_VEC_INIT(struct ntk_neff_kernel_tree),
        .functions = NTK_VEC_INIT(struct ntk_neff_function),
        .iterations = NTK_VEC_INIT(struct ntk_neff_iteration),
        .instructions = NTK_VEC_INIT(struct ntk_neff_kernel_instruction),
        .loops = NTK_VEC_INIT(struct ntk_neff_loop),
    };
    if (!list || !list->bytes) {
        return 0;
    }
    begin(&r, list);
    read_list(&r, &entries);
    if (r.scan.error) {
        ntk_vec_clear(&entries);
    }
    int ret = finish_member(&r, list_name, &none, warn, ctx);
    ntk_vec_each(struct ntk_neff_kernel_tree, entry, &entries) {
        ret = ret < 0 ? ret : read_tree(&r, neff, entry, warn, ctx);
    }
    ntk_vec_fini(&entries);
    ntk_map_fini(&r.loops);
    ntk_buf_fini(&r.key);
    ntk_buf_fini(&r.value);
    if (ret < 0) {
        ntk_neff_kernel_fini(out_kernel);
    }
    return ret;
}

void ntk_neff_kernel_fini(struct ntk_neff_kernel *kernel)
{
    ntk_vec_fini(&kernel->trees);
    ntk_vec_fini(&kernel->functions);
    ntk_vec_fini(&kernel->iterations);
    ntk_vec_fini(&kernel->instructions);
    ntk_vec_fini(&kernel->loops);
    ntk_map_fini(&kernel->texts);
}
