/* SPDX-License-Identifier: MIT */
/* Method: messages built field by field, framed, and damaged. */
#include "agent/collect/pod_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fake_kubelet.h"
#include "tests/support/unit.h"

#define CORE "aws.amazon.com/neuroncore"
#define DEVICE "aws.amazon.com/neuron"
#define IDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int read_framed(struct ntk_pod_list *list, const struct ntk_buf *framed, struct ntk_err *err)
{
    return ntk_pod_list_read(list, ntk_pod_resource_default_get(), (const uint8_t *)framed->bytes,
                             framed->bytes_count, err);
}

static void assert_rows(const struct ntk_pod_list *list, const char *want)
{
    struct ntk_buf text = { 0 };

    ntk_vec_each(const struct ntk_pod_row, row, &list->rows) {
        ntk_buf_add_format(&text, "%s %u %s/%s/%s\n", row->kind == NTK_POD_CORE ? "core" : "device",
                           row->index, row->namespace_name, row->pod, row->container);
    }
    assert_string_equal(ntk_buf_text_get(&text), want);
    ntk_buf_fini(&text);
}

static void cores_and_devices_of_pods_are_sorted_without_duplicates(void **state)
{
    struct ntk_buf message = { 0 };
    struct ntk_buf framed = { 0 };
    struct ntk_pod_list list = { 0 };

    fake_kubelet_pod(&message, "ml", "train-0", "main", DEVICE, IDS("neuron1", "0"));
    fake_kubelet_pod(&message, "ml", "bert-0", "serve", CORE, IDS("7", "neuroncore-6", "6"));
    fake_kubelet_pod(&message, "web", "nginx", "nginx", "nvidia.com/gpu", IDS("0"));
    fake_kubelet_pod(&message, "ml", "odd", "main", CORE,
                     IDS("", "core", "99999999999", "1024", "7x"));
    fake_kubelet_frame(&framed, &message);
    assert_int_equal(read_framed(&list, &framed, NULL), 0);
    assert_rows(&list, "core 6 ml/bert-0/serve\n"
                       "core 7 ml/bert-0/serve\n"
                       "device 0 ml/train-0/main\n"
                       "device 1 ml/train-0/main\n");
    ntk_pod_list_fini(&list);
    ntk_buf_fini(&framed);
}

static void dynamically_allocated_devices_are_matched_by_driver(void **state)
{
    static const char *const drivers[2][2] = { { "neuron.aws.com", "neuron-device-3" },
                                               { "gpu.nvidia.com", "gpu-4" } };
    struct ntk_buf dynamic = { 0 };
    struct ntk_buf container = { 0 };
    struct ntk_buf pod = { 0 };
    struct ntk_buf message = { 0 };
    struct ntk_buf framed = { 0 };
    struct ntk_pod_list list = { 0 };

    fake_kubelet_field(&dynamic, 2, "claim", 5); /* a name that our reader ignores */
    for (int i = 0; i < 2; i++) {
        struct ntk_buf claim = { 0 };
        fake_kubelet_field(&claim, 2, drivers[i][0], strlen(drivers[i][0]));
        fake_kubelet_field(&claim, 4, drivers[i][1], strlen(drivers[i][1]));
        fake_kubelet_field(&dynamic, 4, claim.bytes, claim.bytes_count);
        ntk_buf_fini(&claim);
    }
    fake_kubelet_field(&container, 1, "main", 4);
    fake_kubelet_field(&container, 5, dynamic.bytes, dynamic.bytes_count);
    fake_kubelet_field(&pod, 1, "dra-0", 5);
    fake_kubelet_field(&pod, 2, "ml", 2);
    fake_kubelet_field(&pod, 3, container.bytes, container.bytes_count);
    fake_kubelet_field(&message, 1, pod.bytes, pod.bytes_count);
    fake_kubelet_frame(&framed, &message);
    assert_int_equal(read_framed(&list, &framed, NULL), 0);
    assert_rows(&list, "device 3 ml/dra-0/main\n");
    ntk_pod_list_fini(&list);
    ntk_buf_fini(&dynamic);
    ntk_buf_fini(&container);
    ntk_buf_fini(&pod);
    ntk_buf_fini(&framed);
}

static void a_configured_resource_of_another_device_plugin_is_read(void **state)
{
    struct ntk_pod_resource table[NTK_POD_RESOURCES_MAX + 1] = { 0 };
    struct ntk_buf message = { 0 };
    struct ntk_buf framed = { 0 };
    struct ntk_pod_list list = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_pod_resource_add(table, "example.com/nc=core", &err), 0);
    fake_kubelet_pod(&message, "ml", "a", "b", "example.com/nc", IDS("3"));
    fake_kubelet_frame(&framed, &message);
    assert_int_equal(
        ntk_pod_list_read(&list, table, (const uint8_t *)framed.bytes, framed.bytes_count, &err),
        0);
    assert_rows(&list, "core 3 ml/a/b\n");
    ntk_pod_list_fini(&list);
    ntk_buf_fini(&framed);

    assert_int_equal(ntk_pod_resource_add(table, "example.com/nc=gpu", &err), -EINVAL);
    assert_string_equal(err.text, "expected NAME=core or NAME=device");
    assert_int_equal(ntk_pod_resource_add(table, "=core", &err), -EINVAL);
    assert_int_equal(ntk_pod_resource_add(table, "core", &err), -EINVAL);
    for (int i = 1; i < NTK_POD_RESOURCES_MAX; i++) {
        assert_int_equal(ntk_pod_resource_add(table, "x/y=device", &err), 0);
    }
    assert_int_equal(ntk_pod_resource_add(table, "x/y=device", &err), -E2BIG);
}

static void an_invalid_pod_list_is_rejected_and_the_old_one_kept(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *sentence;
    } rows[] = {
        { "\0\0\0", 3, "the response ends inside a frame header" },
        { "\1\0\0\0\0", 5, "the response is compressed, although compression was not requested" },
        { "\0\xff\xff\xff\xff", 5, "the response is longer than 4194304 bytes" },
        { "\0\0\0\0\2x", 6, "expected a frame of 2 bytes, received 1" },
        { "\0\0\0\0\0more", 9, "expected a frame of 0 bytes, received 4" },
        { "\0\0\0\0\2\x0a\x7f", 7, "cannot decode the list of pods in the response" },
        { "\0\0\0\0\4\xff\xff\xff\xff", 9, "cannot decode the list of pods in the response" },
    };
    struct ntk_buf message = { 0 };
    struct ntk_buf framed = { 0 };
    struct ntk_pod_list list = { 0 };

    fake_kubelet_pod(&message, "ml", "a", "b", CORE, IDS("0"));
    fake_kubelet_frame(&framed, &message);
    assert_int_equal(read_framed(&list, &framed, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_err err = { 0 };
        assert_int_equal(ntk_pod_list_read(&list, ntk_pod_resource_default_get(),
                                           (const uint8_t *)rows[i].bytes, rows[i].count, &err),
                         -EBADMSG);
        assert_string_equal(err.text, rows[i].sentence);
    }
    /* Every prefix of a valid answer. */
    for (size_t count = 0; count < framed.bytes_count; count++) {
        assert_int_equal(ntk_pod_list_read(&list, ntk_pod_resource_default_get(),
                                           (const uint8_t *)framed.bytes, count, NULL),
                         -EBADMSG);
    }
    assert_rows(&list, "core 0 ml/a/b\n");
    ntk_pod_list_fini(&list);
    ntk_buf_fini(&framed);
}

static void pod_rows_beyond_the_limit_are_omitted(void **state)
{
    struct ntk_buf message = { 0 };
    struct ntk_buf framed = { 0 };
    struct ntk_pod_list list = { 0 };

    for (unsigned i = 0; i < NTK_POD_ROWS_MAX + 100; i++) {
        char pod[32];
        snprintf(pod, sizeof pod, "p%u", i);
        fake_kubelet_pod(&message, "ml", pod, "b", CORE, IDS("0"));
    }
    fake_kubelet_frame(&framed, &message);
    assert_int_equal(read_framed(&list, &framed, NULL), 0);
    assert_int_equal(list.rows.count, NTK_POD_ROWS_MAX);
    ntk_pod_list_fini(&list);
    ntk_buf_fini(&framed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_and_devices_of_pods_are_sorted_without_duplicates),
        cmocka_unit_test(dynamically_allocated_devices_are_matched_by_driver),
        cmocka_unit_test(a_configured_resource_of_another_device_plugin_is_read),
        cmocka_unit_test(an_invalid_pod_list_is_rejected_and_the_old_one_kept),
        cmocka_unit_test(pod_rows_beyond_the_limit_are_omitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
