/* SPDX-License-Identifier: MIT */
/* neuron-packager info: prints the header, the nodes and their tensors, as text or JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/packager/packager.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

static bool as_json;
static bool with_weights;
static bool with_sizes;

static const struct ntk_opt options[] = {
    { 'j', "json", 0, NTK_OPT_FLAG, &as_json, "print a JSON object" },
    { 0, "json-output", 0, NTK_OPT_FLAG, &as_json, NULL },
    { 'w', "weights", 0, NTK_OPT_FLAG, &with_weights, "also list the constants" },
    { 's', "sizes", 0, NTK_OPT_FLAG, &with_sizes,
      "also show the memory required to load the NEFF, by kind" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-packager info",
    .usage = "[--json] [-w] [-s] FILE",
    .summary = "Shows the properties and contents of a NEFF.",
    .options = options,
};

struct facts {
    const struct ntk_neff *neff;
    char hash[65];
    char uuid[33];
};

static const char *encoding_text(const struct ntk_neff *neff)
{
    bool any = false;

    if (neff->is_vendor) {
        return "vendor (software cores cannot run it)";
    }
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
                any = any || !neff->kelfs[k].subgraphs[s].engines[e].is_empty;
            }
        }
    }
    return any ? "open" : "empty program";
}

/* Returns the layout of a tensor in tensor_map.json. */
static const char *format_of(const struct ntk_neff *neff, const char *name)
{
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            const struct ntk_neff_subgraph *subgraph = &neff->kelfs[k].subgraphs[s];

            for (uint32_t i = 0; i < subgraph->mapped_count; i++) {
                if (strcmp(subgraph->mapped[i].name, name) == 0) {
                    return subgraph->mapped[i].format;
                }
            }
        }
    }
    return "";
}

static uint64_t tensor_bytes(const struct ntk_neff *neff, const struct ntk_neff_tensor *tensor)
{
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            const struct ntk_neff_var *var =
                ntk_neff_var_by_name(&neff->kelfs[k].subgraphs[s], tensor->name);

            if (var && (var->type == NTK_NEFF_VAR_INPUT || var->type == NTK_NEFF_VAR_OUTPUT)) {
                return var->bytes_count;
            }
        }
    }
    return tensor->bytes_count;
}

/* Returns the user of a node's tensor: the host function, or the first subgraph that reads or
 * writes it, to show stages of a pipeline. */
static const char *owner_of(const struct ntk_neff *neff, const struct ntk_neff_node *node,
                            const char *tensor, enum ntk_neff_var_type type)
{
    if (node->kind != NTK_NEFF_NODE_CORE) {
        return node->func_name;
    }
    const struct ntk_neff_kelf *kelf = &neff->kelfs[node->kelf];
    for (uint32_t s = 0; s < kelf->subgraph_count; s++) {
        const struct ntk_neff_var *var = ntk_neff_var_by_name(&kelf->subgraphs[s], tensor);

        if (var && var->type == type) {
            return kelf->subgraphs[s].name;
        }
    }
    return kelf->subgraphs[0].name;
}

/* A row for a tensor of a node; the callback prints it in its format. */
struct row {
    uint32_t node;
    const char *executor;
    const char *name;
    char variable[300];
    uint64_t bytes_count;
    const char *type;
    const char *format;
    char shape[200];
    const char *dtype;
};

static void shape_text(char *text, size_t text_bytes, uint32_t dim_count, const uint64_t *dims)
{
    size_t used = 0;

    used += (size_t)snprintf(text, text_bytes, "[");
    for (uint32_t i = 0; i < dim_count && used < text_bytes; i++) {
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%" PRIu64, i > 0 ? " " : "",
                                 dims[i]);
    }
    if (used < text_bytes) {
        snprintf(text + used, text_bytes - used, "]");
    }
}

static void visit_tensor(const struct ntk_neff *neff, struct row *row, uint32_t output,
                         const struct ntk_neff_tensor *tensor, const char *type,
                         void (*visit)(const struct row *row, void *ctx), void *ctx)
{
    char clean[256];

    ntk_str_copy_clean(clean, sizeof clean, tensor->name, strlen(tensor->name));
    snprintf(row->variable, sizeof row->variable, "%s:%u", clean, output);
    row->bytes_count = tensor_bytes(neff, tensor);
    row->type = type;
    row->format = format_of(neff, tensor->name);
    row->dtype = tensor->dtype == NTK_DTYPE_NONE ? "unknown" : ntk_dtype_name(tensor->dtype);
    shape_text(row->shape, sizeof row->shape, tensor->dim_count, tensor->dims);
    if (tensor->dtype == NTK_DTYPE_NONE &&
        tensor->dim_count == 0) { /* missing in the file for constants */
        row->dtype = "-";
        snprintf(row->shape, sizeof row->shape, "-");
    }
    visit(row, ctx);
}

static void visit_rows(const struct ntk_neff *neff, void (*visit)(const struct row *row, void *ctx),
                       void *ctx)
{
    uint32_t number = 0;

    for (uint32_t n = 0; n < neff->node_count; n++) {
        const struct ntk_neff_node *node = &neff->nodes[n];
        struct row row = { .node = number };

        if (node->kind != NTK_NEFF_NODE_CORE && node->kind != NTK_NEFF_NODE_CPU) {
            continue;
        }
        number++;
        row.executor = node->kind == NTK_NEFF_NODE_CORE ? "Neuron Core" : "CPU";
        for (uint32_t i = 0; i < node->input_count; i++) {
            const struct ntk_neff_tensor *tensor = ntk_neff_tensor_get(neff, node->inputs[i]);

            row.name = owner_of(neff, node, tensor->name, NTK_NEFF_VAR_INPUT);
            visit_tensor(neff, &row, node->inputs[i].output, tensor, "IN", visit, ctx);
        }
        for (uint32_t i = 0; i < node->output_count; i++) {
            row.name = owner_of(neff, node, node->outputs[i].name, NTK_NEFF_VAR_OUTPUT);
            visit_tensor(neff, &row, i, &node->outputs[i], "OUT", visit, ctx);
        }
        if (!with_weights || node->kind != NTK_NEFF_NODE_CORE) {
            continue;
        }
        for (uint32_t s = 0; s < neff->kelfs[node->kelf].subgraph_count; s++) {
            const struct ntk_neff_subgraph *subgraph = &neff->kelfs[node->kelf].subgraphs[s];

            row.name = subgraph->name;
            for (uint32_t i = 0; i < subgraph->var_count; i++) {
                const struct ntk_neff_var *var = &subgraph->vars[i];
                struct ntk_neff_tensor tensor = { .name = var->name };

                if (var->type == NTK_NEFF_VAR_FILE) {
                    tensor.bytes_count = var->bytes_count;
                    visit_tensor(neff, &row, 0, &tensor, "WEIGHT", visit, ctx);
                }
            }
        }
    }
}

static void print_row(const struct row *row, void *ctx)
{
    char name[256];
    char format[64];

    (void)ctx;
    ntk_str_copy_clean(name, sizeof name, row->name, strlen(row->name));
    ntk_str_copy_clean(format, sizeof format, row->format, strlen(row->format));
    printf("%-4u  %-11s  %-8s  %-20s  %10" PRIu64 "  %-6s  %-6s  %-16s  %-8s  %s\n", row->node,
           row->executor, name, row->variable, row->bytes_count, row->type,
           format[0] ? format : "-", row->shape, row->dtype, "-");
}

static void add_sizes(const struct ntk_neff *neff, struct ntk_neff_sizes *sum)
{
    *sum = (struct ntk_neff_sizes){ 0 };
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            struct ntk_neff_sizes sizes;

            ntk_neff_subgraph_sizes(&neff->kelfs[k].subgraphs[s], &sizes);
            sum->code += sizes.code;
            sum->constants += sizes.constants;
            sum->tables += sizes.tables;
            sum->private_scratch += sizes.private_scratch;
            sum->shared_scratch += sizes.shared_scratch;
            sum->rings_io += sizes.rings_io;
            sum->rings_spill += sizes.rings_spill;
            sum->io += s == 0 ? sizes.io : 0;
        }
    }
}

static void print_line(const char *title, const char *text)
{
    char clean[600];

    ntk_str_copy_clean(clean, sizeof clean, text, strlen(text));
    printf("%-18s %s\n", title, clean);
}

/* Prints the members with names and positions. */
static void print_debug_members(const struct ntk_neff *neff)
{
    bool is_first = true;

    for (uint32_t i = 0; i < neff->member_count; i++) {
        const struct ntk_neff_member *member = &neff->members[i];
        char name[600];

        if (ntk_neff_member_is_debug(member->name)) {
            ntk_str_copy_clean(name, sizeof name, member->name, strlen(member->name));
            printf("%s%10zu  %s\n", is_first ? "\n      Size  For debuggers\n" : "",
                   member->bytes_count, name);
            is_first = false;
        }
    }
}

static void json_debug_members(const struct ntk_neff *neff, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "debug_members");
    for (uint32_t i = 0; i < neff->member_count; i++) {
        if (ntk_neff_member_is_debug(neff->members[i].name)) {
            ntk_json_object_begin(json);
            ntk_json_key_text(json, "name", neff->members[i].name);
            ntk_json_key_u64(json, "size", neff->members[i].bytes_count);
            ntk_json_object_end(json);
        }
    }
    ntk_json_array_end(json);
}

static const char *const hash_texts[] = {
    [NTK_NEFF_HASH_MATCHES] = "yes",
    [NTK_NEFF_HASH_DIFFERS] = "no",
    [NTK_NEFF_HASH_OTHER_KIND] =
        "not checked (a different kind of hash, as stored by vendor compilers)",
};

static void print_text(const struct facts *facts)
{
    const struct ntk_neff *neff = facts->neff;
    const struct ntk_neff_header *header = &neff->header;
    struct ntk_buf features = { 0 };
    uint64_t macs = 0;

    ntk_neff_features_show(&neff->header, &features);
    printf("Package Version:   %" PRIu64 "\n", header->pkg_version);
    printf("Header Size:       %" PRIu64 "\n", header->header_size);
    printf("Data Size:         %" PRIu64 "\n", header->data_size);
    printf("Major version:     %" PRIu64 "\n", header->version_major);
    printf("Minor version:     %" PRIu64 "\n", header->version_minor);
    print_line("Build version:",
               header->build_version[0] ? header->build_version : neff->info.tool_version);
    print_line("Hash:", facts->hash);
    print_line("Hash matches:", hash_texts[facts->neff->hash]);
    print_line("UUID:", facts->uuid);
    print_line("Network Name:", header->name);
    print_line("Enabled Features:", ntk_buf_text_get(&features));
    printf("LNC size:          %u\n", ntk_neff_lnc(header));
    print_line("Target:",
               neff->kelf_count > 0 && neff->kelfs[0].target[0] ? neff->kelfs[0].target : "N/A");
    print_line("Encoding:", encoding_text(neff));
    if (neff->info.nki_version[0]) {
        print_line("NKI version:", neff->info.nki_version);
    }
    if (ntk_neff_model_macs(neff, &macs)) {
        printf("Model operations:  %" PRIu64 "\n", 2 * macs);
    }
    printf("\n");
    printf("%-4s  %-11s  %-8s  %-20s  %10s  %-6s  %-6s  %-16s  %-8s  %s\n", "NODE", "Executor",
           "Name", "Variable", "Size", "Type", "Format", "Shape", "DataType", "TimeSeries");
    visit_rows(neff, print_row, NULL);
    print_debug_members(neff);
    if (with_sizes) {
        struct ntk_neff_sizes sizes;

        add_sizes(neff, &sizes);
        printf("\nModel code:          %" PRIu64 "\n", sizes.code);
        printf("Model constants:     %" PRIu64 "\n", sizes.constants);
        printf("DVE tables:          %" PRIu64 "\n", sizes.tables);
        printf("Private scratchpad:  %" PRIu64 "\n", sizes.private_scratch);
        printf("Shared scratchpad:   %" PRIu64 "\n", sizes.shared_scratch);
        printf("DMA rings, io:       %" PRIu64 "\n", sizes.rings_io);
        printf("DMA rings, spill:    %" PRIu64 "\n", sizes.rings_spill);
        printf("I/O tensors:         %" PRIu64 "\n", sizes.io);
    }
    ntk_buf_fini(&features);
}

static void json_row(const struct row *row, void *ctx)
{
    struct ntk_json *json = ctx;

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "node", row->node);
    ntk_json_key_text(json, "executor", row->executor);
    ntk_json_key_text(json, "name", row->name);
    ntk_json_key_text(json, "variable", row->variable);
    ntk_json_key_u64(json, "size", row->bytes_count);
    ntk_json_key_text(json, "type", row->type);
    ntk_json_key_text(json, "format", row->format);
    ntk_json_key_text(json, "shape", row->shape);
    ntk_json_key_text(json, "data_type", row->dtype);
    ntk_json_object_end(json);
}

static void print_json(const struct facts *facts)
{
    const struct ntk_neff *neff = facts->neff;
    const struct ntk_neff_header *header = &neff->header;
    struct ntk_buf features = { 0 };
    struct ntk_buf buf = { 0 };
    struct ntk_neff_sizes sizes;
    struct ntk_json json;
    uint64_t macs = 0;
    char name[600];

    ntk_neff_features_show(&neff->header, &features);
    add_sizes(neff, &sizes);
    ntk_str_copy_clean(name, sizeof name, header->name, strlen(header->name));
    ntk_json_init(&json, &buf, true);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "package_version", header->pkg_version);
    ntk_json_key_u64(&json, "header_size", header->header_size);
    ntk_json_key_u64(&json, "data_size", header->data_size);
    ntk_json_key_u64(&json, "version_major", header->version_major);
    ntk_json_key_u64(&json, "version_minor", header->version_minor);
    ntk_json_key_text(&json, "build_version",
                      header->build_version[0] ? header->build_version : neff->info.tool_version);
    ntk_json_key_u64(&json, "num_tpb", header->num_tpb);
    ntk_json_key_text(&json, "hash", facts->hash);
    ntk_json_key(&json, "hash_matches");
    if (facts->neff->hash == NTK_NEFF_HASH_OTHER_KIND) {
        ntk_json_null(&json);
    } else {
        ntk_json_bool(&json, facts->neff->hash == NTK_NEFF_HASH_MATCHES);
    }
    ntk_json_key_text(&json, "uuid", facts->uuid);
    ntk_json_key_text(&json, "name", name);
    ntk_json_key_u64(&json, "requested_tpb_count", header->requested_tpb_count);
    ntk_json_key_u64(&json, "feature_bits", header->feature_bits);
    ntk_json_key_text(&json, "enabled_features", ntk_buf_text_get(&features));
    ntk_json_key_u64(&json, "lnc_size", ntk_neff_lnc(header));
    ntk_json_key_text(&json, "target", neff->kelf_count > 0 ? neff->kelfs[0].target : "");
    ntk_json_key_bool(&json, "vendor_encoding", neff->is_vendor);
    if (neff->info.nki_version[0]) {
        ntk_json_key_text(&json, "nki_version", neff->info.nki_version);
    }
    if (ntk_neff_model_macs(neff, &macs)) {
        ntk_json_key_u64(&json, "model_flops", 2 * macs);
    }
    ntk_json_key_array_begin(&json, "tensors");
    visit_rows(neff, json_row, &json);
    ntk_json_array_end(&json);
    ntk_json_key_object_begin(&json, "sizes");
    ntk_json_key_u64(&json, "code", sizes.code);
    ntk_json_key_u64(&json, "constants", sizes.constants);
    ntk_json_key_u64(&json, "dve_tables", sizes.tables);
    ntk_json_key_u64(&json, "private_scratchpad", sizes.private_scratch);
    ntk_json_key_u64(&json, "shared_scratchpad", sizes.shared_scratch);
    ntk_json_key_u64(&json, "dma_rings_io", sizes.rings_io);
    ntk_json_key_u64(&json, "dma_rings_spill", sizes.rings_spill);
    ntk_json_key_u64(&json, "io_tensors", sizes.io);
    ntk_json_object_end(&json);
    json_debug_members(neff, &json);
    ntk_json_object_end(&json);
    printf("%s\n", ntk_buf_text_get(&buf));
    ntk_buf_fini(&features);
    ntk_buf_fini(&buf);
}

int packager_info(int argc, char **argv)
{
    static const struct ntk_neff_open_options wanted = { .check_hash = true,
                                                         .leave_constants = true,
                                                         .leave_code = true };
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    struct facts facts;
    uint8_t *bytes = NULL;
    size_t count = 0;
    int code;
    const char *path = packager_parse_file(&program, argc, argv, &code);
    int ret;

    if (!path) {
        return code;
    }
    ret = ntk_fs_read(path, NTK_NEFF_FILE_BYTES_MAX, &bytes, &count, &err);
    if (ret < 0) {
        return packager_fail(&err);
    }
    ret = ntk_neff_open_with(bytes, count, &wanted, &neff, &err);
    free(bytes);
    if (ret < 0) {
        ntk_neff_close(neff);
        ntk_err_prefix(&err, "%s", path);
        return packager_fail(&err);
    }
    facts.neff = neff;
    ntk_str_hex(facts.hash, neff->header.hash, neff->header.pkg_version == 1 ? 32 : 16);
    ntk_str_hex(facts.uuid, neff->header.uuid, 16);
    if (as_json) {
        print_json(&facts);
    } else {
        print_text(&facts);
    }
    ntk_neff_close(neff);
    if (fflush(stdout) != 0) {
        ntk_err_set(&err, -1, NTK_ERR_NO_OFFSET, "cannot write to stdout");
        return packager_fail(&err);
    }
    return 0;
}
