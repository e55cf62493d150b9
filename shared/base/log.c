/* SPDX-License-Identifier: MIT */
/* log - formats a line and writes it to stderr or to the sink. */
#include "shared/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/err.h"
#include "shared/base/quiet.h"
#include "shared/base/str.h"
#include "shared/base/url.h"

#define LINE_BYTES 1024

/* syslog's numbers, which the journal reads at the start of a line (sd-daemon(3)). */
static const char *const priorities[] = {
    [NTK_LOG_ERROR] = "<3>", [NTK_LOG_WARN] = "<4>",  [NTK_LOG_INFO] = "<6>",
    [NTK_LOG_DEBUG] = "<7>", [NTK_LOG_TRACE] = "<7>",
};

static const char *program_name = "neuron-toolkit";
static atomic_int current_level = NTK_LOG_WARN;
static _Atomic(ntk_log_sink *) current_sink;
static atomic_uint_least64_t counts[NTK_LOG_TRACE + 1];

void ntk_log_set_program(const char *name)
{
    program_name = name;
}

void ntk_log_set_level(enum ntk_log_level level)
{
    atomic_store(&current_level, (int)level);
}

enum ntk_log_level ntk_log_get_level(void)
{
    return (enum ntk_log_level)atomic_load(&current_level);
}

void ntk_log_set_sink(ntk_log_sink *sink)
{
    atomic_store(&current_sink, sink);
}

uint64_t ntk_log_count_get(enum ntk_log_level level)
{
    return atomic_load(&counts[level]);
}

/* stderr is the journal when its "device:inode" equals $JOURNAL_STREAM (systemd.exec(5)). */
static bool is_journal(void)
{
    const char *text = getenv("JOURNAL_STREAM");
    unsigned long long device;
    unsigned long long inode;
    struct stat stat;

    return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &stat) == 0 && stat.st_dev == device && stat.st_ino == inode;
}

/* Returns true if the program's name already contains the module, as in "neuron-monitor diag". */
static bool is_in_name(const char *module)
{
    const char *last = strrchr(program_name, ' ');

    return last && strcmp(last + 1, module) == 0;
}

void ntk_log_write(enum ntk_log_level level, const char *module, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    if ((int)level > atomic_load(&current_level)) {
        return;
    }
    atomic_fetch_add(&counts[level], 1);
    ntk_log_sink *sink = atomic_load(&current_sink);
    const char *priority = !sink && is_journal() ? priorities[level] : "";
    int used = 0;
    if (!sink) {
        used = module && *module && !is_in_name(module)
                   ? snprintf(line, sizeof line, "%s%s: %s: ", priority, program_name, module)
                   : snprintf(line, sizeof line, "%s%s: ", priority, program_name);
    }
    size_t at = used < 0 ? 0 : (size_t)used;
    if (at > sizeof line - 2) {
        at = sizeof line - 2;
    }
    va_start(args, format);
    int more = vsnprintf(line + at, sizeof line - at - 1, format, args);
    va_end(args);
    if (more > 0) {
        size_t room = sizeof line - at - 2;
        at += (size_t)more < room ? (size_t)more : room;
    }
    at = ntk_str_clean(line, at); /* text of a peer must not break the line or the terminal */
    at = ntk_url_redact_text(line, at);
    if (sink) {
        line[at] = '\0';
        sink(level, module, line);
        return;
    }
    line[at++] = '\n';
    struct ntk_quiet quiet;

    ntk_quiet_enter(&quiet);
    ssize_t written = write(STDERR_FILENO, line, at);
    (void)written; /* a failure cannot be reported anywhere */
    ntk_quiet_leave(&quiet);
}

int ntk_log_failure(const char *module, const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 32];

    ntk_log_error(module, "%s", ntk_err_format(err, text, sizeof text));
    return 1;
}
