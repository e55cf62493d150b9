/* SPDX-License-Identifier: MIT */
/* pods - reads the folder once for all new containers. */
#include "top/source/pods.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

#define SUFFIX ".log"
/* Maximum number of searches. The link is created shortly after the container; if it is still
 * missing, the container does not belong to a kubelet. */
#define LOOKS_MAX 30
#define NAME_BYTES 256 /* longer than any name of a pod, a namespace or a container */

struct pod {
    unsigned int looks;
    char name[NAME_BYTES]; /* "" if not found */
    char namespace_name[NAME_BYTES];
    char container[NAME_BYTES];
};

void ntk_top_pods_init(struct ntk_top_pods *pods, const char *folder)
{
    *pods = (struct ntk_top_pods){ .folder = folder };
}

void ntk_top_pods_fini(struct ntk_top_pods *pods)
{
    ntk_map_each(entry, &pods->by_container) {
        free(entry->value);
    }
    ntk_map_fini(&pods->by_container);
}

/* Takes a name of the form POD_NAMESPACE_CONTAINER-ID.log; none of the three contains an
 * underscore. */
static void take_name(struct ntk_top_pods *pods, const char *file)
{
    size_t bytes = strlen(file);
    const char *first = strchr(file, '_');
    const char *second = first ? strchr(first + 1, '_') : NULL;
    const char *dash = strrchr(file, '-');
    char id[NAME_BYTES];
    struct pod *pod;

    if (bytes >= NAME_BYTES || bytes < sizeof SUFFIX ||
        strcmp(file + bytes - (sizeof SUFFIX - 1), SUFFIX) != 0 || !second || !dash ||
        dash < second) {
        return;
    }
    ntk_str_copy_clean(id, sizeof id, dash + 1,
                       (size_t)(file + bytes - (sizeof SUFFIX - 1) - dash - 1));
    pod = ntk_map_get(&pods->by_container, id);
    if (pod && !pod->name[0]) {
        ntk_str_copy_clean(pod->name, sizeof pod->name, file, (size_t)(first - file));
        ntk_str_copy_clean(pod->namespace_name, sizeof pod->namespace_name, first + 1,
                           (size_t)(second - first - 1));
        ntk_str_copy_clean(pod->container, sizeof pod->container, second + 1,
                           (size_t)(dash - second - 1));
    }
}

static void look(struct ntk_top_pods *pods)
{
    DIR *dir = opendir(pods->folder);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        take_name(pods, entry->d_name);
    }
    if (dir) {
        closedir(dir);
    }
}

/* Returns the entry of a container, created at its first use. NULL if the table is full. */
static struct pod *pod_of(struct ntk_top_pods *pods, const char *container)
{
    struct pod *pod = ntk_map_get(&pods->by_container, container);

    if (pod || pods->by_container.count >= NTK_TOP_PODS_MAX) {
        return pod;
    }
    pod = calloc(1, sizeof *pod);
    if (pod && ntk_map_put(&pods->by_container, container, pod) < 0) {
        free(pod);
        pod = NULL;
    }
    return pod;
}

void ntk_top_pods_fill(struct ntk_top_pods *pods, struct ntk_snapshot *snapshot)
{
    bool is_wanted = false;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        struct pod *pod = runtime->container_id[0] && !runtime->pod.name[0]
                              ? pod_of(pods, runtime->container_id)
                              : NULL;

        if (pod && !pod->name[0] && pod->looks < LOOKS_MAX) {
            pod->looks++;
            is_wanted = true;
        }
    }
    if (is_wanted) {
        look(pods);
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        const struct pod *pod = runtime->container_id[0] && !runtime->pod.name[0]
                                    ? ntk_map_get(&pods->by_container, runtime->container_id)
                                    : NULL;

        if (pod && pod->name[0]) {
            runtime->pod = (struct ntk_pod){ ntk_snapshot_text(snapshot, pod->name),
                                             ntk_snapshot_text(snapshot, pod->namespace_name),
                                             ntk_snapshot_text(snapshot, pod->container) };
        }
    }
}
