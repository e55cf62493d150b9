/* SPDX-License-Identifier: MIT */
/* fold - implements the stack, its hashes, and the order of folding. */
#include "profiler/analysis/fold.h"

#include <errno.h>

#define MODULUS ((UINT64_C(1) << 61) - 1)
#define BASE UINT64_C(0x1b873593cc9e2d51) /* any large number below the modulus */

struct node {
    uint64_t kind;
    uint64_t sum;   /* sum of kind * power over all nodes up to this node */
    uint64_t power; /* BASE to the power of the node's position */
    int64_t start_ps, end_ps;
    uint32_t first, count;
    uint32_t body;       /* NTK_FOLD_NO_BODY for a token */
    uint32_t last;       /* index in lasts */
    uint32_t before;     /* position of the previous node with the same kind; 0 if none */
    uint32_t due_before; /* for a run: next position in the list that starts in due; 0 if none */
    bool is_statement;
};

/* Maximum number of runs that are checked at one position. */
#define DUE_MAX 8

/* ---- numbers ---- */

static uint64_t reduce(uint64_t value)
{
    value = (value & MODULUS) + (value >> 61);
    return value >= MODULUS ? value - MODULUS : value;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return reduce(a + b);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + MODULUS - b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;

    return reduce((uint64_t)(product & MODULUS) + (uint64_t)(product >> 61));
}

/* Spreads the bits of a small number. */
static uint64_t mix(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    return reduce(value ^ value >> 31);
}

/* ---- the stack ---- */

/* This bit is set in runs, not in tokens. */
#define RUN_BIT (UINT64_C(1) << 63)

static uint64_t kind_of_token(const struct ntk_fold_token *token)
{
    return token->kind & ~RUN_BIT;
}

static struct node *node_at(const struct ntk_fold *fold, size_t place)
{
    return (struct node *)fold->nodes.items + place;
}

static size_t top_of(const struct ntk_fold *fold)
{
    return fold->nodes.count - 1;
}

static struct ntk_fold_body *body_at(const struct ntk_fold *fold, uint32_t body)
{
    return ntk_vec_at(&fold->bodies, body);
}

const struct ntk_fold_body *ntk_fold_body_get(const struct ntk_fold *fold, uint32_t body)
{
    return body_at(fold, body);
}

static bool is_run(const struct node *node)
{
    return node->body != NTK_FOLD_NO_BODY;
}

/* Returns the hash of the nodes above `place` up to `end`, times BASE to the power of the
 * position. */
static uint64_t hash_between(const struct ntk_fold *fold, size_t place, size_t end)
{
    return minus(node_at(fold, end)->sum, node_at(fold, place)->sum);
}

static uint32_t *last_of(const struct ntk_fold *fold, uint32_t last)
{
    return (uint32_t *)fold->lasts.items + last;
}

/* Finds the index of a kind in lasts. */
static int find_last(struct ntk_fold *fold, uint64_t kind, uint32_t *out_last)
{
    uintptr_t number = (uintptr_t)ntk_map_get_number(&fold->kinds, kind);

    if (!number) {
        const uint32_t none = 0;
        number = fold->lasts.count + 1;
        if (ntk_vec_push(&fold->lasts, &none) < 0 ||
            ntk_map_put_number(&fold->kinds, kind, (void *)number) < 0) { // NOLINT
            return -ENOMEM;
        }
    }
    *out_last = (uint32_t)(number - 1);
    return 0;
}

static int push(struct ntk_fold *fold, const struct node *from)
{
    int failed = 0;
    struct node *node = ntk_long_list_add(&fold->nodes, &failed);

    if (!node) {
        return failed;
    }
    size_t place = top_of(fold);
    *node = *from;
    node->power = times(node[-1].power, BASE);
    node->sum = plus(node[-1].sum, times(mix(node->kind), node->power));
    failed = find_last(fold, node->kind, &node->last);
    if (failed) {
        return failed;
    }
    node->before = *last_of(fold, node->last);
    fold->is_checked = false;
    if (fold->due.count <= place) {
        uint32_t *due = ntk_long_list_add(&fold->due, &failed);
        if (!due) {
            return failed;
        }
        *due = 0;
    }
    *last_of(fold, node->last) = (uint32_t)place;
    return 0;
}

/* Removes the nodes above `place`. */
static void drop(struct ntk_fold *fold, size_t place)
{
    while (top_of(fold) > place) {
        const struct node *node = node_at(fold, top_of(fold));
        *last_of(fold, node->last) = node->before;
        fold->nodes.count--;
    }
}

/* Notes that the run at `place` may continue at the end of its next iteration. */
static int expect(struct ntk_fold *fold, size_t place)
{
    struct node *run = node_at(fold, place);
    size_t end = place + body_at(fold, run->body)->node_count;

    while (fold->due.count <= end) {
        int failed = 0;
        uint32_t *due = ntk_long_list_add(&fold->due, &failed);
        if (!due) {
            return failed;
        }
        *due = 0;
    }
    uint32_t *due = &((uint32_t *)fold->due.items)[end];
    if (*due != place) {
        run->due_before = *due;
        *due = (uint32_t)place;
    }
    return 0;
}

/* ---- bodies ---- */

/* Returns the nodes above `place` as one token. */
static struct ntk_fold_token piece(const struct ntk_fold *fold, size_t place, size_t end)
{
    const struct node *node = node_at(fold, place + 1);
    struct ntk_fold_token all = { .start_ps = node->start_ps,
                                  .end_ps = node->end_ps,
                                  .first = node->first };

    for (size_t i = place + 1; i <= end; i++, node++) {
        all.end_ps = node->end_ps > all.end_ps ? node->end_ps : all.end_ps;
        all.count += node->count;
    }
    return all;
}

static int add_body(struct ntk_fold *fold, size_t place, size_t end, uint64_t hash,
                    uint32_t *out_body)
{
    struct ntk_fold_body body = { .hash = hash,
                                  .node_count = end - place,
                                  .parent = NTK_FOLD_NO_BODY };
    uint32_t index = (uint32_t)fold->bodies.count;

    for (size_t i = place + 1; i <= end; i++) {
        const struct node *node = node_at(fold, i);
        if (i == place + 1) {
            body.first_kind = is_run(node) ? body_at(fold, node->body)->first_kind : node->kind;
        }
        if (body.part_count < NTK_FOLD_PARTS) {
            body.parts[body.part_count++] = (struct ntk_fold_part){ node->first, node->body };
        }
        if (is_run(node) && body_at(fold, node->body)->parent == NTK_FOLD_NO_BODY) {
            body_at(fold, node->body)->parent = index;
        }
    }
    if (ntk_vec_push(&fold->bodies, &body) < 0 ||
        ntk_map_put_number(&fold->body_of, hash, (void *)((uintptr_t)index + 1)) < 0) { // NOLINT
        return -ENOMEM;
    }
    *out_body = index;
    return 0;
}

static int put_iteration(struct ntk_fold *fold, uint32_t body,
                         const struct ntk_fold_token *piece_of)
{
    body_at(fold, body)->instance_count++;
    return fold->put(fold->ctx, body, piece_of);
}

/* Adds the nodes above the run at `place` as one more iteration. Returns 0 or -errno. */
static int extend(struct ntk_fold *fold, size_t place)
{
    struct node *run = node_at(fold, place);
    struct ntk_fold_token next = piece(fold, place, top_of(fold));

    run->end_ps = next.end_ps > run->end_ps ? next.end_ps : run->end_ps;
    run->count += next.count;
    fold->is_checked = false;
    int ret = put_iteration(fold, run->body, &next);
    drop(fold, place);
    return ret ? ret : expect(fold, place);
}

/* Makes a run of the last two pieces with L nodes. Returns 1, or -errno; 0 if there are too many
 * bodies. */
static int fold_two(struct ntk_fold *fold, size_t node_count)
{
    size_t end = top_of(fold);
    size_t middle = end - node_count;
    size_t place = middle - node_count;
    struct ntk_fold_token one = piece(fold, place, middle);
    struct ntk_fold_token two = piece(fold, middle, end);
    uint64_t hash = node_count;
    uint64_t power = 1;
    uint32_t body = NTK_FOLD_NO_BODY;

    for (size_t i = place + 1; i <= middle; i++) {
        power = times(power, BASE);
        hash = plus(hash, times(mix(node_at(fold, i)->kind), power));
    }
    uintptr_t known = (uintptr_t)ntk_map_get_number(&fold->body_of, hash);
    if (!known && fold->bodies.count == NTK_FOLD_BODIES_MAX) {
        fold->omitted++;
        return 0;
    }
    int ret = 0;
    if (known) {
        body = (uint32_t)(known - 1);
    } else {
        ret = add_body(fold, place, middle, hash, &body);
    }
    ret = ret ? ret : put_iteration(fold, body, &one);
    ret = ret ? ret : put_iteration(fold, body, &two);
    drop(fold, place);
    struct node run = { .kind = hash | RUN_BIT,
                        .start_ps = one.start_ps,
                        .end_ps = one.end_ps > two.end_ps ? one.end_ps : two.end_ps,
                        .first = one.first,
                        .count = one.count + two.count,
                        .body = body };
    struct node *below = node_at(fold, top_of(fold));
    if (ret == 0 && below->body == body) { /* it did not continue, but repeats again */
        below->end_ps = run.end_ps > below->end_ps ? run.end_ps : below->end_ps;
        below->count += run.count;
        fold->is_checked = false;
    } else {
        ret = ret ? ret : push(fold, &run);
    }
    ret = ret ? ret : expect(fold, top_of(fold));
    return ret ? ret : 1;
}

/* ---- the topmost span ---- */

static bool continues(const struct ntk_fold *fold, size_t place)
{
    const struct node *run = node_at(fold, place);
    size_t end = top_of(fold);

    if (!is_run(run)) {
        return false;
    }
    const struct ntk_fold_body *body = body_at(fold, run->body);
    /* The hash of a body includes the number of its nodes, and its first node has power 1. */
    return body->node_count == end - place && times(minus(body->hash, reduce(body->node_count)),
                                                    run->power) == hash_between(fold, place, end);
}

/* Confirms equal hashes by comparing node by node. */
static bool is_twice(const struct ntk_fold *fold, size_t node_count)
{
    size_t end = top_of(fold);
    size_t middle = end - node_count;

    if (times(hash_between(fold, middle - node_count, middle), node_at(fold, node_count)->power) !=
        hash_between(fold, middle, end)) {
        return false;
    }
    for (size_t i = 0; i < node_count; i++) {
        if (node_at(fold, end - i)->kind != node_at(fold, middle - i)->kind) {
            return false;
        }
    }
    return true;
}

/* Returns false for two pieces with one plain token each: the run only starts with a third. */
static bool is_enough(const struct ntk_fold *fold, size_t node_count)
{
    const struct node *node = node_at(fold, top_of(fold));

    if (node_count > 1 || is_run(node) || node->is_statement) {
        return true;
    }
    size_t alike = 1;
    while (alike < NTK_FOLD_SINGLES && top_of(fold) > alike &&
           node[-(ptrdiff_t)alike].kind == node->kind) {
        alike++;
    }
    return alike == NTK_FOLD_SINGLES;
}

/* Folds one plain token that occurred NTK_FOLD_SINGLES times: the run starts with the first of
 * them. */
static int fold_singles(struct ntk_fold *fold)
{
    struct node held[NTK_FOLD_SINGLES - 2];
    size_t count = NTK_FOLD_SINGLES - 2;

    for (size_t i = 0; i < count; i++) {
        held[i] = *node_at(fold, top_of(fold) - count + 1 + i);
    }
    drop(fold, top_of(fold) - count);
    int ret = fold_two(fold, 1);
    size_t place = top_of(fold);
    bool is_folded = ret > 0;
    for (size_t i = 0; i < count && ret >= 0; i++) {
        int pushed = push(fold, &held[i]);
        ret = pushed < 0 ? pushed : ret;
        if (ret >= 0 && is_folded) {
            pushed = extend(fold, place);
            ret = pushed < 0 ? pushed : ret;
        }
    }
    return ret;
}

/* Returns 1 if the top became part of a run, 0 if not, or -errno. */
static int try_top(struct ntk_fold *fold)
{
    size_t end = top_of(fold);
    size_t run = ((const uint32_t *)fold->due.items)[end];

    for (size_t i = 0; i < DUE_MAX && run > 0 && run < end; i++) {
        if (continues(fold, run)) {
            int ret = extend(fold, run);
            return ret ? ret : 1;
        }
        run = node_at(fold, run)->due_before;
    }
    size_t tried = 0;
    for (size_t same = node_at(fold, end)->before; same && tried < NTK_FOLD_CANDIDATES;
         same = node_at(fold, same)->before, tried++) {
        size_t node_count = end - same;
        if (2 * node_count > end) {
            break;
        }
        if (is_twice(fold, node_count) && is_enough(fold, node_count)) {
            const struct node *top = node_at(fold, end);
            bool is_single = node_count == 1 && !is_run(top) && !top->is_statement;
            int ret = is_single ? fold_singles(fold) : fold_two(fold, node_count);
            if (ret != 0) {
                return ret;
            }
        }
    }
    return 0;
}

/* Completes the run on top, which may then become part of others. */
static int complete(struct ntk_fold *fold, const struct ntk_fold_token *next)
{
    int ret = 1;

    while (ret > 0 && top_of(fold) > 0) {
        const struct node *top = node_at(fold, top_of(fold));
        if (!is_run(top) || fold->is_checked ||
            (next && body_at(fold, top->body)->first_kind == kind_of_token(next))) {
            break;
        }
        ret = try_top(fold);
        fold->is_checked = ret == 0;
    }
    return ret < 0 ? ret : 0;
}

int ntk_fold_add(struct ntk_fold *fold, const struct ntk_fold_token *token)
{
    struct node node = { .kind = kind_of_token(token),
                         .start_ps = token->start_ps,
                         .end_ps = token->end_ps,
                         .first = token->first,
                         .count = token->count,
                         .body = NTK_FOLD_NO_BODY,
                         .is_statement = token->is_statement };
    int ret = complete(fold, token);

    ret = ret ? ret : push(fold, &node);
    ret = ret ? ret : try_top(fold);
    return ret < 0 ? ret : 0;
}

int ntk_fold_finish(struct ntk_fold *fold)
{
    return complete(fold, NULL);
}

int ntk_fold_init(struct ntk_fold *fold, const struct ntk_trace *trace, size_t share,
                  ntk_fold_put *put, void *ctx)
{
    *fold = (struct ntk_fold){ .put = put, .ctx = ctx };
    ntk_long_list_init(&fold->nodes, trace, sizeof(struct node), 2 * share);
    ntk_long_list_init(&fold->due, trace, sizeof(uint32_t), 2 * share);
    ntk_vec_init(&fold->bodies, sizeof(struct ntk_fold_body));
    ntk_vec_init(&fold->lasts, sizeof(uint32_t));
    int failed = 0;
    struct node *none = ntk_long_list_add(&fold->nodes, &failed);
    if (!none || !ntk_long_list_add(&fold->due, &failed)) {
        ntk_fold_fini(fold);
        return failed;
    }
    *none = (struct node){ .power = 1, .body = NTK_FOLD_NO_BODY };
    return 0;
}

void ntk_fold_fini(struct ntk_fold *fold)
{
    ntk_long_list_fini(&fold->nodes);
    ntk_long_list_fini(&fold->due);
    ntk_map_fini(&fold->kinds);
    ntk_vec_fini(&fold->lasts);
    ntk_map_fini(&fold->body_of);
    ntk_vec_fini(&fold->bodies);
    *fold = (struct ntk_fold){ 0 };
}
