/* test_verdict.c - goal: no combination of facts leads to a verdict that an invariant forbids, and none that may go on
 * waits for ever. Method: all combinations of facts, sightings and times are judged; each invariant is written down as
 * a sentence of its own about facts and verdict, without looking at how the verdict comes about.
 */
#include "unit.h"

#include "core/verdict.h"

#include <string.h>

#define LATE_MS 1000
#define MS      1000000LL
#define NOW     (1700000000000LL * MS)

/* One bit of the combination. */
static bool take(unsigned *bits)
{
    bool bit = *bits & 1;
    *bits >>= 1;
    return bit;
}

#define FACT_BITS 10

/* When the owner was fenced or last sent, seen from now. */
static const int64_t times[] = {
    0,                       /* never sent */
    NOW - 2 * LATE_MS *MS,   /* long ago */
    NOW - LATE_MS *MS,       /* exactly T_late ago */
    NOW - LATE_MS *MS + 1,   /* a moment less */
    NOW,                     /* now */
    NOW + 3600 * 1000LL * MS /* the clock was set back since */
};
#define TIMES (sizeof times / sizeof *times)

struct trial {
    struct version_facts facts;
    enum sighting sighting;
    struct verdict_policy policy;
    struct judgement judgement;
};

static struct trial make(enum version_state state, unsigned bits, enum sighting sighting, size_t time)
{
    struct trial trial = {.sighting = sighting, .policy = {.now_utc_ns = NOW, .late_after_ms = LATE_MS}};
    struct version_facts *facts = &trial.facts;
    facts->state = state;
    facts->owner_fenced = take(&bits);
    facts->owner_is_me = take(&bits);
    facts->in_working_list = take(&bits);
    facts->claimed = take(&bits);
    facts->published = take(&bits);
    facts->guarded_by_tag = take(&bits);
    facts->clean = take(&bits);
    facts->condemned_synced = take(&bits);
    facts->horizon_passed = take(&bits);
    facts->tag_due = take(&bits);
    facts->settled_utc_ns = times[time];
    trial.judgement = verdict(facts, sighting, &trial.policy);
    return trial;
}

static void for_all(void (*check)(const struct trial *trial))
{
    for (int state = VERSION_PENDING; state <= VERSION_GONE; state++)
        for (unsigned bits = 0; bits < 1u << FACT_BITS; bits++)
            for (int sighting = SIGHT_NOT_TAKEN; sighting <= SIGHT_UNKNOWN; sighting++)
                for (size_t time = 0; time < TIMES; time++) {
                    struct trial trial = make((enum version_state)state, bits, (enum sighting)sighting, time);
                    check(&trial);
                }
}

/* ---- what the sentences are about ---- */

static bool changes(const struct trial *trial)
{
    enum verdict verdict = trial->judgement.verdict;
    return verdict == VERDICT_CONDEMN || verdict == VERDICT_DELETE || verdict == VERDICT_DROP ||
           verdict == VERDICT_FLIP_TAG;
}

static bool owner_may_work_on_it(const struct version_facts *facts)
{
    if (facts->owner_fenced)
        return false;
    return !facts->owner_is_me || facts->in_working_list;
}

static bool a_request_may_still_arrive(const struct trial *trial)
{
    if (trial->facts.clean)
        return false;
    return trial->policy.now_utc_ns < trial->facts.settled_utc_ns + trial->policy.late_after_ms * MS;
}

/* ---- the sentences ---- */

static void p6_ready_is_never_deleted(const struct trial *trial)
{
    bool ends = trial->judgement.verdict == VERDICT_DELETE || trial->judgement.verdict == VERDICT_DROP;
    if (ends)
        assert_int_equal(trial->facts.state, VERSION_CONDEMNED);
    if (ends)
        assert_true(trial->facts.condemned_synced);
}

static void p7_pending_goes_through_condemned(const struct trial *trial)
{
    if (trial->judgement.verdict == VERDICT_CONDEMN)
        assert_int_equal(trial->facts.state, VERSION_PENDING);
    if (trial->sighting == SIGHT_FOREIGN)
        assert_true(trial->judgement.verdict != VERDICT_DELETE && trial->judgement.verdict != VERDICT_DROP);
}

static void p8_row_outlives_late_requests(const struct trial *trial)
{
    if (trial->judgement.verdict != VERDICT_DROP)
        return;
    assert_int_equal(trial->sighting, SIGHT_ABSENT);
    assert_false(a_request_may_still_arrive(trial));
    assert_false(owner_may_work_on_it(&trial->facts));
}

static void p11_a_living_owners_version_is_left_alone(const struct trial *trial)
{
    if (owner_may_work_on_it(&trial->facts))
        assert_false(changes(trial));
}

static void p14_readers_keep_their_blob(const struct trial *trial)
{
    bool ends = trial->judgement.verdict == VERDICT_DELETE || trial->judgement.verdict == VERDICT_DROP;
    if (ends && trial->facts.published)
        assert_true(trial->facts.horizon_passed);
}

static void p15_what_is_tagged_committed_though_never_published_is_reported(const struct trial *trial)
{
    if (trial->facts.guarded_by_tag && trial->sighting == SIGHT_OURS)
        assert_true(trial->judgement.verdict != VERDICT_DELETE && trial->judgement.verdict != VERDICT_DROP);
}

static void t5_claimed_is_the_claims(const struct trial *trial)
{
    if (trial->facts.claimed)
        assert_true(trial->judgement.verdict != VERDICT_CONDEMN && trial->judgement.verdict != VERDICT_DELETE &&
                    trial->judgement.verdict != VERDICT_DROP);
}

static void only_ready_is_flipped(const struct trial *trial)
{
    if (trial->judgement.verdict != VERDICT_FLIP_TAG)
        return;
    assert_int_equal(trial->facts.state, VERSION_READY);
    assert_true(trial->facts.tag_due);
}

/* P12: whatever P6, P8, P11 and P14 release is cleared away, and says why where it is not. */
static void p12_what_is_released_goes_on(const struct trial *trial)
{
    const struct version_facts *facts = &trial->facts;
    assert_non_null(trial->judgement.reason);
    assert_true(strlen(trial->judgement.reason) > 0);
    if (owner_may_work_on_it(facts) || facts->claimed || trial->sighting == SIGHT_FOREIGN ||
        trial->sighting == SIGHT_UNKNOWN)
        return;
    if (facts->state == VERSION_PENDING)
        assert_int_equal(trial->judgement.verdict, VERDICT_CONDEMN);
    if (facts->state == VERSION_READY && facts->tag_due)
        assert_int_equal(trial->judgement.verdict, VERDICT_FLIP_TAG);
    bool released =
        facts->condemned_synced && (facts->horizon_passed || !facts->published) && !a_request_may_still_arrive(trial);
    if (facts->state != VERSION_CONDEMNED || !released)
        return;
    if (trial->sighting == SIGHT_NOT_TAKEN)
        assert_int_equal(trial->judgement.verdict, VERDICT_DELETE);
    if (trial->sighting == SIGHT_ABSENT)
        assert_int_equal(trial->judgement.verdict, VERDICT_DROP);
    if (trial->sighting == SIGHT_OURS && !facts->guarded_by_tag)
        assert_int_equal(trial->judgement.verdict, VERDICT_DELETE); /* P7: under the ETag that was seen */
}

static void nothing_happens_to_what_is_gone(const struct trial *trial)
{
    if (trial->facts.state == VERSION_GONE)
        assert_int_equal(trial->judgement.verdict, VERDICT_KEEP);
}

#define ALL(sentence)                                                                                                  \
    static void test_##sentence(void **state)                                                                          \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        for_all(sentence);                                                                                             \
    }

ALL(p6_ready_is_never_deleted)
ALL(p7_pending_goes_through_condemned)
ALL(p8_row_outlives_late_requests)
ALL(p11_a_living_owners_version_is_left_alone)
ALL(p12_what_is_released_goes_on)
ALL(p14_readers_keep_their_blob)
ALL(p15_what_is_tagged_committed_though_never_published_is_reported)
ALL(t5_claimed_is_the_claims)
ALL(only_ready_is_flipped)
ALL(nothing_happens_to_what_is_gone)

/* A damaged row, or a machine whose clock is nowhere: waiting is safe, and nothing overflows (P8). */
static void test_p8_impossible_times_wait(void **state)
{
    (void)state;
    struct trial trial = make(VERSION_CONDEMNED, 0, SIGHT_NOT_TAKEN, 0);
    trial.facts.owner_fenced = trial.facts.condemned_synced = true;
    trial.facts.settled_utc_ns = INT64_MIN;
    trial.policy.now_utc_ns = INT64_MAX;
    assert_int_equal(verdict(&trial.facts, SIGHT_NOT_TAKEN, &trial.policy).verdict, VERDICT_WAIT);
    trial.facts.settled_utc_ns = INT64_MAX;
    trial.policy.now_utc_ns = INT64_MIN;
    assert_int_equal(verdict(&trial.facts, SIGHT_NOT_TAKEN, &trial.policy).verdict, VERDICT_WAIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p6_ready_is_never_deleted),
        cmocka_unit_test(test_p7_pending_goes_through_condemned),
        cmocka_unit_test(test_p8_row_outlives_late_requests),
        cmocka_unit_test(test_p8_impossible_times_wait),
        cmocka_unit_test(test_p11_a_living_owners_version_is_left_alone),
        cmocka_unit_test(test_p12_what_is_released_goes_on),
        cmocka_unit_test(test_p14_readers_keep_their_blob),
        cmocka_unit_test(test_p15_what_is_tagged_committed_though_never_published_is_reported),
        cmocka_unit_test(test_t5_claimed_is_the_claims),
        cmocka_unit_test(test_only_ready_is_flipped),
        cmocka_unit_test(test_nothing_happens_to_what_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
