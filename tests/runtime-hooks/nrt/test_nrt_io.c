/* SPDX-License-Identifier: MIT */
/* Method: a library of counters with calls that fail one after another; everything that was created
 * is freed. */
#include "runtime-hooks/nrt/nrt_io.h"

#include <string.h>

#include "tests/support/unit.h"

static int calls_left; /* until a call fails */
static int infos, sets, tensors;
static int in_set[2];

static nrt_tensor_info_array_t *array;
static nrt_tensor_set_t *const set_handles[2] = { (void *)0x10, (void *)0x20 };

static NRT_STATUS next(void)
{
    return calls_left-- == 0 ? NRT_FAILURE : NRT_SUCCESS;
}

static NRT_STATUS get_info(nrt_model_t *model, nrt_tensor_info_array_t **out)
{
    (void)model;
    if (next() != NRT_SUCCESS) {
        return NRT_FAILURE;
    }
    infos++;
    *out = array;
    return NRT_SUCCESS;
}

static NRT_STATUS free_info(nrt_tensor_info_array_t *info)
{
    assert_ptr_equal(info, array);
    infos--;
    return NRT_SUCCESS;
}

static NRT_STATUS set_make(nrt_tensor_set_t **out)
{
    if (next() != NRT_SUCCESS) {
        return NRT_FAILURE;
    }
    *out = set_handles[sets++];
    return NRT_SUCCESS;
}

static void set_destroy(nrt_tensor_set_t **set)
{
    *set = NULL;
    sets--;
}

static NRT_STATUS tensor_make(nrt_tensor_placement_t placement, int core, size_t size,
                              const char *name, nrt_tensor_t **out)
{
    (void)placement;
    (void)name;
    assert_int_equal(core, 5);
    assert_int_equal(size, 64);
    if (next() != NRT_SUCCESS) {
        return NRT_RESOURCE;
    }
    tensors++;
    *out = (void *)0x1000;
    return NRT_SUCCESS;
}

static void tensor_free(nrt_tensor_t **tensor)
{
    *tensor = NULL;
    tensors--;
}

static NRT_STATUS add(nrt_tensor_set_t *set, const char *name, nrt_tensor_t *tensor)
{
    (void)name;
    assert_non_null(tensor);
    if (next() != NRT_SUCCESS) {
        return NRT_FAILURE;
    }
    in_set[set == set_handles[NTK_NRT_IO_WRITTEN]]++;
    return NRT_SUCCESS;
}

static NRT_STATUS make(const struct ntk_nrt *nrt, struct ntk_nrt_io *io, const char **out_call)
{
    NRT_STATUS status = ntk_nrt_io_open(nrt, NULL, io, out_call);

    for (size_t i = 0; status == NRT_SUCCESS && i < io->infos->tensor_count; i++) {
        status = ntk_nrt_io_add(nrt, io, i, 5, out_call);
    }
    return status;
}

static void a_failed_tensor_setup_leaks_no_resources(void **state)
{
    static const char *const calls[] = {
        "nrt_get_model_tensor_info",    "nrt_allocate_tensor_set",      "nrt_allocate_tensor_set",
        "nrt_tensor_allocate",          "nrt_add_tensor_to_tensor_set", "nrt_tensor_allocate",
        "nrt_add_tensor_to_tensor_set",
    };
    const struct ntk_nrt nrt = { .nrt_get_model_tensor_info = get_info,
                                 .nrt_free_model_tensor_info = free_info,
                                 .nrt_allocate_tensor_set = set_make,
                                 .nrt_destroy_tensor_set = set_destroy,
                                 .nrt_tensor_allocate = tensor_make,
                                 .nrt_tensor_free = tensor_free,
                                 .nrt_add_tensor_to_tensor_set = add };
    int count = (int)(sizeof calls / sizeof *calls);

    (void)state;
    array = calloc(1, sizeof *array + 2 * sizeof(nrt_tensor_info_t));
    assert_non_null(array);
    array->tensor_count = 2;
    for (int i = 0; i < 2; i++) {
        array->tensor_array[i].size = 64;
        array->tensor_array[i].usage = i == 0 ? NRT_TENSOR_USAGE_OUTPUT : NRT_TENSOR_USAGE_INPUT;
    }
    for (int fails = 0; fails <= count; fails++) {
        struct ntk_nrt_io io = { 0 };
        const char *call = "";

        memset(in_set, 0, sizeof in_set);
        calls_left = fails;
        NRT_STATUS status = make(&nrt, &io, &call);
        assert_int_equal(status == NRT_SUCCESS, fails == count);
        if (fails < count) {
            assert_string_equal(call, calls[fails]);
        } else {
            assert_int_equal(in_set[NTK_NRT_IO_READ], 1);
            assert_int_equal(in_set[NTK_NRT_IO_WRITTEN], 1);
        }
        ntk_nrt_io_close(&nrt, &io);
        assert_int_equal(infos + sets + tensors, 0);
    }
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_tensor_setup_leaks_no_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
