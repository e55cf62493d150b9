/* SPDX-License-Identifier: MIT */
/* collective_names - searches each name once, because many instructions share one. */
#include "profiler/analysis/collective_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 512

static const struct {
    const char *letters, *name;
} words[NTK_COLLECTIVE_WORDS] = {
    { "allreduce", "all_reduce" },
    { "allgather", "all_gather" },
    { "reducescatter", "reduce_scatter" },
    { "alltoall", "all_to_all" },
    { "collectivepermute", "collective_permute" },
    { "sendrecv", "send_recv" },
};

const char *ntk_collective_word_name(unsigned word)
{
    return words[word].name;
}

/* Returns 1 + index of the word in a text such as "AllReduce" or "all-reduce.3", with any
 * separators between its letters. */
static uint8_t word_in(const char *text)
{
    char letters[TEXT_BYTES];
    size_t count = 0;

    for (; text && *text && count + 1 < sizeof letters; text++) {
        if (isalpha((unsigned char)*text)) {
            letters[count++] = (char)tolower((unsigned char)*text);
        } else if (*text != '_' && *text != '-') {
            letters[count++] = ' ';
        }
    }
    letters[count] = '\0';
    for (uint8_t w = 0; w < NTK_COLLECTIVE_WORDS; w++) {
        if (strstr(letters, words[w].letters)) {
            return w + 1;
        }
    }
    return 0;
}

int ntk_collective_names_init(struct ntk_collective_names *names, const struct ntk_program *program,
                              size_t core)
{
    const struct ntk_neff_debug *of = program->names[core];

    names->of_layer = calloc(program->layer_count + 1, 1);
    names->of_name = calloc(of ? of->instruction_count + 1 : 1, 1);
    if (!names->of_layer || !names->of_name) {
        ntk_collective_names_fini(names);
        return -ENOMEM;
    }
    for (size_t l = NTK_LAYER_RUNTIME + 1; l < program->layer_count; l++) {
        names->of_layer[l] = word_in(program->layers[l]);
        names->has_any = names->has_any || names->of_layer[l];
    }
    for (size_t i = 0; of && i < of->instruction_count; i++) {
        names->of_name[i] = word_in(of->instructions[i].name);
        if (!names->of_name[i]) {
            names->of_name[i] = word_in(of->instructions[i].penguin_text);
        }
        names->has_any = names->has_any || names->of_name[i];
    }
    return 0;
}

void ntk_collective_names_fini(struct ntk_collective_names *names)
{
    free(names->of_layer);
    free(names->of_name);
    *names = (struct ntk_collective_names){ 0 };
}

unsigned ntk_collective_names_find(const struct ntk_collective_names *names,
                                   const struct ntk_program *program, size_t core,
                                   const struct ntk_slot_fact *fact)
{
    if (!names->has_any) {
        return 0;
    }
    return fact->named ? names->of_name[fact->named - program->names[core]->instructions]
                       : names->of_layer[fact->code->layer];
}
