/* SPDX-License-Identifier: MIT */
/* rtd_groups - creates groups of cores, from the first sequence of free cores that is long
 * enough. */
#include <stdlib.h>

#include "runtime-hooks/rtd/rtd_manager.h"

struct rtd_group *rtd_group_find(struct rtd_manager *manager, uint32_t id)
{
    struct rtd_group *group = manager->groups;

    while (group && group->id != id) {
        group = group->next;
    }
    return group;
}

/* Sets *out_first to the first free sequence of this length, or to the longest sequence for 0;
 * returns the longest length. */
static uint32_t run_find(const struct rtd_manager *manager, uint32_t count, uint32_t *out_first)
{
    uint32_t longest = 0;
    bool is_found = false;

    for (uint32_t i = 0; i < manager->nc_count;) {
        uint32_t end = i;

        while (end < manager->nc_count && manager->owner_of_nc[end] == 0) {
            end++;
        }
        if ((count == 0 && end - i > longest) || (count > 0 && end - i >= count && !is_found)) {
            *out_first = i;
            is_found = true;
        }
        longest = end - i > longest ? end - i : longest;
        i = end + 1;
    }
    return longest;
}

struct rtd_group *rtd_group_create(struct rtd_manager *manager, uint32_t count, uint64_t session,
                                   uint32_t *out_longest)
{
    uint32_t first = 0;
    uint32_t longest = run_find(manager, count, &first);
    struct rtd_group **last = &manager->groups;

    *out_longest = longest;
    count = count ? count : longest;
    struct rtd_group *group = count > 0 && count <= longest ? calloc(1, sizeof *group) : NULL;
    if (!group) {
        return NULL;
    }
    *group = (struct rtd_group){
        .id = ++manager->last_group, .first = first, .count = count, .session = session
    };
    for (uint32_t i = first; i < first + count; i++) {
        manager->owner_of_nc[i] = group->id;
    }
    while (*last) {
        last = &(*last)->next;
    }
    *last = group;
    return group;
}

void rtd_group_destroy(struct rtd_manager *manager, struct rtd_group *group)
{
    struct rtd_group **at = &manager->groups;

    while (*at != group) {
        at = &(*at)->next;
    }
    *at = group->next;
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        manager->owner_of_nc[i] = 0;
    }
    free(group);
}

void rtd_group_take_back(struct rtd_manager *manager, uint32_t id)
{
    struct rtd_group *group = rtd_group_find(manager, id);

    if (group && group->model_count == 0) {
        rtd_group_destroy(manager, group);
    }
}

/* ---- methods ---- */

void rtd_create_eg(struct rtd_manager *manager, struct ntk_rpc_call *call,
                   const ProtobufCMessage *message)
{
    const Nrt__CreateEgRequest *asked = (const void *)message;
    Nrt__CreateEgResponse reply = NRT__CREATE_EG_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    Nrt__HEg handle = NRT__H_EG__INIT;
    uint32_t longest;

    if (!rtd_session_is_known(manager, asked->session_id)) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find session: %llu",
                   (unsigned long long)asked->session_id);
        return;
    }
    if (asked->nc_count > manager->nc_count) {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE_NC,
                   "Requested number of NCs: %u exceeds the total available number: %u",
                   asked->nc_count, manager->nc_count);
        return;
    }
    struct rtd_group *group =
        rtd_group_create(manager, asked->nc_count, asked->session_id, &longest);
    if (!group) {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE_NC,
                   "Insufficient number of VNCs: %u, required: %u", longest,
                   asked->nc_count ? asked->nc_count : 1);
        return;
    }
    handle.id = group->id;
    rtd_gift(call, RTD_GIFT_GROUP, group->id);
    reply.status = &status;
    reply.h_eg = &handle;
    reply.nc_count = group->count;
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}

void rtd_destroy_eg(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    const Nrt__DestroyEgRequest *asked = (const void *)message;
    uint32_t id = asked->h_eg ? asked->h_eg->id : 0;
    struct rtd_group *group = rtd_group_find(manager, id);

    if (!group) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find EG: %u", id);
    } else if (group->is_implicit) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "implicit EG");
    } else if (group->model_count > 0) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "EG has loaded models");
    } else {
        rtd_group_destroy(manager, group);
        rtd_good(call);
    }
}

void rtd_list_egs(struct rtd_manager *manager, struct ntk_rpc_call *call,
                  const ProtobufCMessage *message)
{
    Nrt__OutListEgs reply = NRT__OUT_LIST_EGS__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    Nrt__EgInfo *infos = calloc(manager->nc_count + 1, sizeof *infos);
    Nrt__EgInfo **rows = calloc(manager->nc_count + 1, sizeof *rows);
    Nrt__HEg *handles = calloc(manager->nc_count + 1, sizeof *handles);

    (void)message;
    for (struct rtd_group *group = manager->groups; group && infos && rows && handles;
         group = group->next) {
        size_t i = reply.n_eg_info++;

        nrt__h_eg__init(&handles[i]);
        handles[i].id = group->id;
        nrt__eg_info__init(&infos[i]);
        infos[i].eg = &handles[i];
        infos[i].vnc_start_index = group->first;
        infos[i].nc_count = group->count;
        infos[i].mla_start_index = group->first / manager->nc_per_device;
        infos[i].nc_start_index = group->first % manager->nc_per_device;
        rows[i] = &infos[i];
    }
    reply.eg_info = rows;
    reply.mla_count = manager->device_count;
    reply.nc_count = manager->nc_count;
    reply.status = &status;
    if (infos && rows && handles) {
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    free(infos);
    free(rows);
    free(handles);
}

/* This call has no effect: random numbers are seeded at the start of the daemon. */
void rtd_random_seed(struct rtd_manager *manager, struct ntk_rpc_call *call,
                     const ProtobufCMessage *message)
{
    const Nrt__RandomSeedRequest *asked = (const void *)message;
    uint32_t id = asked->h_eg ? asked->h_eg->id : 0;

    if (rtd_group_find(manager, id)) {
        rtd_good(call);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find EG: %u", id);
    }
}
