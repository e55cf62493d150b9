/* SPDX-License-Identifier: MIT */
/* cnml_model - stores compiled operators and fusions as offline models, for programs that run
 * without this library. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/mlumodel/mlumodel.h"

struct cnmlModel {
    struct ntk_mlumodel_function *functions;
    struct cnml_program **programs; /* programs, which follow */
    uint32_t count;
};

cnmlStatus_t cnmlCreateModel(cnmlModel_t *model, const char *name)
{
    struct cnmlModel *made;

    if (!model || !name) {
        return CNML_STATUS_INVALIDARG;
    }
    made = calloc(1, sizeof *made);
    if (!made) {
        return CNML_STATUS_BADALLOC;
    }
    *model = made;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlDestroyModel(cnmlModel_t model)
{
    if (!model) {
        return CNML_STATUS_INVALIDARG;
    }
    for (uint32_t i = 0; i < model->count; i++) {
        cnml_program_drop(model->programs[i]);
    }
    free(model->functions);
    free(model->programs);
    free(model);
    return CNML_STATUS_SUCCESS;
}

static cnmlStatus_t add(struct cnmlModel *model, struct cnml_program *program, const char *symbol)
{
    size_t count = (size_t)model->count + 1;
    struct ntk_mlumodel_function *functions;
    struct cnml_program **programs;
    size_t bytes = 0;

    symbol = symbol ? symbol : NTK_MLUMODEL_DEFAULT_SYMBOL;
    if (!program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (symbol[0] == '\0' || strlen(symbol) >= NTK_MLUMODEL_SYMBOL_BYTES ||
        count > NTK_MLUMODEL_FUNCTIONS_MAX) {
        return CNML_STATUS_INVALIDARG;
    }
    functions = realloc(model->functions, count * sizeof *functions);
    if (!functions) {
        return CNML_STATUS_BADALLOC;
    }
    model->functions = functions;
    programs = realloc(model->programs, count * sizeof(struct cnml_program *));
    if (!programs) {
        return CNML_STATUS_BADALLOC;
    }
    model->programs = programs;
    programs[count - 1] = cnml_program_hold(program);
    memset(&functions[count - 1], 0, sizeof *functions);
    (void)snprintf(functions[count - 1].symbol, sizeof functions->symbol, "%s", symbol);
    functions[count - 1].program = cnml_program_file(program, &bytes);
    functions[count - 1].program_bytes = bytes;
    functions[count - 1].parallelism = 1;
    model->count++;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlAddBaseOpToModel(cnmlModel_t model, cnmlBaseOp_t op, const char *symbol)
{
    return model && op ? add(model, op->program, symbol) : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnmlAddFusionOpToModel(cnmlModel_t model, cnmlFusionOp_t op, const char *symbol)
{
    return model && op ? add(model, op->program, symbol) : CNML_STATUS_INVALIDARG;
}

static int write_bytes(const struct cnmlModel *model, struct ntk_buf *out)
{
    struct ntk_err err = { 0 };

    return ntk_mlumodel_write(model->functions, model->count, out, &err) < 0
               ? CNML_STATUS_INVALIDARG
               : CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlSaveModel(cnmlModel_t model, const char *file)
{
    struct ntk_buf bytes = { 0 };
    int status = model && file ? write_bytes(model, &bytes) : CNML_STATUS_INVALIDARG;
    FILE *out;

    if (status == CNML_STATUS_SUCCESS) {
        out = fopen(file, "wb");
        if (!out) {
            status = CNML_STATUS_INVALIDARG;
        } else {
            size_t written = fwrite(bytes.bytes, 1, bytes.bytes_count, out);

            if ((fclose(out) != 0) | (written != bytes.bytes_count)) {
                (void)remove(file);
                status = CNML_STATUS_BADALLOC;
            }
        }
    }
    ntk_buf_fini(&bytes);
    return (cnmlStatus_t)status;
}

cnmlStatus_t cnmlSaveModelToMem(cnmlModel_t model, void *memory, uint64_t bytes, uint64_t *size)
{
    struct ntk_buf file = { 0 };
    int status = model && size ? write_bytes(model, &file) : CNML_STATUS_INVALIDARG;

    if (status == CNML_STATUS_SUCCESS) {
        *size = file.bytes_count;
        if (!memory || bytes < file.bytes_count) {
            status = CNML_STATUS_LENGTHERR;
        } else {
            memcpy(memory, file.bytes, file.bytes_count);
        }
    }
    ntk_buf_fini(&file);
    return (cnmlStatus_t)status;
}
