/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/cmd_analyze_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "profiler/output/answers/system_analyses.h"
#include "shared/base/suggest.h"

size_t ntk_analyze_count(bool is_system)
{
    return is_system ? ntk_system_analyses_count() : ntk_analyses_count();
}

const struct ntk_analysis_info *ntk_analyze_info(bool is_system, size_t index)
{
    return is_system ? ntk_system_analyses_info(index) : ntk_analyses_info(index);
}

static bool has_name(bool is_system, const char *name)
{
    for (size_t i = 0; i < ntk_analyze_count(is_system); i++) {
        if (strcmp(ntk_analyze_info(is_system, i)->name, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *ntk_analyze_name(size_t index)
{
    if (index < ntk_analyze_count(false)) {
        return ntk_analyze_info(false, index)->name;
    }
    index -= ntk_analyze_count(false);
    for (size_t i = 0; i < ntk_analyze_count(true); i++) {
        const char *name = ntk_analyze_info(true, i)->name;

        if (!has_name(false, name) && index-- == 0) {
            return name;
        }
    }
    return NULL;
}

void ntk_analyze_print_list(void)
{
    for (int is_system = 0; is_system < 2; is_system++) {
        printf(is_system ? "\n"
                           "For a folder (-d):\n"
                         : "For a capture (-s):\n");
        for (size_t i = 0; i < ntk_analyze_count(is_system); i++) {
            printf("  %-14s %s\n", ntk_analyze_info(is_system, i)->name,
                   ntk_analyze_info(is_system, i)->help);
        }
    }
}

/* Returns true if the word is the heading in small letters, with - instead of blanks. */
static bool is_title(const struct ntk_analysis_info *info, const char *word)
{
    size_t i = 0;

    if (strlen(info->title) != strlen(word)) {
        return false;
    }
    for (; info->title[i]; i++) {
        char have[2] = { info->title[i] == ' ' ? '-' : info->title[i], '\0' };
        char asked[2] = { word[i] == ' ' || word[i] == '_' ? '-' : word[i], '\0' };
        if (strcasecmp(have, asked) != 0) {
            return false;
        }
    }
    return true;
}

void ntk_analyze_heading(const struct ntk_analysis_info *info, struct ntk_buf *out)
{
    if (strcasecmp(info->title, info->name) == 0) {
        ntk_buf_add_format(out, "== %s ==\n", info->title);
    } else {
        ntk_buf_add_format(out, "== %s (%s) ==\n", info->title, info->name);
    }
}

const char *ntk_analyze_wrong(bool is_system, const char *word, struct ntk_analyze_near *out_near)
{
    struct ntk_suggest near = ntk_suggest_begin(word);
    const char *titled = NULL;

    for (size_t a = 0; a < ntk_analyze_count(is_system); a++) {
        const struct ntk_analysis_info *info = ntk_analyze_info(is_system, a);
        ntk_suggest_add(&near, info->name);
        titled = is_title(info, word) ? info->name : titled;
    }
    if (ntk_suggest_is_known(&near)) {
        return NULL;
    }
    if (titled) {
        (void)snprintf(out_near->text, sizeof out_near->text, " (did you mean '%s'?)", titled);
    } else {
        (void)snprintf(out_near->text, sizeof out_near->text, "%s", ntk_suggest_text(&near));
    }
    return has_name(!is_system, word)
               ? "analysis '%s' does not apply to this kind of input%s; --list shows which "
                 "analyses require -s or -d"
               : "unknown analysis '%s'%s: --list shows the analyses; pass a capture with -s";
}
