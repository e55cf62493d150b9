/* SPDX-License-Identifier: MIT */
#include "shared/ring/ring_known.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/base/clock.h"

#define KEY_BYTES 128

static const char *key_of(char key[KEY_BYTES], const struct ring_file *file)
{
    (void)snprintf(key, KEY_BYTES, "%" PRIx64 "-%" PRIx64 "-%s", file->device, file->inode,
                   file->name);
    return key;
}

static void free_file(struct ring_known_file *file)
{
    if (file != NULL) {
        if (file->fd >= 0) {
            close(file->fd);
        }
        free(file->reason);
        free(file);
    }
}

void ntk_ring_known_fini(struct ring_known *known)
{
    ntk_map_each(file, &known->files) {
        free_file(file->value);
    }
    ntk_map_each(user, &known->users) {
        free(user->value);
    }
    ntk_map_fini(&known->files);
    ntk_map_fini(&known->users);
}

struct ring_known_file *ntk_ring_known_get(const struct ring_known *known,
                                           const struct ring_file *file)
{
    char key[KEY_BYTES];

    return ntk_map_get(&known->files, key_of(key, file));
}

struct ring_known_file *ntk_ring_known_add(struct ring_known *known, const struct ring_file *file)
{
    struct ring_user *user = ntk_ring_known_user(known, file->uid);
    struct ring_known_file *added;
    char key[KEY_BYTES];

    ntk_ring_known_remove(known, file);
    if (user == NULL || user->known >= RING_USER_KNOWN) {
        return NULL;
    }
    added = calloc(1, sizeof *added);
    if (added == NULL || ntk_map_put(&known->files, key_of(key, file), added) < 0) {
        free(added);
        return NULL;
    }
    added->uid = file->uid;
    added->fd = -1;
    user->known++;
    return added;
}

static void forget(struct ring_known *known, const char *key)
{
    struct ring_known_file *file = ntk_map_remove(&known->files, key);

    if (file != NULL) {
        struct ring_user *user = ntk_ring_known_user(known, file->uid);

        if (user != NULL) {
            user->known--;
        }
        free_file(file);
    }
}

void ntk_ring_known_remove(struct ring_known *known, const struct ring_file *file)
{
    char key[KEY_BYTES];

    forget(known, key_of(key, file));
}

void ntk_ring_known_forget_unseen(struct ring_known *known, uint64_t folder_device,
                                  uint64_t folder_inode, uint64_t pass)
{
    for (size_t i = known->files.count; i-- > 0;) {
        const struct ntk_map_entry *entry = &known->files.entries[i];
        const struct ring_known_file *file = entry->value;

        if (file->folder_inode == folder_inode && file->folder_device == folder_device &&
            file->seen_in_pass < pass) {
            char key[KEY_BYTES];

            (void)snprintf(key, sizeof key, "%s", entry->key);
            forget(known, key);
        }
    }
}

struct ring_user *ntk_ring_known_user(struct ring_known *known, uint32_t uid)
{
    struct ring_user *user = ntk_map_get_number(&known->users, uid);

    if (user == NULL) {
        user = calloc(1, sizeof *user);
        if (user != NULL && ntk_map_put_number(&known->users, uid, user) < 0) {
            free(user);
            return NULL;
        }
        if (user != NULL) {
            user->opens = RING_USER_OPENS;
        }
    }
    return user;
}

bool ntk_ring_user_may_open(struct ring_user *user, uint64_t now_ns)
{
    if (user->refilled_ns != 0) {
        user->opens += (double)(now_ns - user->refilled_ns) / (double)NTK_NS_PER_SECOND *
                       RING_USER_OPENS_PER_SECOND;
        user->opens = user->opens < RING_USER_OPENS ? user->opens : RING_USER_OPENS;
    }
    user->refilled_ns = now_ns;
    if (user->opens < 1) {
        return false;
    }
    user->opens--;
    return true;
}
