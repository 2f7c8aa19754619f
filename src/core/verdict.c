/* verdict.c - the decision about one version, from facts alone. */
#include "core/verdict.h"

static struct judgement judge(enum verdict verdict, const char *reason)
{
    return (struct judgement){.verdict = verdict, .reason = reason};
}

/* P11: who may touch a version that is not Ready. */
static bool owner_has_left(const struct version_facts *facts)
{
    return facts->owner_fenced || (facts->owner_is_me && !facts->in_working_list);
}

static struct judgement judge_pending(const struct version_facts *facts, enum sighting sighting)
{
    if (facts->claimed)
        return judge(VERDICT_WAIT, "a transaction's claim names it");
    if (!owner_has_left(facts))
        return judge(VERDICT_KEEP, facts->owner_is_me ? "its upload is under way" : "its owner is alive");
    if (sighting == SIGHT_FOREIGN)
        return judge(VERDICT_REPORT, "somebody else's blob lies under its name");
    return judge(VERDICT_CONDEMN, "its owner is gone");
}

static struct judgement judge_ready(const struct version_facts *facts)
{
    if (!facts->tag_due)
        return judge(VERDICT_KEEP, "it is Ready");
    if (!owner_has_left(facts))
        return judge(VERDICT_KEEP, "its owner is alive and flips the tag");
    return judge(VERDICT_FLIP_TAG, "its tag still says pending");
}

/* P8: whether a request that carried it may still be carried out. */
static bool may_arrive(const struct version_facts *facts, const struct verdict_policy *policy)
{
    if (facts->clean)
        return false;
    int64_t elapsed_ns;
    if (__builtin_sub_overflow(policy->now_utc_ns, facts->settled_utc_ns, &elapsed_ns))
        return true; /* no clock says so: the row is damaged, or the machine's time is */
    return elapsed_ns < 0 || elapsed_ns / 1000000 < policy->late_after_ms;
}

static struct judgement judge_condemned(const struct version_facts *facts, enum sighting sighting,
                                        const struct verdict_policy *policy)
{
    if (facts->claimed)
        return judge(VERDICT_WAIT, "a transaction's claim names it");
    if (!owner_has_left(facts))
        return judge(VERDICT_WAIT,
                     facts->owner_is_me ? "its upload is still ending" : "its owner is alive and clears it");
    if (!facts->condemned_synced)
        return judge(VERDICT_WAIT, "the commit that condemned it is not synced yet");
    if (facts->published && !facts->horizon_passed)
        return judge(VERDICT_WAIT, "a reader may have it open");
    if (may_arrive(facts, policy))
        return judge(VERDICT_WAIT, "a request that was sent for it may still arrive");
    switch (sighting) {
    case SIGHT_NOT_TAKEN: return judge(VERDICT_DELETE, "it is condemned and nobody needs it");
    case SIGHT_ABSENT: return judge(VERDICT_DROP, "its blob is gone");
    case SIGHT_OURS:
        if (!facts->guarded_by_tag)
            return judge(VERDICT_DELETE, "its ETag had changed");
        return judge(VERDICT_REPORT, "it was never published, yet its tag does not say pending");
    case SIGHT_FOREIGN: return judge(VERDICT_REPORT, "somebody else's blob lies under its name");
    case SIGHT_UNKNOWN: break;
    }
    return judge(VERDICT_WAIT, "the store could not be asked");
}

struct judgement verdict(const struct version_facts *facts, enum sighting sighting, const struct verdict_policy *policy)
{
    switch (facts->state) {
    case VERSION_PENDING: return judge_pending(facts, sighting);
    case VERSION_READY: return judge_ready(facts);
    case VERSION_CONDEMNED: return judge_condemned(facts, sighting, policy);
    case VERSION_GONE: break;
    }
    return judge(VERDICT_KEEP, "it is gone");
}
