/* SPDX-License-Identifier: MIT */
/* aws_profile - the keys of a profile: plain values, the output of a command, or temporary keys for
 * a role. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_finder.h"
#include "shared/base/str.h"

#define PATH_BYTES 4096
/* Maximum length of a chain of profiles in which each profile gets its role's keys from the
 * next. */
#define DEPTH_MAX 8

/* -- files ------------------------------------------------------------------------------------- */

static const struct {
    const char *variable;
    const char *home_path;
} files[] = {
    [NTK_AWS_FILE_CREDENTIALS] = { "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials" },
    [NTK_AWS_FILE_CONFIG] = { "AWS_CONFIG_FILE", ".aws/config" },
};

/* The path of a file, or "" if there is neither a name nor a home folder. */
static void file_path(const struct ntk_aws_credentials *c, enum ntk_aws_file file,
                      char path[PATH_BYTES])
{
    const char *named = ntk_aws_variable(c, files[file].variable);
    const char *home = ntk_aws_variable(c, "HOME");
    int bytes = 0;

    path[0] = '\0';
    if (named && strncmp(named, "~/", 2) != 0) {
        bytes = snprintf(path, PATH_BYTES, "%s", named);
    } else if (home) {
        bytes =
            snprintf(path, PATH_BYTES, "%s/%s", home, named ? named + 2 : files[file].home_path);
    }
    if (bytes < 0 || bytes >= PATH_BYTES) {
        path[0] = '\0';
    }
}

static const char *profile_name(const struct ntk_aws_credentials *c, bool *out_is_asked)
{
    const char *name = c->asked_profile;

    name = name ? name : ntk_aws_variable(c, "AWS_PROFILE");
    name = name ? name : ntk_aws_variable(c, "AWS_DEFAULT_PROFILE");
    *out_is_asked = name != NULL;
    return name ? name : "default";
}

static int read_profile(const struct ntk_aws_credentials *c, enum ntk_aws_file file,
                        const char *name, struct ntk_aws_profile *out_profile, struct ntk_err *err)
{
    char path[PATH_BYTES];

    memset(out_profile, 0, sizeof *out_profile);
    file_path(c, file, path);
    return path[0] ? ntk_aws_config_read(path, file, name, out_profile, err) : 0;
}

/* The value of the key in either file, the credentials file first. */
int ntk_aws_files_find(const struct ntk_aws_credentials *c, enum ntk_aws_key key, char **out_value,
                       struct ntk_err *err)
{
    bool is_asked;

    *out_value = NULL;
    for (int file = 0; file < 2; file++) {
        struct ntk_aws_profile profile;
        int ret =
            read_profile(c, (enum ntk_aws_file)file, profile_name(c, &is_asked), &profile, err);
        if (ret < 0) {
            return ret;
        }
        *out_value = profile.value[key];
        profile.value[key] = NULL;
        ntk_aws_profile_fini(&profile);
        if (*out_value) {
            break;
        }
    }
    return 0;
}

/* -- one profile: 1 keys found, 0 none, negative error
 * ------------------------------------------ */

/* The sections of one profile in both files. */
struct sections {
    const char *name;
    struct ntk_aws_profile file[2];
};

static const char *value_of(const struct sections *sections, enum ntk_aws_key key)
{
    const char *first = sections->file[NTK_AWS_FILE_CREDENTIALS].value[key];

    return first ? first : sections->file[NTK_AWS_FILE_CONFIG].value[key];
}

static int complain(struct ntk_err *err, const struct sections *sections, const char *what)
{
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "profile '%.100s' %s", sections->name,
                       what);
}

static int static_keys(const struct ntk_aws_profile *profile, const char *path,
                       struct ntk_aws_keys *keys, struct ntk_err *err)
{
    char *const *value = profile->value;

    if (!value[NTK_AWS_ACCESS_KEY_ID]) {
        return 0;
    }
    if (!value[NTK_AWS_SECRET_ACCESS_KEY]) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%.200s: the profile has aws_access_key_id but no aws_secret_access_key",
                           path);
    }
    int ret = ntk_aws_keys_set(keys, value[NTK_AWS_ACCESS_KEY_ID], value[NTK_AWS_SECRET_ACCESS_KEY],
                               value[NTK_AWS_SESSION_TOKEN], err);
    if (ret < 0) {
        ntk_err_prefix(err, "%.200s", path);
    }
    return ret < 0 ? ret : 1;
}

static int process_keys(struct ntk_aws_credentials *c, const struct sections *sections,
                        struct ntk_aws_keys *keys, struct ntk_err *err)
{
    const char *command = value_of(sections, NTK_AWS_CREDENTIAL_PROCESS);
    struct ntk_buf out = { 0 };

    if (!command) {
        return 0;
    }
    int ret = c->world.run(c->world.ctx, command, &out, err);
    ret = ret < 0 ? ret
                  : ntk_aws_keys_from_process(ntk_buf_text_get(&out), out.bytes_count, keys, err);
    if (out.bytes) {
        explicit_bzero(out.bytes, out.bytes_count);
    }
    ntk_buf_fini(&out);
    if (ret < 0) {
        ntk_err_prefix(err, "profile '%.100s'", sections->name);
    }
    return ret < 0 ? ret : 1;
}

static int keys_of(struct ntk_aws_credentials *c, const char *name, unsigned depth,
                   struct ntk_aws_keys *keys, bool *out_is_found, struct ntk_err *err);

static const struct {
    const char *name;
    int (*find)(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys, struct ntk_err *err);
} sources[] = {
    { "Environment", ntk_aws_from_environment },
    { "EcsContainer", ntk_aws_from_container },
    { "Ec2InstanceMetadata", ntk_aws_from_instance },
};

/* Gets the keys that may assume the profile's role. */
static int source_keys(struct ntk_aws_credentials *c, const struct sections *sections,
                       unsigned depth, struct ntk_aws_keys *keys, struct ntk_err *err)
{
    const char *profile = value_of(sections, NTK_AWS_SOURCE_PROFILE);
    const char *source = value_of(sections, NTK_AWS_CREDENTIAL_SOURCE);
    bool is_found = true;
    int ret = 0;

    if (profile && source) {
        return complain(err, sections, "has both source_profile and credential_source");
    }
    if (profile) {
        ret = keys_of(c, profile, depth + 1, keys, &is_found, err);
        return ret ? ret
                   : complain(err, sections,
                              is_found ? "has a source_profile without keys"
                                       : "has a source_profile that does not exist");
    }
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!strcmp(source, sources[i].name)) {
            ret = sources[i].find(c, keys, err);
            return ret ? ret : complain(err, sections, "has a credential_source without keys");
        }
    }
    return complain(err, sections,
                    "has an invalid credential_source: expected Environment, EcsContainer or "
                    "Ec2InstanceMetadata");
}

static int role_keys(struct ntk_aws_credentials *c, const struct sections *sections, unsigned depth,
                     struct ntk_aws_keys *keys, struct ntk_err *err)
{
    const struct ntk_aws_role role = {
        .arn = value_of(sections, NTK_AWS_ROLE_ARN),
        .session_name = value_of(sections, NTK_AWS_ROLE_SESSION_NAME),
        .token_file = value_of(sections, NTK_AWS_WEB_IDENTITY_TOKEN_FILE),
        .external_id = value_of(sections, NTK_AWS_EXTERNAL_ID),
        .duration_seconds = value_of(sections, NTK_AWS_DURATION_SECONDS),
    };
    struct ntk_aws_keys with = { 0 };

    if (!role.arn) {
        return 0;
    }
    if (role.duration_seconds &&
        role.duration_seconds[strspn(role.duration_seconds, "0123456789")]) {
        return complain(err, sections, "has an invalid duration_seconds: expected a number");
    }
    if (value_of(sections, NTK_AWS_MFA_SERIAL)) {
        return complain(
            err, sections,
            "requires a code from an MFA device (mfa_serial), which a service cannot enter");
    }
    if (!value_of(sections, NTK_AWS_SOURCE_PROFILE) &&
        !value_of(sections, NTK_AWS_CREDENTIAL_SOURCE)) {
        return role.token_file
                   ? ntk_aws_from_identity(c, &role, keys, err)
                   : complain(err, sections,
                              "has role_arn without source_profile, credential_source or "
                              "web_identity_token_file");
    }
    int ret = source_keys(c, sections, depth, &with, err);
    ret = ret < 0 ? ret : ntk_aws_from_role(c, &role, &with, keys, err);
    ntk_aws_keys_fini(&with);
    return ret;
}

static int keys_of_sections(struct ntk_aws_credentials *c, const struct sections *sections,
                            unsigned depth, struct ntk_aws_keys *keys, struct ntk_err *err)
{
    const char *unsupported = value_of(sections, NTK_AWS_UNSUPPORTED);
    const char *source = value_of(sections, NTK_AWS_SOURCE_PROFILE);
    char path[PATH_BYTES];
    int ret = 0;

    /* A profile that is its own source has the keys for its role in the same section. */
    if (depth == 0 || !source || strcmp(source, sections->name) != 0) {
        ret = role_keys(c, sections, depth, keys, err);
    }
    for (int file = 0; file < 2 && !ret; file++) {
        file_path(c, (enum ntk_aws_file)file, path);
        ret = static_keys(&sections->file[file], path, keys, err);
    }
    ret = ret ? ret : process_keys(c, sections, keys, err);
    if (!ret && unsupported) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "profile '%.100s' requires an interactive sign-in (%s), which is not "
                           "supported; use a credential_process line to get keys",
                           sections->name, unsupported);
    }
    return ret;
}

static int keys_of(struct ntk_aws_credentials *c, const char *name, unsigned depth,
                   struct ntk_aws_keys *keys, bool *out_is_found, struct ntk_err *err)
{
    struct sections sections = { .name = name };
    int ret = 0;

    if (depth > DEPTH_MAX) {
        return complain(err, &sections, "exceeds the limit on chained source_profile entries");
    }
    for (int file = 0; file < 2 && ret >= 0; file++) {
        ret = read_profile(c, (enum ntk_aws_file)file, name, &sections.file[file], err);
    }
    *out_is_found = sections.file[0].is_found || sections.file[1].is_found;
    ret = ret < 0 ? ret : keys_of_sections(c, &sections, depth, keys, err);
    for (int file = 0; file < 2; file++) {
        ntk_aws_profile_fini(&sections.file[file]);
    }
    return ret;
}

static int complain_unknown(const struct ntk_aws_credentials *c, const char *name,
                            struct ntk_err *err)
{
    char paths[2][PATH_BYTES];

    for (int file = 0; file < 2; file++) {
        file_path(c, (enum ntk_aws_file)file, paths[file]);
        if (!paths[file][0]) {
            ntk_str_copy(paths[file], PATH_BYTES, files[file].variable);
        }
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       "unknown profile '%.100s': it is not in %.150s or %.150s", name, paths[0],
                       paths[1]);
}

int ntk_aws_from_files(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                       struct ntk_err *err)
{
    bool is_found;
    bool is_asked;
    const char *name = profile_name(c, &is_asked);

    int ret = keys_of(c, name, 0, keys, &is_found, err);
    return ret == 0 && is_asked && !is_found ? complain_unknown(c, name, err) : ret;
}

int ntk_aws_files_check(const struct ntk_aws_credentials *c, struct ntk_err *err)
{
    bool is_asked;
    bool is_found = false;
    const char *name = profile_name(c, &is_asked);

    for (int file = 0; is_asked && !is_found && file < 2; file++) {
        struct ntk_aws_profile profile;
        int ret = read_profile(c, (enum ntk_aws_file)file, name, &profile, err);
        if (ret < 0) {
            return ret;
        }
        is_found = profile.is_found;
        ntk_aws_profile_fini(&profile);
    }
    return is_asked && !is_found ? complain_unknown(c, name, err) : 0;
}
