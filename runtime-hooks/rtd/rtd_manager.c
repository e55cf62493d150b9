/* SPDX-License-Identifier: MIT */
/* rtd_manager - creates and destroys the manager. */
#include "runtime-hooks/rtd/rtd_manager.h"

#include <stdlib.h>

#define WORKERS_MAX 256
#define LOADS_MAX 64
#define CAPTURE_STOPS_MAX 64

int rtd_manager_open(struct rtd_manager *manager, struct ntk_core *core, const struct ntk_err *why,
                     const struct rtd_defaults *defaults, struct ntk_err *err)
{
    *manager =
        (struct rtd_manager){ .defaults = *defaults,
                              .upload_limits = { .neff_bytes_max = defaults->neff_bytes_max } };
    manager->shm_count_max = rtd_shm_count_max_get();
    pthread_mutex_init(&manager->lock, NULL);
    pthread_cond_init(&manager->reap, NULL);
    pthread_cond_init(&manager->reaped, NULL);
    pthread_cond_init(&manager->notified, NULL);
    int ret =
        ntk_rpc_files_create(ntk_rpc_descriptors, ntk_rpc_descriptors_bytes, &manager->files, err);
    if (ret < 0) {
        ntk_core_close(core);
        return ret;
    }
    manager->core = core;
    if (!core) {
        manager->why = *why;
        return 0;
    }
    const struct ntk_core_machine *machine = ntk_core_machine_get(manager->core);
    manager->nc_count = ntk_core_count(manager->core);
    manager->nc_per_device = machine->cores_per_device / ntk_core_lnc(manager->core);
    manager->nc_per_device = manager->nc_per_device ? manager->nc_per_device : 1;
    manager->device_count =
        (manager->nc_count + manager->nc_per_device - 1) / manager->nc_per_device;
    manager->owner_of_nc = calloc(manager->nc_count, sizeof *manager->owner_of_nc);
    manager->metrics = rtd_metrics_create();
    manager->crew = ntk_core_crew_create(WORKERS_MAX);
    manager->loads = manager->crew
                         ? ntk_core_queue_create(manager->crew, LOADS_MAX, NTK_CORE_QUEUE_REFUSES)
                         : NULL;
    manager->capture_stops =
        manager->loads
            ? ntk_core_queue_create(manager->crew, CAPTURE_STOPS_MAX, NTK_CORE_QUEUE_REFUSES)
            : NULL;
    if (!manager->owner_of_nc || !manager->metrics || !manager->capture_stops ||
        pthread_create(&manager->reaper, NULL, rtd_models_reap, manager) != 0) {
        if (manager->capture_stops) {
            ntk_core_queue_destroy(manager->capture_stops);
        }
        if (manager->loads) {
            ntk_core_queue_destroy(manager->loads);
        }
        if (manager->crew) {
            ntk_core_crew_destroy(manager->crew);
        }
        free(manager->owner_of_nc);
        rtd_metrics_destroy(manager->metrics);
        ntk_rpc_files_destroy(manager->files);
        ntk_core_close(manager->core);
        return ntk_err_no_memory(err);
    }
    return 0;
}

void rtd_manager_close(struct rtd_manager *manager)
{
    struct rtd_model *next;

    ntk_rpc_files_destroy(manager->files);
    if (!manager->core) {
        return;
    }
    ntk_core_queue_destroy(manager->loads); /* from now on loaded models are unloaded immediately */
    pthread_mutex_lock(&manager->lock);
    while (manager->sessions) {
        rtd_session_end(manager, manager->sessions->id);
    }
    for (struct rtd_model *model = manager->models; model; model = next) {
        next = model->next;
        if (!model->is_leaving) {
            rtd_model_leave(model, true);
        }
    }
    while (manager->leaving_count > 0) {
        pthread_cond_wait(&manager->reaped, &manager->lock);
    }
    manager->is_ending = true;
    pthread_cond_signal(&manager->reap);
    while (manager->groups) {
        rtd_group_destroy(manager, manager->groups);
    }
    rtd_shm_forget_all(manager);
    pthread_mutex_unlock(&manager->lock);
    pthread_join(manager->reaper, NULL);
    ntk_core_queue_destroy(manager->capture_stops);
    rtd_captures_close(manager);
    ntk_core_crew_destroy(manager->crew);
    free(manager->owner_of_nc);
    rtd_metrics_destroy(manager->metrics);
    ntk_core_close(manager->core);
}
