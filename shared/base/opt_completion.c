/* SPDX-License-Identifier: MIT */
/*
 * opt_completion - prints the option table as a shell completion script.
 *
 * The script asks a subcommand for its words at run time. The program's own words are in the
 * script, in the same format:
 *
 *   --count -n --help ...       the options
 *   --count -n ...              those that take a value in the next word
 *   first one two ...           the words of the operands: "first" of one operand, "each" of all;
 *                               "" for any
 *   --format,-f json text ...   an option and the words of its value; "=--csv ...": only --csv=WORD
 *                               takes one; "+--kind ...": several of them, separated by commas
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/opt.h"

static bool is_completed(const struct ntk_opt *option)
{
    return option->long_name && option->help && option->kind != NTK_OPT_HEADING;
}

static bool is_subcommand(const struct ntk_opt_program *program)
{
    return strchr(program->name, ' ') != NULL;
}

static bool has_words(const struct ntk_opt *option)
{
    return is_completed(option) && (option->choices || option->word_get);
}

static bool takes_list(const struct ntk_opt *option)
{
    return has_words(option) && strcmp(option->arg_name, NTK_OPT_LIST) == 0;
}

/* Prints the words of a value, each between a blank and a suffix. */
static void print_choices(const struct ntk_opt *option, const char *suffix)
{
    const char *words = option->choices ? option->choices : "";
    const char *word;

    for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
        size_t bytes = strcspn(words, " ");

        printf(" %.*s%s", (int)bytes, words, suffix);
        words += bytes;
    }
    for (size_t i = 0; option->word_get && (word = option->word_get(i)); i++) {
        printf(" %s%s", word, suffix);
    }
}

/* Prints the names of options, such as "--count -n", each followed by a blank. takes_value selects
 * only options with a value. */
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

/* Prints the words of operands. Subcommands print their own. */
static void print_operands(const struct ntk_opt_program *program)
{
    const char *word;

    if (program->operand_get) {
        printf(program->repeats_operands ? "each" : "first");
        for (size_t i = 0; (word = program->operand_get(i)); i++) {
            printf(" %s", word);
        }
    } else if (program->commands && is_subcommand(program)) {
        printf("first ");
        print_commands(program, " ");
    }
}

/* Prints the lines described at the top of this file, with the separator between them. */
static void print_lines(const struct ntk_opt_program *program, const char *separator)
{
    print_names(program, false);
    printf("%s", separator);
    print_names(program, true);
    printf("%s", separator);
    print_operands(program);
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (has_words(option)) {
            const char *mark = ntk_opt_takes_optional(option) ? "=" : takes_list(option) ? "+" : "";

            printf("%s%s--%s", separator, mark, option->long_name);
            if (option->short_name) {
                printf(",%s-%c", mark, option->short_name);
            }
            print_choices(option, "");
        }
    }
}

static void print_words(const struct ntk_opt_program *program)
{
    print_lines(program, "\n");
    putchar('\n');
}

/* Turns a name such as "neuron-top" into an identifier: "neuron_top". */
static void name_of(const struct ntk_opt_program *program, char *out, size_t size)
{
    size_t at = 0;

    for (const char *c = program->name; *c && at < size - 1; c++) {
        out[at++] = isalnum((unsigned char)*c) ? *c : '_';
    }
    out[at] = '\0';
}

/* ---- bash ---- */

/* Prints code that finds the subcommand on the command line and the lines that it prints. */
static void print_bash_subcommand(const struct ntk_opt_program *program)
{
    printf("    for ((first = 1; first < COMP_CWORD; first++)); do\n"
           "        case ${COMP_WORDS[first]} in\n"
           "        ");
    print_commands(program, "|");
    printf(")\n"
           "            subcommand=${COMP_WORDS[first]}\n"
           "            mapfile -t asked < <(\"$1\" \"$subcommand\" --completion words 2>/dev/null "
           "</dev/null)\n"
           "            [ ${#asked[@]} = 0 ] || lines=(\"${asked[@]}\")\n"
           "            break\n"
           "            ;;\n"
           "        esac\n"
           "    done\n"
           "    [ -n \"$subcommand\" ] || first=0\n");
}

static void print_bash(const struct ntk_opt_program *program)
{
    char name[64];

    name_of(program, name, sizeof name);
    printf("_%s() {\n", name);
    printf("    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local subcommand= value= line first=0 i count=0 asked=()\n"
           "    local lines=('");
    print_lines(program, "' '");
    printf("')\n");
    printf("    COMPREPLY=()\n"
           /* Bash splits --name=value into three words. */
           "    case $current in =) current= value=1 ;; esac\n"
           "    case $previous in =) previous=${COMP_WORDS[COMP_CWORD-2]} value=1 ;; esac\n");
    if (program->commands) {
        print_bash_subcommand(program);
    }
    printf("    for line in \"${lines[@]:3}\"; do\n" /* the words of a value */
           "        case ,${line%%%% *}, in\n"
           "        *\",${value:+=}$previous,\"* | *\",$previous,\"*)\n"
           "            COMPREPLY=($(compgen -W \"${line#* }\" -- \"$current\"))\n"
           "            return\n"
           "            ;;\n"
           "        *\",+$previous,\"*)\n" /* the typed part of a list plus one more word */
           "            i=${current##*,} current=${current%%\"${current##*,}\"} line=\" ${line#* } "
           "\"\n"
           "            for value in ${current//,/ }; do line=${line/ $value / }; done\n"
           "            COMPREPLY=($(compgen -P \"$current\" -W \"$line\" -- \"$i\"))\n"
           "            compopt -o nospace 2>/dev/null\n"
           "            return\n"
           "            ;;\n"
           "        esac\n"
           "    done\n");
    printf("    case \" ${lines[1]} \" in\n"
           "    *\" $previous \"*) return ;;\n" /* the value is a file: the default of bash */
           "    esac\n"
           "    [ -z \"$value\" ] || return\n"
           "    case $current in\n"
           "    -*) COMPREPLY=($(compgen -W \"${lines[0]}\" -- \"$current\")); return ;;\n"
           "    esac\n");
    if (program->commands) {
        printf("    if [ -z \"$subcommand\" ]; then\n"
               "        COMPREPLY=($(compgen -W '");
        print_commands(program, " ");
        printf("' -- \"$current\"))\n"
               "        return\n"
               "    fi\n");
    }
    /* Counts the operands before this word: words that are neither options nor option values. */
    printf("    for ((i = first + 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in -*|=) continue ;; esac\n"
           "        case \" ${lines[1]}= \" in *\" ${COMP_WORDS[i-1]} \"*) continue ;; esac\n"
           "        count=$((count + 1))\n"
           "    done\n"
           "    case ${lines[2]} in\n"
           "    first*) [ $count = 0 ] || return ;;\n"
           "    esac\n"
           "    [ -z \"${lines[2]}\" ] || COMPREPLY=($(compgen -W \"${lines[2]#* }\" -- "
           "\"$current\"))\n"
           "}\n"
           "complete -o default -F _%s %s\n",
           name, program->name);
}

/* ---- zsh ---- */

/* Escapes text inside the quotes of zsh's _arguments. */
static void print_zsh_text(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'') {
            printf("'\\''");
        } else if (*c == '[' || *c == ']') {
            printf("\\%c", *c);
        } else {
            putchar(*c);
        }
    }
}

/* Prints one option for _arguments: "--name=" or "-n+", then its description and its value's
 * description. */
static void print_zsh_option(const struct ntk_opt *option, bool is_short)
{
    if (is_short) {
        printf(" \\\n  '-%c%s[", option->short_name, option->arg_name ? "+" : "");
    } else {
        printf(" \\\n  '--%s%s[", option->long_name, option->arg_name ? "=" : "");
    }
    print_zsh_text(option->help);
    if (!option->arg_name) {
        printf("]'");
        return;
    }
    if (ntk_opt_takes_optional(option)) {
        printf("]::value:"); /* "::" marks an optional value */
    } else {
        printf("]:%s:", option->arg_name);
    }
    if (takes_list(option)) {
        printf("_sequence compadd -");
        print_choices(option, "");
        putchar('\'');
    } else if (has_words(option)) {
        putchar('(');
        print_choices(option, "");
        printf(")'");
    } else {
        printf("_files'");
    }
}

/* Prints the function for subcommands, which print their options, values and operands
 * themselves. */
static void print_zsh_subcommand(const struct ntk_opt_program *program)
{
    printf("local -a lines\n"
           "local line i count=0 previous=${words[CURRENT-1]-} value=\n"
           "case ${words[2]-} in\n");
    print_commands(program, "|");
    printf(")\n"
           "    (( CURRENT > 2 )) && lines=(\"${(@f)$(\"${words[1]}\" \"${words[2]}\" --completion "
           "words 2>/dev/null </dev/null)}\")\n"
           "    ;;\n"
           "esac\n"
           "if (( ${#lines} > 2 )); then\n"
           "    if [[ ${words[CURRENT]} == --*=* ]]; then\n"
           "        previous=${words[CURRENT]%%%%=*} value=1\n"
           "        compset -P '*='\n"
           "    fi\n"
           "    for line in \"${(@)lines[4,-1]}\"; do\n"
           "        if [[ ,${line%%%% *}, == *,$previous,* || ,${line%%%% *}, == "
           "*,${value:+=}$previous,* ]]; then\n"
           "            compadd -- ${=line#* }\n"
           "            return\n"
           "        elif [[ ,${line%%%% *}, == *,+$previous,* ]]; then\n"
           "            _sequence compadd - ${=line#* }\n"
           "            return\n"
           "        fi\n"
           "    done\n"
           "    if [[ -n $value || \" ${lines[2]} \" == *\" $previous \"* ]]; then\n"
           "        _files\n"
           "        return\n"
           "    fi\n"
           "    if [[ ${words[CURRENT]} == -* ]]; then\n"
           "        compadd -- ${=lines[1]}\n"
           "        return\n"
           "    fi\n"
           "    for ((i = 3; i < CURRENT; i++)); do\n" /* counts operands before this word */
           "        [[ ${words[i]} == -* || \" ${lines[2]} \" == *\" ${words[i-1]} \"* ]] || "
           "((++count))\n"
           "    done\n"
           "    if [[ ${lines[3]} == each* || (${lines[3]} == first* && $count == 0) ]]; then\n"
           "        compadd -- ${=lines[3]#* }\n"
           "    else\n"
           "        _files\n"
           "    fi\n"
           "    return\n"
           "fi\n");
}

/* The script is a file in $fpath, which is the body of a function of its name, or it is sourced. */
static void print_zsh(const struct ntk_opt_program *program)
{
    printf("#compdef %s\n"
           "compdef _%s %s\n"
           "_%s() {\n",
           program->name, program->name, program->name, program->name);
    if (program->commands) {
        print_zsh_subcommand(program);
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
    printf(" \\\n  '*:file:_files'\n"
           "}\n"
           "[[ ${funcstack[1]-} != _%s ]] || _%s \"$@\"\n",
           program->name, program->name);
}

/* ---- fish ---- */

/* Prints the function for subcommands, which print their options, values and operands themselves.
 * __NAME_words selects the words for the text typed so far. */
static void print_fish_subcommand(const struct ntk_opt_program *program)
{
    char name[64];

    name_of(program, name, sizeof name);
    printf(
        "function __%s_words\n"
        "    set -l tokens (commandline -opc)\n"
        "    set -l current (commandline -ct)\n"
        "    set -l lines (%s $tokens[2] --completion words 2>/dev/null </dev/null)\n"
        "    set -l previous $tokens[-1]\n"
        "    set -l prefix ''\n"
        "    test (count $lines) -gt 2; or return\n"
        "    if string match -qr -- '^--[^=]*=' $current\n"
        "        set previous (string split -m 1 = -- $current)[1]\n"
        "        set prefix $previous=\n"
        "    end\n"
        "    for line in $lines[4..-1]\n"
        "        set -l words (string split ' ' -- $line)\n"
        "        set -l names (string split , -- $words[1])\n"
        "        if contains -- $previous $names; or begin; test -n \"$prefix\"; and contains -- "
        "=$previous $names; end\n"
        "            printf '%%s\\n' $prefix$words[2..-1]\n"
        "            return\n"
        "        else if contains -- +$previous $names\n"
        "            __%s_list $words[2..-1]\n"
        "            return\n"
        "        end\n"
        "    end\n"
        "    test -z \"$prefix\"; or return\n"
        "    set -l valued (string split ' ' -- $lines[2])\n"
        "    contains -- $previous $valued; and return\n"
        "    if string match -q -- '-*' $current\n"
        "        string split -n ' ' -- $lines[1]\n"
        "        return\n"
        "    end\n"
        "    set -l count 0\n" /* counts operands before this word */
        "    for i in (seq 3 (count $tokens))\n"
        "        string match -q -- '-*' $tokens[$i]; or contains -- $tokens[(math $i - 1)] "
        "$valued; or set count (math $count + 1)\n"
        "    end\n"
        "    set -l words (string split -n ' ' -- $lines[3])\n"
        "    test \"$words[1]\" = each -o \"$words[1]$count\" = first0; and printf '%%s\\n' "
        "$words[2..-1]\n"
        "end\n",
        name, program->name, name);
    printf("complete -c %s -n '__fish_seen_subcommand_from ", program->name);
    print_commands(program, " ");
    printf("; and count (__%s_words) >/dev/null' -f -a '(__%s_words)'\n", name, name);
}

/* Prints the function __NAME_list, which adds one more word to the typed list. */
static void print_fish_list(const char *name)
{
    printf("function __%s_list\n"
           "    set -l typed (string match -r -- '^(?:--[^=]*=)?(?:.*,)?' (commandline -ct))\n"
           "    for word in $argv\n"
           "        contains -- $word (string split , -- (string replace -r '^.*=' '' -- $typed)); "
           "or echo \"$typed\"$word\n"
           "    end\n"
           "end\n",
           name);
}

static void print_fish(const struct ntk_opt_program *program)
{
    const struct ntk_opt_command *command = program->commands;
    char name[64];

    name_of(program, name, sizeof name);
    print_fish_list(name);
    for (; command && command->name; command++) {
        printf("complete -c %s -n __fish_use_subcommand -a %s\n", program->name, command->name);
    }
    if (program->commands) {
        print_fish_subcommand(program);
    }
    for (const struct ntk_opt *option = program->options; option->kind != NTK_OPT_END; option++) {
        if (!is_completed(option)) {
            continue;
        }
        printf("complete -c %s -l %s", program->name, option->long_name);
        if (option->short_name) {
            printf(" -s %c", option->short_name);
        }
        if (has_words(option)) {
            printf(" -f -a '");
            if (takes_list(option)) {
                printf("(__%s_list", name);
            }
            /* An empty description instead of the option's, which would be repeated for each
             * word. */
            print_choices(option, takes_list(option) ? "" : "\\t\\'\\'");
            printf("%s'", takes_list(option) ? ")" : "");
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
