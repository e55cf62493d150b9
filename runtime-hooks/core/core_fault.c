/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_fault.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/segment_abi.h"
#include "shared/base/str.h"

#define FAULT_BYTES_MAX 256U
#define TEXT_BYTES_MAX (NTK_CORE_FAULTS_MAX * FAULT_BYTES_MAX)

enum when {
    WHEN_UNKNOWN,
    WHEN_AT,
    WHEN_EVERY,
    WHEN_FROM,
    WHEN_PROBABILITY,
};

enum scope {
    SCOPE_ALL,  /* all cores are counted together */
    SCOPE_EACH, /* each core is counted separately */
    SCOPE_ONE,
};

struct rule {
    struct ntk_core_fault fault;
    enum when when;
    enum scope scope;
    uint32_t core;      /* for SCOPE_ONE */
    uint64_t n;         /* for WHEN_AT, WHEN_EVERY, WHEN_FROM */
    uint64_t threshold; /* for WHEN_PROBABILITY: a random number below it strikes */
    bool always;        /* the probability is 1 */
    uint64_t seed;
    bool has_seed, has_core, has_amount;
    _Atomic uint64_t executions[NTK_SEGMENT_CORES]; /* by core for SCOPE_EACH, else only [0] */
};

struct ntk_core_faults {
    size_t count;
    struct rule rules[NTK_CORE_FAULTS_MAX];
};

enum measure { MEASURE_AMOUNT, MEASURE_FACTOR, MEASURE_TIME };

/* The names of the faults' counters; none: no counter. */
static const struct {
    const char *name;
    const char *counter;
    enum measure measure;
} kinds[] = {
#define NTK_FAULT(symbol, name, outcome, counter, unhealthy, code, fatal) \
    { name, #counter, MEASURE_AMOUNT },
#define NTK_SLOWNESS(symbol, name, setting) { name, "none", MEASURE_##setting },
#include "runtime-hooks/core/core_fault.def"
#undef NTK_FAULT
};

bool ntk_core_fault_is_slowness(enum ntk_core_fault_kind kind)
{
    return kinds[kind].measure != MEASURE_AMOUNT;
}

static bool has_counter(enum ntk_core_fault_kind kind)
{
    return strcmp(kinds[kind].counter, "none") != 0;
}

/* Sets the message: `what` and a user's text, truncated to the size of a message. */
static int refuse(struct ntk_err *err, const char *text, const char *what)
{
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "'%.60s' %s", text, what);
}

static int when_set(struct rule *rule, enum when when, const char *text, struct ntk_err *err)
{
    if (rule->when != WHEN_UNKNOWN) {
        return refuse(err, text,
                      "conflicts with an earlier setting: a fault takes only one of at, every, "
                      "from and probability");
    }
    rule->when = when;
    return 0;
}

static int number_set(struct rule *rule, enum when when, const char *text, const char *value,
                      struct ntk_err *err)
{
    if (ntk_str_parse_u64(value, &rule->n) < 0 || rule->n == 0) {
        return refuse(err, text, "is invalid: expected a number of executions, at least 1");
    }
    return when_set(rule, when, text, err);
}

static int probability_set(struct rule *rule, const char *text, const char *value,
                           struct ntk_err *err)
{
    double probability = 0.0;

    if (ntk_str_parse_double(value, &probability) < 0 ||
        !(probability > 0.0 && probability <= 1.0)) {
        return refuse(err, text, "is invalid: expected a probability above 0 and at most 1");
    }
    rule->always = probability >= 1.0;
    rule->threshold = rule->always ? UINT64_MAX : (uint64_t)(probability * 0x1p64);
    return when_set(rule, WHEN_PROBABILITY, text, err);
}

static int core_set(struct rule *rule, const char *text, const char *value, struct ntk_err *err)
{
    uint64_t core = 0;

    if (rule->has_core) {
        return refuse(err, text, "is a duplicate: the core is already set");
    }
    rule->has_core = true;
    if (strcmp(value, "all") == 0) {
        rule->scope = SCOPE_ALL;
    } else if (strcmp(value, "each") == 0) {
        rule->scope = SCOPE_EACH;
    } else if (ntk_str_parse_u64(value, &core) == 0 && core < NTK_SEGMENT_CORES) {
        rule->scope = SCOPE_ONE;
        rule->core = (uint32_t)core;
    } else {
        return refuse(err, text, "is invalid: expected all, each or a core number");
    }
    return 0;
}

static int factor_set(struct rule *rule, const char *text, const char *value, struct ntk_err *err)
{
    if (rule->fault.factor > 0 || ntk_str_parse_double(value, &rule->fault.factor) < 0 ||
        !(rule->fault.factor >= 1 && rule->fault.factor <= NTK_CORE_FAULT_FACTOR_MAX)) {
        return refuse(err, text, "is invalid or a duplicate: expected a factor from 1 to 1000");
    }
    return 0;
}

static int time_set(struct rule *rule, const char *text, const char *value, struct ntk_err *err)
{
    if (rule->fault.time_ns > 0 || ntk_str_parse_duration_ns(value, &rule->fault.time_ns) < 0 ||
        rule->fault.time_ns == 0 || rule->fault.time_ns > NTK_CORE_FAULT_TIME_MAX_NS) {
        return refuse(err, text,
                      "is invalid or a duplicate: expected a time such as 5ms, at most 60s");
    }
    return 0;
}

static int setting_parse(struct rule *rule, char *text, struct ntk_err *err)
{
    char copy[FAULT_BYTES_MAX];
    char *value = strchr(text, '=');

    (void)ntk_str_copy(copy, sizeof copy, text);
    if (!value) {
        return refuse(err, copy, "is invalid: expected a setting such as at=100");
    }
    *value++ = '\0';
    if (strcmp(text, "at") == 0) {
        return number_set(rule, WHEN_AT, copy, value, err);
    }
    if (strcmp(text, "every") == 0) {
        return number_set(rule, WHEN_EVERY, copy, value, err);
    }
    if (strcmp(text, "from") == 0) {
        return number_set(rule, WHEN_FROM, copy, value, err);
    }
    if (strcmp(text, "factor") == 0) {
        return factor_set(rule, copy, value, err);
    }
    if (strcmp(text, "time") == 0) {
        return time_set(rule, copy, value, err);
    }
    if (strcmp(text, "probability") == 0) {
        return probability_set(rule, copy, value, err);
    }
    if (strcmp(text, "core") == 0) {
        return core_set(rule, copy, value, err);
    }
    if (strcmp(text, "seed") == 0) {
        if (rule->has_seed || ntk_str_parse_u64(value, &rule->seed) < 0) {
            return refuse(err, copy, "is invalid or a duplicate: expected a seed (a number)");
        }
        rule->has_seed = true;
        return 0;
    }
    if (strcmp(text, "amount") == 0) {
        if (rule->has_amount || ntk_str_parse_u64(value, &rule->fault.amount) < 0 ||
            rule->fault.amount == 0 || rule->fault.amount > NTK_CORE_FAULT_AMOUNT_MAX) {
            return refuse(err, copy,
                          "is invalid or a duplicate: expected an amount from 1 to 1000000");
        }
        rule->has_amount = true;
        return 0;
    }
    return refuse(
        err, copy,
        "is unknown: expected at, every, from, probability, seed, core, amount, factor or time");
}

static int kind_parse(struct rule *rule, const char *text, struct ntk_err *err)
{
    char names[NTK_ERR_TEXT_BYTES] = "is not a fault: expected";

    for (size_t k = 0; k < NTK_CORE_FAULT_KINDS; k++) {
        if (strcmp(text, kinds[k].name) == 0) {
            rule->fault.kind = (enum ntk_core_fault_kind)k;
            return 0;
        }
    }
    for (size_t k = 0, used = strlen(names); k < NTK_CORE_FAULT_KINDS; k++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s %s", k > 0 ? "," : "",
                                 kinds[k].name);
        if (used >= sizeof names) {
            break;
        }
    }
    return refuse(err, text, names);
}

/* Parses a rule; text is modified. */
static int rule_parse(struct rule *rule, char *text, struct ntk_err *err)
{
    char copy[FAULT_BYTES_MAX];
    char *settings = strchr(text, ':');
    int ret = 0;

    (void)ntk_str_copy(copy, sizeof copy, text);
    if (settings) {
        *settings++ = '\0';
    }
    rule->fault.amount = 1;
    ret = kind_parse(rule, text, err);
    while (ret == 0 && settings) {
        char *next = strchr(settings, ',');

        if (next) {
            *next++ = '\0';
        }
        ret = setting_parse(rule, settings, err);
        settings = next;
    }
    if (ret < 0) {
        return ret;
    }
    if (rule->when == WHEN_UNKNOWN) {
        return refuse(err, copy, "has no trigger: use at=N, every=N, from=N or probability=P");
    }
    if (rule->has_seed && rule->when != WHEN_PROBABILITY &&
        rule->fault.kind != NTK_CORE_FAULT_JITTER) {
        return refuse(err, copy, "has a seed but no probability");
    }
    if ((rule->fault.factor > 0) != (kinds[rule->fault.kind].measure == MEASURE_FACTOR)) {
        return refuse(err, copy,
                      rule->fault.factor > 0 ? "has a factor, but this kind of fault has none"
                                             : "has no factor: use factor=F");
    }
    if ((rule->fault.time_ns > 0) != (kinds[rule->fault.kind].measure == MEASURE_TIME)) {
        return refuse(err, copy,
                      rule->fault.time_ns > 0 ? "has a time, but this kind of fault has none"
                                              : "has no duration: use time=T");
    }
    if (rule->has_amount && !has_counter(rule->fault.kind)) {
        return refuse(err, copy, "has an amount, but this kind of fault has no counter");
    }
    return 0;
}

int ntk_core_faults_parse(const char *text, struct ntk_core_faults **out_faults,
                          struct ntk_err *err)
{
    size_t bytes = strnlen(text, TEXT_BYTES_MAX + 1);
    struct ntk_core_faults *faults = NULL;
    char *copy = NULL;
    int ret = 0;

    if (bytes > TEXT_BYTES_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the text is longer than %u bytes",
                           TEXT_BYTES_MAX);
    }
    faults = calloc(1, sizeof *faults);
    copy = strdup(text);
    if (!faults || !copy) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    for (char *at = copy; ret == 0 && at;) {
        char *next = strchr(at, ';');

        if (next) {
            *next++ = '\0';
        }
        if (faults->count == NTK_CORE_FAULTS_MAX) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many faults (at most %u)",
                              NTK_CORE_FAULTS_MAX);
        } else if (strlen(at) >= FAULT_BYTES_MAX) {
            ret = refuse(err, at, "... is too long for a fault");
        } else {
            ret = rule_parse(&faults->rules[faults->count], at, err);
            faults->count++;
        }
        at = next;
    }
    if (ret < 0) {
        goto out;
    }
    *out_faults = faults;
    faults = NULL;

out:
    free(copy);
    ntk_core_faults_destroy(faults);
    return ret;
}

void ntk_core_faults_destroy(struct ntk_core_faults *faults)
{
    free(faults);
}

/* splitmix64: computes the n-th number of a seed directly. */
static uint64_t draw(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + n * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns true if the rule strikes. *out_n is the number of the execution among those that the rule
 * counts. */
static bool rule_strikes(struct rule *rule, uint32_t core, uint64_t *out_n)
{
    if (rule->scope == SCOPE_ONE && rule->core != core) {
        return false;
    }
    uint32_t counter = rule->scope == SCOPE_EACH ? core % NTK_SEGMENT_CORES : 0;
    uint64_t n = atomic_fetch_add_explicit(&rule->executions[counter], 1, memory_order_relaxed) + 1;

    *out_n = n;
    switch (rule->when) {
    case WHEN_AT:
        return n == rule->n;
    case WHEN_EVERY:
        return n % rule->n == 0;
    case WHEN_FROM:
        return n >= rule->n;
    case WHEN_PROBABILITY:
        return rule->always || draw(rule->seed + counter, n) < rule->threshold;
    case WHEN_UNKNOWN:
        break;
    }
    return false;
}

/* The random delay, from the second of an execution's two random numbers. */
static uint64_t jitter_ns(const struct rule *rule, uint32_t core, uint64_t n)
{
    uint64_t counter = rule->scope == SCOPE_EACH ? core % NTK_SEGMENT_CORES : 0;

    return (uint64_t)((double)rule->fault.time_ns *
                      ((double)(draw(~rule->seed - counter, n) >> 11) * 0x1p-53));
}

size_t ntk_core_faults_strike(struct ntk_core_faults *faults, uint32_t core,
                              struct ntk_core_fault out_faults[NTK_CORE_FAULTS_MAX])
{
    size_t count = 0;
    uint64_t n;

    for (size_t i = 0; i < faults->count; i++) {
        struct rule *rule = &faults->rules[i];

        if (rule->fault.kind == NTK_CORE_FAULT_SLOW_LINK || !rule_strikes(rule, core, &n)) {
            continue;
        }
        out_faults[count] = rule->fault;
        if (rule->fault.kind == NTK_CORE_FAULT_JITTER) {
            out_faults[count].time_ns = jitter_ns(rule, core, n);
        }
        count++;
    }
    return count;
}

double ntk_core_fault_factor_join(double factor, double other)
{
    double product = factor * other;

    return product < NTK_CORE_FAULT_FACTOR_MAX ? product : NTK_CORE_FAULT_FACTOR_MAX;
}

double ntk_core_faults_link_factor(struct ntk_core_faults *faults, uint32_t core)
{
    double factor = 1;
    uint64_t n;

    for (size_t i = 0; i < faults->count; i++) {
        struct rule *rule = &faults->rules[i];

        if (rule->fault.kind == NTK_CORE_FAULT_SLOW_LINK && rule_strikes(rule, core, &n)) {
            factor = ntk_core_fault_factor_join(factor, rule->fault.factor);
        }
    }
    return factor;
}
