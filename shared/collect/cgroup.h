/* SPDX-License-Identifier: MIT */
/*
 * cgroup - finds the container of a process from its /proc/<pid>/cgroup.
 *
 * Supports cgroup v1 and v2, the systemd and the cgroupfs driver, containerd, CRI-O, Docker and
 * Podman: docs/formats/kubernetes.md has the forms. A container's id is 64 lower-case hexadecimal
 * digits everywhere. For nested containers, the one that Kubernetes started is reported, else the
 * outermost.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_COLLECT_CGROUP_H
#define NTK_SHARED_COLLECT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CONTAINER_ID_BYTES 65 /* with the NUL */
#define NTK_POD_UID_BYTES 37

struct ntk_cgroup_place {
    char container_id[NTK_CONTAINER_ID_BYTES]; /* "" if none */
    char pod_uid[NTK_POD_UID_BYTES];           /* with dashes as in Kubernetes; "" if none */
};

/* Parses any text into *out; false if it names neither a container nor a pod. */
bool ntk_cgroup_parse(const char *text, size_t text_bytes, struct ntk_cgroup_place *out);
/* Returns true if the characters are a container id. */
bool ntk_cgroup_is_container_id(const char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif
#endif
