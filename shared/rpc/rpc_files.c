/* SPDX-License-Identifier: MIT */
#include "shared/rpc/rpc_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/vec.h"
#include "shared/rpc/rpc_files.pb-c.h"
#include "shared/rpc/rpc_message.h"

#define NESTING_MAX 16

struct symbol {
    char *name;
    size_t file; /* index of the file */
    bool is_message;
};

struct ntk_rpc_files {
    Ntk__RpcFiles__Set *set;
    Ntk__RpcFiles__File **parsed; /* indexed like the other arrays */
    struct ntk_rpc_file *files;
    const struct ntk_rpc_file ***imports;
    size_t count;
    struct ntk_vec symbols; /* elements are struct symbol */
};

/* ---- definitions in a file ---- */

static const char *join(char **out, const char *scope, const char *name)
{
    return *out = asprintf(out, "%s%s%s", scope, *scope ? "." : "", name) < 0 ? NULL : *out;
}

/* Adds a definition and returns its full name, which the table owns; NULL if out of memory. */
static const char *symbol_add(struct ntk_rpc_files *files, size_t file, const char *scope,
                              const char *name, bool is_message)
{
    struct symbol symbol = { .file = file, .is_message = is_message };

    if (!join(&symbol.name, scope, name)) {
        return NULL;
    }
    if (ntk_vec_push(&files->symbols, &symbol) < 0) {
        free(symbol.name);
        return NULL;
    }
    return symbol.name;
}

static bool named_add(struct ntk_rpc_files *files, size_t file, const char *scope,
                      Ntk__RpcFiles__Named *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!symbol_add(files, file, scope, names[i]->name, false)) {
            return false;
        }
    }
    return true;
}

/* Adds enumerations with their values, which are siblings of the enumeration, as in C. */
static bool enums_add(struct ntk_rpc_files *files, size_t file, const char *scope,
                      Ntk__RpcFiles__Enumeration *const *enums, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!symbol_add(files, file, scope, enums[i]->name, false) ||
            !named_add(files, file, scope, enums[i]->value, enums[i]->n_value)) {
            return false;
        }
    }
    return true;
}

static bool types_add(struct ntk_rpc_files *files, size_t file, const char *scope,
                      Ntk__RpcFiles__Type *const *types, size_t count, unsigned depth)
{
    for (size_t i = 0; i < count && depth < NESTING_MAX; i++) {
        const Ntk__RpcFiles__Type *type = types[i];
        const char *name = symbol_add(files, file, scope, type->name, true);

        if (!name || !named_add(files, file, name, type->field, type->n_field) ||
            !named_add(files, file, name, type->oneof_decl, type->n_oneof_decl) ||
            !enums_add(files, file, name, type->enum_type, type->n_enum_type) ||
            !types_add(files, file, name, type->nested_type, type->n_nested_type, depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool symbols_add(struct ntk_rpc_files *files, size_t index)
{
    const Ntk__RpcFiles__File *file = files->parsed[index];

    for (size_t i = 0; i < file->n_service; i++) {
        const Ntk__RpcFiles__Service *service = file->service[i];
        const char *name = symbol_add(files, index, file->package, service->name, false);

        if (!name || !named_add(files, index, name, service->method, service->n_method)) {
            return false;
        }
    }
    return types_add(files, index, file->package, file->message_type, file->n_message_type, 0) &&
           enums_add(files, index, file->package, file->enum_type, file->n_enum_type);
}

/* ---- files ---- */

static int file_add(struct ntk_rpc_files *files, size_t index, struct ntk_err *err)
{
    const ProtobufCBinaryData *bytes = &files->set->file[index];
    ProtobufCMessage *message;

    if (ntk_rpc_unpack(&ntk__rpc_files__file__descriptor, bytes->data, bytes->len, &message) !=
        NTK_RPC_MESSAGE_GOOD) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "file %zu: invalid descriptor", index);
    }
    Ntk__RpcFiles__File *file = (Ntk__RpcFiles__File *)message;
    files->parsed[index] = file;
    files->count = index + 1;
    files->imports[index] = calloc(file->n_dependency + 1, sizeof **files->imports);
    if (!files->imports[index] || !symbols_add(files, index)) {
        return ntk_err_no_memory(err);
    }
    for (size_t i = 0; i < file->n_dependency; i++) {
        const struct ntk_rpc_file *import = ntk_rpc_files_find(files, file->dependency[i]);

        if (!import || import == &files->files[index]) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "%.200s imports %.200s, which must come before it", file->name,
                               file->dependency[i]);
        }
        files->imports[index][i] = import;
    }
    files->files[index] = (struct ntk_rpc_file){ .name = file->name,
                                                 .bytes = bytes->data,
                                                 .bytes_count = bytes->len,
                                                 .imports = files->imports[index],
                                                 .import_count = file->n_dependency };
    return 0;
}

int ntk_rpc_files_create(const uint8_t *set, size_t set_bytes, struct ntk_rpc_files **out_files,
                         struct ntk_err *err)
{
    struct ntk_rpc_files *files = calloc(1, sizeof *files);
    ProtobufCMessage *message = NULL;
    int ret = 0;

    if (!files) {
        return ntk_err_no_memory(err);
    }
    ntk_vec_init(&files->symbols, sizeof(struct symbol));
    if (ntk_rpc_unpack(&ntk__rpc_files__set__descriptor, set, set_bytes, &message) !=
        NTK_RPC_MESSAGE_GOOD) {
        ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "invalid descriptor set");
        goto out;
    }
    files->set = (Ntk__RpcFiles__Set *)message;
    files->parsed = calloc(files->set->n_file + 1, sizeof *files->parsed);
    files->files = calloc(files->set->n_file + 1, sizeof *files->files);
    files->imports = calloc(files->set->n_file + 1, sizeof *files->imports);
    if (!files->parsed || !files->files || !files->imports) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < files->set->n_file && ret == 0; i++) {
        ret = file_add(files, i, err);
    }
    if (ret == 0) {
        *out_files = files;
        files = NULL;
    }

out:
    ntk_rpc_files_destroy(files);
    return ret;
}

void ntk_rpc_files_destroy(struct ntk_rpc_files *files)
{
    if (!files) {
        return;
    }
    for (size_t i = 0; i < files->count; i++) {
        protobuf_c_message_free_unpacked(&files->parsed[i]->base, NULL);
        free(
            files->imports[i]); /* NOLINT(*NullDereference): none is counted before all are there */
    }
    ntk_vec_each(struct symbol, symbol, &files->symbols) {
        free(symbol->name);
    }
    ntk_vec_fini(&files->symbols);
    free(files->parsed);
    free(files->files);
    free(files->imports);
    if (files->set) {
        protobuf_c_message_free_unpacked(&files->set->base, NULL);
    }
    free(files);
}

/* ---- queries ---- */

const struct ntk_rpc_file *ntk_rpc_files_find(const struct ntk_rpc_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->parsed[i]->name, name) == 0) {
            return &files->files[i];
        }
    }
    return NULL;
}

static const struct symbol *symbol_find(const struct ntk_rpc_files *files, const char *name)
{
    ntk_vec_each(struct symbol, symbol, &files->symbols) {
        if (strcmp(symbol->name, name) == 0) {
            return symbol;
        }
    }
    return NULL;
}

const struct ntk_rpc_file *ntk_rpc_files_of(const struct ntk_rpc_files *files, const char *symbol)
{
    const struct symbol *found = symbol_find(files, symbol);

    return found ? &files->files[found->file] : NULL;
}

bool ntk_rpc_files_has_message(const struct ntk_rpc_files *files, const char *symbol)
{
    const struct symbol *found = symbol_find(files, symbol);

    return found && found->is_message;
}

size_t ntk_rpc_files_count(const struct ntk_rpc_files *files)
{
    return files->count;
}

size_t ntk_rpc_files_needed(const struct ntk_rpc_files *files, const struct ntk_rpc_file *file,
                            const struct ntk_rpc_file **out_files)
{
    size_t count = 1;

    out_files[0] = file;
    /* Imports precede the file, so cycles are impossible; each file is checked once. */
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < out_files[i]->import_count; k++) {
            const struct ntk_rpc_file *import = out_files[i]->imports[k];
            size_t at = 0;

            while (at < count && out_files[at] != import) {
                at++;
            }
            if (at == count && count < files->count) {
                out_files[count++] = import;
            }
        }
    }
    return count;
}
