/* SPDX-License-Identifier: MIT */
/* opt_completion - the option table as a script that completes the program in a shell. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/opt.h"

static bool is_completed(const struct ntk_opt *option)
{
    return option->long_name && option->help && option->kind != NTK_OPT_HEADING;
}

/* The names of options, "--count -n", each followed by a blank; those that take a value only when
 * so asked. */
static void print_names(const struct ntk_opt_program *program, bool with_value_only)
{
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (!option->help || option->kind == NTK_OPT_HEADING ||
            (with_value_only && (!option->arg_name || ntk_opt_takes_optional(option)))) {
            continue;
        }
        if (option->long_name) {
            printf("--%s ", option->long_name);
        }
        if (option->short_name) {
            printf("-%c ", option->short_name);
        }
    }
}

static void print_commands(const struct ntk_opt_program *program, const char *separator)
{
    for (const struct ntk_opt_command *command = program->commands; command->name; command++) {
        printf("%s%s", command == program->commands ? "" : separator, command->name);
    }
}

/* What the script of bash asks of a subcommand while it runs: its options in one line, those that
 * take a value in the next. */
static void print_words(const struct ntk_opt_program *program)
{
    print_names(program, false);
    putchar('\n');
    print_names(program, true);
    putchar('\n');
}

/* Where the word before is an option whose values are known. One that may be omitted comes behind =
 * only. */
static void print_bash_choices(const struct ntk_opt_program *program)
{
    printf("    case $value$previous in\n");
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (!option->choices || !is_completed(option)) {
            continue;
        }
        printf("    1--%s", option->long_name);
        if (!ntk_opt_takes_optional(option)) {
            printf("|--%s", option->long_name);
            if (option->short_name) {
                printf("|-%c", option->short_name);
            }
        }
        printf(") COMPREPLY=($(compgen -W '%s' -- \"$current\")); return ;;\n", option->choices);
    }
    printf("    esac\n");
}

static void print_bash(const struct ntk_opt_program *program)
{
    char function[64] = "_";
    size_t at = 1;

    for (const char *c = program->name; *c && at < sizeof function - 1; c++) {
        function[at++] = isalnum((unsigned char)*c) ? *c : '_';
    }
    printf("%s() {\n", function);
    printf("    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local subcommand= told i value=\n");
    printf("    local options='");
    print_names(program, false);
    printf("'\n    local valued='");
    print_names(program, true);
    printf("'\n");
    printf(
        "    COMPREPLY=()\n"
        "    case $current in =) current= value=1 ;; esac\n" /* --name=value comes in three words */
        "    case $previous in =) previous=${COMP_WORDS[COMP_CWORD-2]} value=1 ;; esac\n");
    if (program->commands) {
        printf("    for ((i = 1; i < COMP_CWORD; i++)); do\n"
               "        case ${COMP_WORDS[i]} in\n"
               "        ");
        print_commands(program, "|");
        printf(")\n"
               "            subcommand=${COMP_WORDS[i]}\n"
               "            if told=$(\"$1\" \"$subcommand\" --completion words 2>/dev/null "
               "</dev/null); then\n"
               "                options=${told%%%%$'\\n'*} valued=${told##*$'\\n'}\n"
               "            fi\n"
               "            break\n"
               "            ;;\n"
               "        esac\n"
               "    done\n");
    }
    print_bash_choices(program);
    printf("    case \" $valued \" in\n"
           "    *\" $previous \"*) return ;;\n" /* a value: a file, as bash does by default */
           "    esac\n"
           "    [ -z \"$value\" ] || return\n"
           "    case $current in\n"
           "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$current\")) ;;\n");
    if (program->commands) {
        printf("    *)\n"
               "        [ -n \"$subcommand\" ] || COMPREPLY=($(compgen -W '");
        print_commands(program, " ");
        printf("' -- \"$current\"))\n"
               "        ;;\n");
    }
    printf("    esac\n"
           "}\n"
           "complete -o default -F %s %s\n",
           function, program->name);
}

/* One option of _arguments: "--name=" or "-n+", then what it is and what its value is. */
static void print_zsh_option(const struct ntk_opt *option, bool is_short)
{
    if (is_short) {
        printf(" \\\n  '-%c%s[", option->short_name, option->arg_name ? "+" : "");
    } else {
        printf(" \\\n  '--%s%s[", option->long_name, option->arg_name ? "=" : "");
    }
    for (const char *c = option->help; *c; c++) {
        if (*c == '\'') {
            printf("'\\''");
        } else if (*c == '[' || *c == ']') {
            printf("\\%c", *c);
        } else {
            putchar(*c);
        }
    }
    if (!option->arg_name) {
        printf("]'");
        return;
    }
    if (ntk_opt_takes_optional(option)) {
        printf("]::value:"); /* "::" before one that may be omitted */
    } else {
        printf("]:%s:", option->arg_name);
    }
    if (option->choices) {
        printf("(%s)'", option->choices);
    } else {
        printf("_files'");
    }
}

static void print_zsh(const struct ntk_opt_program *program)
{
    printf("#compdef %s\n", program->name);
    if (program->commands) { /* their options are their own, which they tell */
        printf("local told\n"
               "case ${words[2]-} in\n"
               "");
        print_commands(program, "|");
        printf(
            ")\n"
            "    if (( CURRENT > 2 )) && told=$(\"${words[1]}\" \"${words[2]}\" --completion words "
            "2>/dev/null </dev/null); then\n"
            "        if [[ ${words[CURRENT]} == -* ]]; then\n"
            "            compadd -- ${=told%%%%$'\\n'*}\n"
            "        else\n"
            "            _files\n"
            "        fi\n"
            "        return\n"
            "    fi\n"
            "    ;;\n"
            "esac\n");
    }
    printf("_arguments -s");
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (is_completed(option)) {
            print_zsh_option(option, false);
            if (option->short_name) {
                print_zsh_option(option, true);
            }
        }
    }
    if (program->commands) {
        printf(" \\\n  '1:command:(");
        print_commands(program, " ");
        printf(")'");
    }
    printf(" \\\n  '*:file:_files'\n");
}

static void print_fish(const struct ntk_opt_program *program)
{
    const struct ntk_opt_command *command = program->commands;

    for (; command && command->name; command++) {
        printf("complete -c %s -n __fish_use_subcommand -a %s\n", program->name, command->name);
    }
    if (program->commands) { /* their options are their own, which they tell */
        printf("complete -c %s -n '__fish_seen_subcommand_from ", program->name);
        print_commands(program, " ");
        printf("; and string match -q -- \"-*\" (commandline -ct)' -a '(string split \" \" -- ("
               "%s (commandline -opc)[2] --completion words 2>/dev/null </dev/null)[1])'\n",
               program->name);
    }
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (!is_completed(option)) {
            continue;
        }
        printf("complete -c %s -l %s", program->name, option->long_name);
        if (option->short_name) {
            printf(" -s %c", option->short_name);
        }
        if (option->choices) {
            printf(" -f -a '%s'", option->choices);
        }
        printf("%s -d '", option->arg_name && !ntk_opt_takes_optional(option) ? " -r" : "");
        for (const char *c = option->help; *c; c++) {
            if (*c == '\'' || *c == '\\') {
                putchar('\\');
            }
            putchar(*c);
        }
        printf("'\n");
    }
}

bool ntk_opt_print_completion(const struct ntk_opt_program *program, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(const struct ntk_opt_program *program);
    } shells[] = { { "bash", print_bash },
                   { "zsh", print_zsh },
                   { "fish", print_fish },
                   { "man", ntk_opt_print_man },
                   { "words", print_words } };

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].print(program);
            return true;
        }
    }
    return false;
}
