/* SPDX-License-Identifier: MIT */
/* cnrt_model - offline models (docs/formats/mlu-model.md) and the functions in them. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/cnrt/cnrt_function.h"
#include "runtime-hooks/cnrt/cnrt_public.h"
#include "shared/base/fs.h"
#include "shared/formats/mlumodel/mlumodel.h"
#include "shared/formats/neff/neff.h"

#define PARAM_END ((void *)0xFFFFFFFF)

struct model {
    struct ntk_core_handle handle;
    uint8_t *bytes;
    struct ntk_mlumodel contents;
};

struct function {
    struct ntk_core_handle handle;
    pthread_mutex_t lock;             /* protects the following members */
    struct ntk_cnrt_program *program; /* NULL: nothing was extracted into it */
    int64_t *sizes[2];                /* NULL until requested */
    void *arrays[2];                  /* NULL until requested */
};

static void model_release(struct ntk_core_handle *handle)
{
    struct model *model = (struct model *)handle;

    ntk_mlumodel_fini(&model->contents);
    free(model->bytes);
    model->bytes = NULL;
}

static void function_release(struct ntk_core_handle *handle)
{
    struct function *function = (struct function *)handle;

    cnrt_program_drop(function->program);
    for (size_t i = 0; i < 2; i++) {
        free(function->sizes[i]);
        free(function->arrays[i]);
    }
    pthread_mutex_destroy(&function->lock);
}

static struct ntk_core_handle_pool models = NTK_CORE_HANDLE_POOL_INIT(struct model, model_release);
static struct ntk_core_handle_pool functions =
    NTK_CORE_HANDLE_POOL_INIT(struct function, function_release);

static void drop(struct ntk_core_handle_pool *pool, void *object)
{
    if (object) {
        ntk_core_handle_drop(pool, object);
    }
}

/* --- models ----------------------------------------------------------------------------------- */

/* Reads a bare NEFF as a model with one function. */
static int neff_contents(const uint8_t *bytes, size_t count, struct ntk_mlumodel *out_contents,
                         struct ntk_err *err)
{
    struct ntk_neff_header header;
    int ret = ntk_neff_read_header(bytes, count, &header, err);

    if (ret < 0) {
        return ret;
    }
    out_contents->functions = calloc(1, sizeof *out_contents->functions);
    if (!out_contents->functions) {
        return ntk_err_no_memory(err);
    }
    out_contents->bytes = count;
    out_contents->function_count = 1;
    out_contents->functions[0] = (struct ntk_mlumodel_function){
        .symbol = NTK_MLUMODEL_DEFAULT_SYMBOL,
        .program = bytes,
        .program_bytes = count,
        .parallelism = 1,
    };
    return 0;
}

/* Makes a model, which owns bytes from now on, even on failure. */
static int model_make(uint8_t *bytes, size_t count, struct model **out_model)
{
    struct ntk_mlumodel contents = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_mlumodel_read(bytes, count, &contents, &err);

    if (ret == -EBADMSG && err.offset == 0 && neff_contents(bytes, count, &contents, NULL) == 0) {
        ret = 0;
    }
    if (ret < 0) {
        free(bytes);
        (void)cnrt_front_fail("cnrtLoadModel", ret, &err);
        return ret == -ENOMEM    ? CNRT_ERR_NOMEM
               : ret == -ENOTSUP ? CNRT_ERR_UNSUPPORTED
                                 : CNRT_ERR_INVALID;
    }
    struct model *model = ntk_core_handle_create_hidden(&models);
    if (!model) {
        ntk_mlumodel_fini(&contents);
        free(bytes);
        return CNRT_ERR_NOMEM;
    }
    model->bytes = bytes;
    model->contents = contents;
    ntk_core_handle_show(model);
    *out_model = model;
    return CNRT_OK;
}

static int model_load(cnrtModel_t *out_model, const char *path)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    struct ntk_err err = { 0 };

    if (!out_model || !path) {
        return CNRT_ERR_INVALID;
    }
    int ret = ntk_fs_read(path, NTK_MLUMODEL_BYTES_MAX, &bytes, &count, &err);
    if (ret < 0) {
        return cnrt_front_fail("cnrtLoadModel", ret, &err);
    }
    return model_make(bytes, count, (struct model **)out_model);
}

/* Loads a model from memory; only its header contains the size. */
static int model_load_memory(cnrtModel_t *out_model, const char *from)
{
    uint64_t count = 0;
    struct ntk_err err = { 0 };

    if (!out_model || !from) {
        return CNRT_ERR_INVALID;
    }
    if (ntk_mlumodel_size(from, &count, &err) < 0) {
        (void)cnrt_front_fail("cnrtLoadModelFromMem", -EINVAL, &err);
        return CNRT_ERR_INVALID;
    }
    uint8_t *bytes = malloc(count);
    if (!bytes) {
        return CNRT_ERR_NOMEM;
    }
    memcpy(bytes, from, count);
    return model_make(bytes, count, (struct model **)out_model);
}

static int model_size(const char *path, int *out_size)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    struct ntk_err err = { 0 };
    struct model *model = NULL;

    if (!path || !out_size) {
        return CNRT_ERR_INVALID;
    }
    int ret = ntk_fs_read(path, INT_MAX, &bytes, &count, &err);
    if (ret < 0) {
        return cnrt_front_fail("cnrtGetModelSize", ret, &err);
    }
    int code = model_make(bytes, count, &model);
    if (code == CNRT_OK) {
        *out_size = (int)model->contents.bytes;
        (void)ntk_core_handle_close(&models, model);
    }
    return code;
}

static int model_parallelism(void *pointer, int *out_parallelism)
{
    struct model *model = ntk_core_handle_take(&models, pointer);
    uint32_t most = 0;

    for (uint32_t i = 0; model && i < model->contents.function_count; i++) {
        uint32_t its = model->contents.functions[i].parallelism;

        most = its > most ? its : most;
    }
    if (model && out_parallelism) {
        *out_parallelism = most < INT_MAX ? (int)most : INT_MAX;
    }
    drop(&models, model);
    return model && out_parallelism ? CNRT_OK : CNRT_ERR_INVALID;
}

static int function_number(void *pointer, int *out_count)
{
    struct model *model = ntk_core_handle_take(&models, pointer);

    if (model && out_count) {
        *out_count = (int)model->contents.function_count;
    }
    drop(&models, model);
    return model && out_count ? CNRT_OK : CNRT_ERR_INVALID;
}

/* --- functions -------------------------------------------------------------------------------- */

static struct function *function_take(const void *pointer)
{
    return ntk_core_handle_take(&functions, pointer);
}

static struct function *function_make(struct ntk_cnrt_program *program)
{
    struct function *function = ntk_core_handle_create_hidden(&functions);

    if (function) {
        pthread_mutex_init(&function->lock, NULL);
        function->program = program;
        ntk_core_handle_show(function);
    }
    return function;
}

/* Puts the program into the caller's empty function, or into a new one. */
static int program_give(cnrtFunction_t *inout_function, struct ntk_cnrt_program *program)
{
    struct function *function = function_take(*inout_function);
    bool is_given = false;

    if (function) {
        pthread_mutex_lock(&function->lock);
        is_given = !function->program;
        if (is_given) {
            function->program = program;
        }
        pthread_mutex_unlock(&function->lock);
        drop(&functions, function);
    }
    if (is_given) {
        return CNRT_OK;
    }
    function = function_make(program);
    if (!function) {
        cnrt_program_drop(program);
        return CNRT_ERR_NOMEM;
    }
    *inout_function = (cnrtFunction_t)function;
    return CNRT_OK;
}

static int extract_from(const struct model *model, cnrtFunction_t *inout_function,
                        const char *symbol)
{
    const struct ntk_mlumodel_function *found = ntk_mlumodel_find(&model->contents, symbol);
    struct ntk_cnrt_program *program = NULL;

    if (!found) {
        return CNRT_ERR_NO_EXIST;
    }
    const struct ntk_cnrt_program_options options = { .name = found->symbol,
                                                      .code_bytes = found->program_bytes,
                                                      .file = found->program,
                                                      .file_bytes = found->program_bytes };
    int code = cnrt_program_make(&options, &program);
    return code == CNRT_OK ? program_give(inout_function, program) : code;
}

static int extract(cnrtFunction_t *inout_function, void *pointer, const char *symbol)
{
    struct model *model = ntk_core_handle_take(&models, pointer);
    int code = CNRT_ERR_INVALID;

    if (model && inout_function && symbol) {
        code = extract_from(model, inout_function, symbol);
    }
    drop(&models, model);
    return code;
}

struct ntk_cnrt_program *cnrt_function_program_take(void *pointer)
{
    struct function *function = function_take(pointer);
    struct ntk_cnrt_program *program = NULL;

    if (function) {
        pthread_mutex_lock(&function->lock);
        program = function->program;
        if (program && !cnrt_program_hold(program)) {
            program = NULL;
        }
        pthread_mutex_unlock(&function->lock);
    }
    drop(&functions, function);
    return program;
}

static int copy_function(cnrtFunction_t *out_function, void *from)
{
    struct ntk_cnrt_program *program = cnrt_function_program_take(from);
    cnrtFunction_t none = NULL;

    if (!program || !out_function) {
        cnrt_program_drop(program);
        return CNRT_ERR_INVALID;
    }
    int code = program_give(&none, program);
    if (code == CNRT_OK) {
        *out_function = none;
    }
    return code;
}

static int create_function(cnrtFunction_t *out_function)
{
    if (!out_function) {
        return CNRT_ERR_INVALID;
    }
    struct function *function = function_make(NULL);
    if (!function) {
        return CNRT_ERR_NOMEM;
    }
    *out_function = (cnrtFunction_t)function;
    return CNRT_OK;
}

/* The function's inputs or outputs; the caller holds the lock. */
static const struct ntk_core_io *ios_get(const struct function *function, bool is_output,
                                         size_t *out_count)
{
    size_t count = 0;
    const struct ntk_core_io *ios =
        function->program ? cnrt_program_io_get(function->program, &count) : NULL;
    size_t inputs = 0;

    while (inputs < count && !ios[inputs].is_output) {
        inputs++;
    }
    *out_count = is_output ? count - inputs : inputs;
    return is_output && ios ? ios + inputs : ios;
}

int cnrt_function_array(void *pointer, bool is_output, void **out_array, int *out_count)
{
    struct function *function = out_array && out_count ? function_take(pointer) : NULL;
    int code = CNRT_ERR_INVALID;

    if (function) {
        size_t count = 0;

        pthread_mutex_lock(&function->lock);
        if (ios_get(function, is_output, &count)) {
            void **array = &function->arrays[is_output];

            *array = *array ? *array : calloc(count + 1, CNRT_ELEMENT_BYTES);
            code = *array ? CNRT_OK : CNRT_ERR_NOMEM;
            *out_array = *array;
            *out_count = (int)count;
        }
        pthread_mutex_unlock(&function->lock);
    }
    drop(&functions, function);
    return code;
}

int cnrt_function_sizes(void *pointer, bool is_output, int64_t **out_sizes, int *out_count)
{
    struct function *function = out_sizes && out_count ? function_take(pointer) : NULL;
    int code = CNRT_ERR_INVALID;

    if (function) {
        size_t count = 0;

        pthread_mutex_lock(&function->lock);
        const struct ntk_core_io *ios = ios_get(function, is_output, &count);
        if (ios) {
            int64_t **sizes = &function->sizes[is_output];

            *sizes = *sizes ? *sizes : calloc(count + 1, sizeof **sizes);
            code = *sizes ? CNRT_OK : CNRT_ERR_NOMEM;
            for (size_t i = 0; i < count && *sizes; i++) {
                (*sizes)[i] = (int64_t)ios[i].bytes;
            }
            *out_sizes = *sizes;
            *out_count = (int)count;
        }
        pthread_mutex_unlock(&function->lock);
    }
    drop(&functions, function);
    return code;
}

int cnrt_program_invoke(struct ntk_cnrt_program *program, void **params, uint32_t core_count,
                        void *queue, const struct cnrt_invoke_param *param)
{
    size_t count = 0;
    uint32_t device_cores =
        cnrt_front_device(cnrt_front_current_device())->nc_count * cnrt_cluster_cores();

    (void)cnrt_program_io_get(program, &count);
    if ((!params && count > 0) || core_count == 0 || core_count > device_cores) {
        return CNRT_ERR_INVALID;
    }
    if (param &&
        (param->end != PARAM_END ||
         (param->data_parallelism &&
          (*param->data_parallelism < 1 || (uint32_t)*param->data_parallelism > device_cores)))) {
        return CNRT_ERR_INVALID;
    }
    /* A file contains the number of cores that it needs, those of one cluster. */
    const struct ntk_cnrt_task task = {
        .program = program,
        .params = params,
        .param_count = (uint32_t)count,
        .core_count = cnrt_cluster_cores(),
        .cluster_mask = param && param->affinity ? *param->affinity : 0,
    };
    if (param && param->affinity && *param->affinity == 0) {
        return CNRT_ERR_INVALID; /* no cluster is allowed */
    }
    return cnrt_task_push(queue, &task);
}

int cnrt_function_invoke(void *pointer, void **params, uint32_t core_count, void *queue,
                         const struct cnrt_invoke_param *param)
{
    struct ntk_cnrt_program *program = cnrt_function_program_take(pointer);
    int code = CNRT_ERR_INVALID;

    if (program) {
        code = cnrt_program_invoke(program, params, core_count, queue, param);
    }
    cnrt_program_drop(program);
    return code;
}

int cnrt_function_check(void *pointer, uint32_t core_count)
{
    struct ntk_cnrt_program *program = cnrt_function_program_take(pointer);
    uint32_t device_cores =
        cnrt_front_device(cnrt_front_current_device())->nc_count * cnrt_cluster_cores();
    int code = program && core_count > 0 && core_count <= device_cores ? CNRT_OK : CNRT_ERR_INVALID;

    cnrt_program_drop(program);
    return code;
}

void cnrt_models_close_all(void)
{
    ntk_core_handle_close_all(&functions);
    ntk_core_handle_close_all(&models);
}

void cnrt_models_forget(void)
{
    ntk_core_handle_forget(&functions);
    ntk_core_handle_forget(&models);
}

/* --- public calls ----------------------------------------------------------------------------- */

cnrtRet_t cnrtLoadModel(cnrtModel_t *model, const char *path)
{
    CNRT_INSIDE(model_load(model, path));
}
CNRT_IN_1(LoadModel);

cnrtRet_t cnrtLoadModelFromMem(cnrtModel_t *model, char *bytes)
{
    CNRT_INSIDE(model_load_memory(model, bytes));
}
CNRT_IN_1(LoadModelFromMem);

cnrtRet_t cnrtUnloadModel(cnrtModel_t model)
{
    CNRT_INSIDE(ntk_core_handle_close(&models, model) ? CNRT_OK : CNRT_ERR_INVALID);
}
CNRT_IN_1(UnloadModel);

cnrtRet_t cnrtGetModelSize(const char *path, int *size)
{
    CNRT_INSIDE(model_size(path, size));
}
CNRT_IN_1(GetModelSize);

cnrtRet_t cnrtQueryModelParallelism(cnrtModel_t model, int *parallelism)
{
    CNRT_INSIDE(model_parallelism(model, parallelism));
}

cnrtRet_t cnrtGetFunctionNumber(cnrtModel_t model, int *count)
{
    CNRT_INSIDE(function_number(model, count));
}
CNRT_IN_1(GetFunctionNumber);

cnrtRet_t cnrtCreateFunction(cnrtFunction_t *function)
{
    CNRT_INSIDE(create_function(function));
}
CNRT_IN_1(CreateFunction);

cnrtRet_t cnrtExtractFunction(cnrtFunction_t *function, cnrtModel_t model, const char *symbol)
{
    CNRT_INSIDE(extract(function, model, symbol));
}
CNRT_IN_1(ExtractFunction);

cnrtRet_t cnrtCopyFunction(cnrtFunction_t *dst, cnrtFunction_t src)
{
    CNRT_INSIDE(copy_function(dst, src));
}
CNRT_IN_1(CopyFunction);

cnrtRet_t cnrtDestroyFunction(cnrtFunction_t function)
{
    CNRT_INSIDE(ntk_core_handle_close(&functions, function) ? CNRT_OK : CNRT_ERR_INVALID);
}
CNRT_IN_1(DestroyFunction);

/* --- only in the second generation ----------------------------------------------------------- */

static uint32_t cores_of(cnrtFunctionType_t type)
{
    static const uint32_t cores[] = {
        [CNRT_FUNC_TYPE_BLOCK] = 1,   [CNRT_FUNC_TYPE_UNION1] = 4,  [CNRT_FUNC_TYPE_UNION2] = 8,
        [CNRT_FUNC_TYPE_UNION4] = 16, [CNRT_FUNC_TYPE_UNION8] = 32, [CNRT_FUNC_TYPE_MUTABLE] = 1,
    };

    return (unsigned int)type < sizeof cores / sizeof *cores ? cores[type] : 0;
}

cnrtRet_t cnrtInitFunctionMemory_V2(cnrtFunction_t function, cnrtInitFuncParam_t *param)
{
    CNRT_INSIDE(param && param->end != CNRT_PARAM_END ? CNRT_ERR_INVALID
                                                      : cnrt_function_check(function, 1));
}

cnrtRet_t cnrtInvokeFunction_V2(cnrtFunction_t function, cnrtDim3_t dim, void **params,
                                cnrtFunctionType_t type, cnrtQueue_t queue, void *extra)
{
    (void)dim; /* only for functions written for single tasks, which these are not */
    CNRT_INSIDE(cnrt_function_invoke(function, params, cores_of(type), queue, extra));
}

/* Makes opaque elements: a pointer other than NULL for each input or output. */
static int descs_get(bool is_output, cnrtDataDescArray_t *out_descs, int *out_count,
                     cnrtFunction_t function)
{
    void *array = NULL;
    int code = cnrt_function_array(function, is_output, &array, out_count);

    for (int i = 0; code == CNRT_OK && array && i < *out_count; i++) {
        ((cnrtDataDesc_t *)array)[i] = (cnrtDataDesc_t)(void *)((cnrtDataDesc_t *)array + i);
    }
    if (code == CNRT_OK && out_descs) {
        *out_descs = array;
    }
    return out_descs ? code : CNRT_ERR_INVALID;
}

cnrtRet_t cnrtGetInputDataDesc(cnrtDataDescArray_t *descs, int *count, cnrtFunction_t function)
{
    CNRT_INSIDE(descs_get(false, descs, count, function));
}

cnrtRet_t cnrtGetOutputDataDesc(cnrtDataDescArray_t *descs, int *count, cnrtFunction_t function)
{
    CNRT_INSIDE(descs_get(true, descs, count, function));
}
