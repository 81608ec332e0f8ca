#include "cost/pairs_alike.h"

#include <math.h>
#include <stdlib.h>

#include "cost/alike.h"
#include "node/spread.h"

/* What both directions get together, as it may come out at another time. */
static struct alike_number number_of(const struct pair *pair)
{
    const struct value *both = pair->both.both;
    const struct agreement *drift = pair->move.drift;
    double half = spread_cell((both->high - both->low) / 2, both->n);
    if (drift != NULL && drift->rates > 0)
        half = hypot(half, spread_one(0, drift->rate, drift->rates, 1) * both->value);
    return (struct alike_number){both->value, both->value - half, both->value + half};
}

/* Of those with the same rates alone, in one direction and the other: a pair's two directions have
 * one value. */
static bool find_both(struct pair *pair, size_t count, struct alike_number *number,
                      uint32_t *member, uint32_t *stands)
{
    for (size_t i = 0; i < count; i++) {
        size_t members = 0;
        if (pair[i].alike_both != NULL || !pair[i].knows_both || pair[i].both.both == NULL)
            continue;
        for (size_t j = i; j < count; j++)
            if (pair[j].alike == pair[i].alike && pair[j].knows_both && pair[j].both.both != NULL) {
                number[members] = number_of(&pair[j]);
                member[members++] = (uint32_t)j;
            }
        if (!plan_alike_numbers(number, members, stands))
            return false;
        for (size_t m = 0; m < members; m++)
            pair[member[m]].alike_both = pair[member[stands[m]]].both.both;
    }
    return true;
}

bool plan_pairs_alike(const struct snapshot *snap, struct pair *pair, size_t count)
{
    const struct move **move = calloc(count + 1, sizeof *move);
    uint32_t *stands = calloc(count + 1, sizeof *stands),
             *member = calloc(count + 1, sizeof *member);
    struct alike_number *number = calloc(count + 1, sizeof *number);
    bool ok = move != NULL && stands != NULL && member != NULL && number != NULL;
    for (size_t i = 0; ok && i < count; i++)
        move[i] = &pair[i].move;
    ok = ok && plan_alike(snap, move, count, stands);
    for (size_t i = 0; ok && i < count; i++)
        pair[i].alike = &pair[stands[i]].move;
    ok = ok && find_both(pair, count, number, member, stands);
    free(move);
    free(stands);
    free(member);
    free(number);
    return ok;
}
