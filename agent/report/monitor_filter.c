/* SPDX-License-Identifier: MIT */
/* monitor_filter - compiles a tag_filter: a POSIX extended regular expression, bounded in memory
 * and time. */
#include "agent/report/monitor_filter.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Maximum product of {m,n}: larger products need many megabytes. */
#define REPEAT_MAX 1000

/* Returns the end of the bracket expression that starts at `at`, or of the text. */
static const char *bracket_end(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    at += *at == ']' ? 1 : 0; /* a first ']' is a literal */
    return at + strcspn(at, "]");
}

/* Returns the largest number in the braces that start at *at; moves *at to the closing brace. */
static uint64_t largest_bound(const char **at)
{
    uint64_t largest = 1;

    for (; **at && **at != '}'; (*at)++) {
        if (**at >= '0' && **at <= '9') {
            char *end;
            uint64_t number = strtoull(*at, &end, 10);
            largest = number > largest ? number : largest;
            *at = end - 1;
        }
    }
    return largest;
}

/* Rejects expressions for which regcomp or regexec needs unbounded memory or time. The C library
 * expands repetitions, so nested or consecutive repetitions multiply. */
static int check(const char *pattern, struct ntk_err *err)
{
    uint64_t repeats = 1;
    char before = '\0'; /* kind of the previous token: a literal, ')' or a repetition */

    if (strlen(pattern) > NTK_MONITOR_FILTER_BYTES_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "longer than %d bytes",
                           NTK_MONITOR_FILTER_BYTES_MAX);
    }
    for (const char *at = pattern; *at; at++) {
        char token = *at;
        if (*at == '\\' && at[1]) {
            at++;
            token = 'x';
            if (*at >= '1' && *at <= '9') {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "the back-reference '\\%c' is not supported", *at);
            }
        } else if (*at == '[') {
            at = bracket_end(at);
            token = 'x';
        } else if (strchr("*+?{", *at)) {
            if (before && strchr("*+?{", before)) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "repeating a repetition is not supported");
            }
            uint64_t factor = before == ')' ? 2 : 1;
            uint64_t bound = *at == '{' ? largest_bound(&at) : 1;
            repeats *= bound > REPEAT_MAX ? REPEAT_MAX + 1 : bound > factor ? bound : factor;
            if (repeats > REPEAT_MAX) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "the product of the repetition counts exceeds %d", REPEAT_MAX);
            }
        }
        before = token;
        if (!*at) {
            break;
        }
    }
    return 0;
}

int ntk_monitor_filter_compile(const char *pattern, regex_t *out_regex, struct ntk_err *err)
{
    char text[128];
    int ret = check(pattern, err);

    if (ret < 0) {
        return ret;
    }
    int code = regcomp(out_regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
        return 0;
    }
    regerror(code, out_regex, text, sizeof text);
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "invalid regular expression '%.64s': %s",
                       pattern, text);
}
