/* answer.c - a table of the service's codes, and what is left to the status where no code came. */
#include "blob/azure/answer.h"

#include "blob/azure/wire/date.h"
#include "blob/azure/wire/xml.h"

#include <stdio.h>
#include <string.h>

#define SKEW_MAX_S (15 * 60) /* the service refuses signatures that are older or newer */

struct reply {
    const struct answer_question *question;
    const struct wire_response *response;
    struct wire_error error; /* code from the header or the body, message */
};

static const struct {
    const char *code;
    enum status status;
} table[] = {
    /* A blob is there. */
    {"BlobAlreadyExists", STATUS_EXISTS},
    {"UnauthorizedBlobOverwrite", STATUS_EXISTS},
    /* Conditions. */
    {"ConditionNotMet", STATUS_CONDITION},
    {"TargetConditionNotMet", STATUS_CONDITION},
    {"SourceConditionNotMet", STATUS_CONDITION},
    /* Absent. Only these say so; a container that is missing has not lost its blobs for good. */
    {"BlobNotFound", STATUS_NOT_FOUND},
    {"ResourceNotFound", STATUS_NOT_FOUND},
    {"ContainerNotFound", STATUS_NOT_FOUND},
    {"ContainerBeingDeleted", STATUS_BUSY},
    {"ContainerDisabled", STATUS_UNREACHABLE},
    {"AccountIsDisabled", STATUS_UNREACHABLE},
    /* Held by somebody. */
    {"LeaseIdMissing", STATUS_LEASED},
    {"LeaseIdMismatchWithBlobOperation", STATUS_LEASED},
    {"LeaseNotPresentWithBlobOperation", STATUS_LEASED},
    {"LeaseAlreadyPresent", STATUS_LEASED},
    {"LeaseLost", STATUS_LEASED},
    {"SnapshotsPresent", STATUS_LEASED},
    {"BlobImmutableDueToPolicy", STATUS_LEASED},
    {"BlobImmutableDueToLegalHold", STATUS_LEASED},
    /* Damaged on the way, or not what was expected. */
    {"InvalidBlockList", STATUS_INVALID},
    {"Md5Mismatch", STATUS_CORRUPT},
    {"Crc64Mismatch", STATUS_CORRUPT},
    {"InvalidMd5", STATUS_CORRUPT},
    {"InvalidRange", STATUS_CORRUPT},
    /* Full. */
    {"MemoryExtentStoreAtSizeLimit", STATUS_NO_SPACE},
    {"BlockCountExceedsLimit", STATUS_TOO_LARGE},
    {"BlockListTooLong", STATUS_TOO_LARGE},
    {"RequestBodyTooLarge", STATUS_TOO_LARGE},
    /* Cannot. */
    {"CannotVerifyCopySource", STATUS_UNSUPPORTED},
    {"FeatureNotSupported", STATUS_UNSUPPORTED},
    {"FeatureVersionMismatch", STATUS_UNSUPPORTED},
    {"FeatureNotYetSupportedForHierarchicalNamespaceAccounts", STATUS_UNSUPPORTED},
    {"BlobTagsNotSupportedForAccountType", STATUS_UNSUPPORTED},
    {"APINotImplemented", STATUS_UNSUPPORTED},
    /* Who are you? */
    {"AuthenticationFailed", STATUS_AUTHENTICATION},
    {"InvalidAuthenticationInfo", STATUS_AUTHENTICATION},
    {"NoAuthenticationInformation", STATUS_AUTHENTICATION},
    {"AuthorizationFailure", STATUS_AUTHENTICATION},
    /* You may not. */
    {"AuthorizationPermissionMismatch", STATUS_ACCESS},
    {"AuthorizationProtocolMismatch", STATUS_ACCESS},
    {"AuthorizationResourceTypeMismatch", STATUS_ACCESS},
    {"AuthorizationServiceMismatch", STATUS_ACCESS},
    {"AuthorizationSourceIPMismatch", STATUS_ACCESS},
    {"InsufficientAccountPermissions", STATUS_ACCESS},
    {"KeyBasedAuthenticationNotPermitted", STATUS_ACCESS},
    {"PublicAccessNotPermitted", STATUS_ACCESS},
    /* Later. */
    {"ServerBusy", STATUS_THROTTLED},
    {"OperationTimedOut", STATUS_TIMEOUT},
};

static bool status_of_code(const char *code, enum status *ret_status)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].code, code)) {
            *ret_status = table[i].status;
            return true;
        }
    if (strstr(code, "Quota")) {
        *ret_status = STATUS_QUOTA;
        return true;
    }
    return false;
}

static enum status status_of_http(int http_status)
{
    switch (http_status) {
    case 401: return STATUS_AUTHENTICATION;
    case 403: return STATUS_ACCESS;
    case 408: return STATUS_TIMEOUT;
    case 413: return STATUS_TOO_LARGE;
    case 416: return STATUS_CORRUPT;
    case 429: return STATUS_THROTTLED;
    case 501: return STATUS_UNSUPPORTED;
    case 503: return STATUS_THROTTLED;
    case 504: return STATUS_TIMEOUT;
    case 507: return STATUS_NO_SPACE;
    default: return STATUS_IO;
    }
}

/* S23 names them. */
static bool transient(int http_status)
{
    return http_status == 408 || http_status == 429 || http_status == 500 || http_status == 502 || http_status == 503 ||
           http_status == 504;
}

/* Whether the request may have been carried out although the answer is no success. A server that is busy or throttles
 * has not begun. Statuses below 500 refuse, if the service itself spoke or the status leaves no doubt. */
static bool unclear(const struct reply *reply)
{
    int status = reply->response->status;
    bool coded = *reply->error.code;
    if (status == 429 || (status == 503 && !strcmp(reply->error.code, "ServerBusy")))
        return false;
    if (status >= 500)
        return status != 501 && status != 507;
    if (status < 300 || status == 408)
        return true; /* another success than the expected one; or somebody on the way had enough */
    return !coded && (status == 400 || status == 409 || status == 412);
}

static enum status status_of(const struct reply *reply)
{
    enum status status;
    int http_status = reply->response->status;
    if (http_status < 300)
        return STATUS_CORRUPT;
    if (!status_of_code(reply->error.code, &status))
        return status_of_http(http_status);
    if (status == STATUS_CONDITION && reply->question->create && http_status == 412)
        return STATUS_EXISTS;
    return status;
}

enum status answer_clock(const struct credential *credential, const struct wire_response *response, int64_t now_utc_s,
                         struct err *err)
{
    int64_t skew_s = response->date_utc_s - now_utc_s;
    if (credential->kind != CREDENTIAL_KEY || !response->has_date || (skew_s <= SKEW_MAX_S && skew_s >= -SKEW_MAX_S))
        return STATUS_OK;
    char ours[DATE_ISO_SIZE], theirs[DATE_ISO_SIZE];
    date_iso(now_utc_s > 0 ? now_utc_s : 0, ours);
    date_iso(response->date_utc_s, theirs);
    (void)err_set(err, STATUS_CLOCK_SKEW, "the clock of this machine says %s, the service's says %s", ours, theirs);
    (void)err_hint(err, "set the clock; signatures are valid for 15 minutes");
    return STATUS_CLOCK_SKEW;
}

/* A refusal that the clocks explain. */
static bool skewed(const struct reply *reply, struct err *err)
{
    const struct answer_question *question = reply->question;
    bool refused = reply->response->status == 403 || reply->response->status == 401;
    return refused && answer_clock(question->credential, reply->response, question->now_utc_s, err) != STATUS_OK;
}

static void hint_signature(const struct reply *reply, enum status status, struct err *err)
{
    const struct credential *credential = reply->question->credential;
    int64_t end_utc_s, now_utc_s = reply->response->has_date ? reply->response->date_utc_s : reply->question->now_utc_s;
    char letters[32], end[DATE_ISO_SIZE];
    credential_permissions(credential, letters, sizeof letters);
    if (status == STATUS_AUTHENTICATION && credential_expiry(credential, &end_utc_s) && end_utc_s < now_utc_s) {
        date_iso(end_utc_s, end);
        (void)err_hint(err, "the shared access signature ended at %s; make a new one", end);
    } else {
        (void)err_hint(err,
                       "the shared access signature allows '%s'; readyfs needs r, w, d, l, and t for tags (tags = off "
                       "does without t)",
                       letters);
    }
}

/* What the user can do about a refusal of the credentials. */
static void hint_access(const struct reply *reply, enum status status, struct err *err)
{
    const struct credential *credential = reply->question->credential;
    if (!strcmp(reply->error.code, "KeyBasedAuthenticationNotPermitted"))
        (void)err_hint(err, "the account does not allow its keys to be used; use a shared access signature");
    else if (credential->kind == CREDENTIAL_SAS)
        hint_signature(reply, status, err);
    else if (credential->kind == CREDENTIAL_NONE)
        (void)err_hint(err, "give AZURE_STORAGE_ACCESS_KEY, AZURE_STORAGE_SAS_TOKEN or "
                            "AZURE_STORAGE_CONNECTION_STRING");
    else if (status == STATUS_AUTHENTICATION)
        (void)err_hint(err, "check that the key belongs to account '%s', and the account's network rules",
                       credential->account);
}

static void hint(const struct reply *reply, enum status status, struct err *err)
{
    if (status == STATUS_AUTHENTICATION || status == STATUS_ACCESS)
        hint_access(reply, status, err);
    else if (!strcmp(reply->error.code, "ContainerNotFound"))
        (void)err_hint(err, "create container '%s', or mount with --create-container", reply->question->container);
    else if (strstr(reply->error.code, "Hierarchical") || strstr(reply->error.code, "TagsNotSupported"))
        (void)err_hint(err, "this account has no blob tags: set tags = off");
    else if (reply->response->status >= 300 && reply->response->status < 400)
        (void)err_hint(err, "check the endpoint's address");
}

/* "503 ServerBusy: The server is busy". */
static void tell(const struct reply *reply, enum status status, struct err *err)
{
    const struct wire_error *error = &reply->error;
    bool quotable = *error->message && status != STATUS_AUTHENTICATION && status != STATUS_ACCESS;
    (void)err_set(err, status, "%d%s%s%s%s", reply->response->status, *error->code ? " " : "", error->code,
                  quotable ? ": " : "", quotable ? error->message : "");
    if (!*error->code && reply->response->status < 300)
        (void)err_context(err, "unexpected answer");
    hint(reply, status, err);
}

struct answer answer_judge(const struct answer_question *question, const struct wire_response *response,
                           const char *body, size_t body_len, struct err *err)
{
    if (response->status == question->expected)
        return (struct answer){.status = STATUS_OK};
    struct reply reply = {.question = question, .response = response};
    error_parse(body, body_len, &reply.error);
    if (*response->error_code)
        (void)snprintf(reply.error.code, sizeof reply.error.code, "%s", response->error_code); /* as long */
    struct answer answer = {.status = status_of(&reply),
                            .again = transient(response->status),
                            .unclear = unclear(&reply)};
    if (skewed(&reply, err))
        answer.status = STATUS_CLOCK_SKEW;
    else
        tell(&reply, answer.status, err);
    if (err) {
        err->http_status = response->status;
        (void)snprintf(err->service_code, sizeof err->service_code, "%s", reply.error.code);
        (void)snprintf(err->request_id, sizeof err->request_id, "%s", response->request_id);
    }
    return answer;
}
