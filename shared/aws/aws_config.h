/* SPDX-License-Identifier: MIT */
/*
 * aws_config - one profile out of a shared credentials file or a config file. Pure: bytes in.
 *
 *   ~/.aws/credentials   [name]
 *   ~/.aws/config        [default], [profile name]
 *
 * A line is a section, "key = value", a comment (# or ;, also after a blank), or empty; indented
 * "key = value" lines belong to the key before them and are ignored. Source: "Shared config and
 * credentials files" of the AWS SDKs and Tools Reference Guide. A file with any other line is
 * rejected as a whole.
 *
 * Owner:   ntk_aws_profile_fini() frees; a zeroed struct is an empty profile.
 * Threads: any; plain data.
 */
#ifndef NTK_SHARED_AWS_AWS_CONFIG_H
#define NTK_SHARED_AWS_AWS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_AWS_CONFIG_BYTES_MAX ((size_t)1024 * 1024)
#define NTK_AWS_VALUE_BYTES_MAX ((size_t)16 * 1024)

enum ntk_aws_file { NTK_AWS_FILE_CREDENTIALS, NTK_AWS_FILE_CONFIG };

enum ntk_aws_key {
    NTK_AWS_ACCESS_KEY_ID,
    NTK_AWS_SECRET_ACCESS_KEY,
    NTK_AWS_SESSION_TOKEN,
    NTK_AWS_REGION,
    NTK_AWS_ENDPOINT_URL,
    NTK_AWS_ROLE_ARN,
    NTK_AWS_SOURCE_PROFILE,
    NTK_AWS_CREDENTIAL_SOURCE,
    NTK_AWS_CREDENTIAL_PROCESS,
    NTK_AWS_WEB_IDENTITY_TOKEN_FILE,
    NTK_AWS_ROLE_SESSION_NAME,
    NTK_AWS_EXTERNAL_ID,
    NTK_AWS_DURATION_SECONDS,
    NTK_AWS_MFA_SERIAL,
    /* unsupported keys of profiles with interactive sign-in; the value is the name of the key */
    NTK_AWS_UNSUPPORTED,
    NTK_AWS_KEY_COUNT
};

struct ntk_aws_profile {
    bool is_found;
    char *value[NTK_AWS_KEY_COUNT]; /* NULL if absent, else printable ASCII */
};

/* Reads the values in the section called name. The last value of a duplicate key wins. The profile
 * is emptied first, and stays "not found" when the file lacks that section. -EBADMSG with the line,
 * -ENOMEM. */
int ntk_aws_config_parse(const char *text, size_t bytes_count, enum ntk_aws_file file,
                         const char *name, struct ntk_aws_profile *out_profile,
                         struct ntk_err *err);
/* Same, for a file; an absent file counts as empty. */
int ntk_aws_config_read(const char *path, enum ntk_aws_file file, const char *name,
                        struct ntk_aws_profile *out_profile, struct ntk_err *err);
void ntk_aws_profile_fini(struct ntk_aws_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
