/* SPDX-License-Identifier: MIT */
/* cgroup paths of every runtime and driver become container and pod; paths that only look like them
 * do not. */
#include <stdio.h>
#include <string.h>

#include "shared/collect/cgroup.h"
#include "tests/support/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_2 "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define POD "3d6f4a2e-8b1c-4f6d-9a3e-1b2c3d4e5f60"
#define POD_SYSTEMD "3d6f4a2e_8b1c_4f6d_9a3e_1b2c3d4e5f60"
#define POD_FILE "3d6f4a2e8b1c4f6d9a3e1b2c3d4e5f60"

static const struct {
    const char *text;
    const char *container;
    const char *pod;
} rows[] = {
    /* cgroupfs driver, v1 and v2 */
    { "12:memory:/kubepods/burstable/pod" POD "/" ID "\n1:name=systemd:/\n", ID, POD },
    { "0::/kubepods/pod" POD "/" ID "\n", ID, POD },
    { "0::/kubelet/kubepods/besteffort/pod" POD_FILE "/" ID "\n", ID, POD_FILE },
    /* systemd driver: containerd, CRI-O, Docker */
    { "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_SYSTEMD
      ".slice/cri-containerd-" ID ".scope\n",
      ID, POD },
    { "0::/kubepods.slice/kubepods-pod" POD_SYSTEMD ".slice/crio-" ID ".scope", ID, POD },
    { "4:cpu,cpuacct:/kubepods.slice/kubepods-pod" POD_SYSTEMD ".slice/docker-" ID ".scope\n", ID,
      POD },
    { "0::/kubepods.slice/kubepods-pod" POD_SYSTEMD ".slice/crio-" ID ".scope/container\n", ID,
      POD },
    /* containerd configured with the other driver */
    { "3:pids:/system.slice/containerd.service/kubepods-burstable-pod" POD_SYSTEMD
      ".slice:cri-containerd:" ID "\n",
      ID, POD },
    /* seen from another cgroup namespace */
    { "0::/../../pod" POD "/" ID "\n", ID, POD },
    { "0::/../cri-containerd-" ID ".scope\n", ID, "" },
    /* without Kubernetes */
    { "0::/system.slice/docker-" ID ".scope\n", ID, "" },
    { "2:cpu:/docker/" ID "\n", ID, "" },
    { "0::/machine.slice/libpod-" ID ".scope/container\n", ID, "" },
    { "2:cpu:/ecs/task-1/" ID "\n", ID, "" },
    /* nested containers: that of Kubernetes, otherwise the outermost */
    { "0::/docker/" ID_2 "/kubelet/kubepods/pod" POD "/" ID "\n", ID, POD },
    { "0::/kubepods/pod" POD "/" ID "/docker/" ID_2 "\n", ID, POD },
    { "0::/docker/" ID "/docker/" ID_2 "\n", ID, "" },
    /* one line contains more than another */
    { "2:cpu:/docker/" ID_2 "\n1:memory:/kubepods/pod" POD "/" ID "\n", ID, POD },
    { "2:cpu:/kubepods/pod" POD "\n1:memory:/docker/" ID "\n", ID, "" },
    /* a pod without a container: its pause */
    { "0::/kubepods/pod" POD "\n", "", POD },
    /* neither */
    { "", "", "" },
    { "0::/\n", "", "" },
    { "0::/user.slice/user-1000.slice/session-1.scope\n", "", "" },
    { "0::/kubepods.slice/kubepods-pod" POD_SYSTEMD ".slice/crio-conmon-" ID ".scope\n", "", POD },
    { "0::/docker/" ID "0\n", "", "" }, /* 65 digits */
    { "0::/docker/x" ID "\n", "", "" }, /* attached to other text */
    { "0::/docker/0123456789abcdef\n", "", "" },
    { "0::/tripod" POD "/x\n", "", "" },
    { "0::/pod3d6f4a2e-8b1c-4f6d-9a3e-1b2c3d4e5f6g/x\n", "", "" },
    { "0::/pod3d6f4a2e-8b1c-4f6d-9a3e/x\n", "", "" },
    { "0:/docker/" ID "\n", "", "" }, /* a field is missing */
    { ID "\n::::\n:\n", "", "" },
    { "0::" ID, ID, "" },
    { "0::/.slice/.scope/pod/-pod/pod.slice\n", "", "" },
};

static void container_and_pod_are_found_in_every_cgroup_path_form(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_cgroup_place place;
        bool any = ntk_cgroup_parse(rows[i].text, strlen(rows[i].text), &place);

        if (strcmp(place.container_id, rows[i].container) != 0 ||
            strcmp(place.pod_uid, rows[i].pod) != 0) {
            fail_msg("%s gives container '%s' and pod '%s'", rows[i].text, place.container_id,
                     place.pod_uid);
        }
        assert_int_equal(any, rows[i].container[0] || rows[i].pod[0]);
    }
}

/* Every prefix of every form: no byte is read beyond the end (asan checks), and no id is invented.
 * */
static void a_truncated_cgroup_path_yields_no_wrong_id(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t bytes = 0; bytes <= strlen(rows[i].text); bytes++) {
            struct ntk_cgroup_place place;
            char *text = test_malloc(bytes + 1);

            memcpy(text, rows[i].text, bytes);
            ntk_cgroup_parse(text, bytes, &place);
            assert_true(place.container_id[0] == '\0' ||
                        ntk_cgroup_is_container_id(place.container_id, strlen(place.container_id)));
            assert_true(place.pod_uid[0] == '\0' || !strcmp(place.pod_uid, POD) ||
                        !strcmp(place.pod_uid, POD_FILE));
            test_free(text);
        }
    }
}

static void non_text_bytes_in_a_cgroup_file_are_skipped(void **state)
{
    static const char text[] = "0::/a\0b/" ID "/\xff\xfe\n0::/\0" ID "\n";
    struct ntk_cgroup_place place;

    assert_true(ntk_cgroup_parse(text, sizeof text - 1, &place));
    assert_string_equal(place.container_id, ID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(container_and_pod_are_found_in_every_cgroup_path_form),
        cmocka_unit_test(a_truncated_cgroup_path_yields_no_wrong_id),
        cmocka_unit_test(non_text_bytes_in_a_cgroup_file_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
