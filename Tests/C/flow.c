/* Whop's job from end to end, on the sandbox in the process, in both modes. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "support.h"

static void buy_log_in_log_out_restore(const char *options)
{
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    CHECK(kassa_is_initialized(client));
    CHECK(kassa_supports_external_purchases(client));
    CHECK(!kassa_is_subscribed(client));
    CHECK(!kassa_has_access(client, PRODUCT));

    json_t *bought = finish(client, kassa_purchase(client, PLAN, NULL));
    CHECK(is(bought, "result.outcome", "purchased"));
    CHECK(is(bought, "result.membership.product_id", PRODUCT));
    CHECK(json_is_true(at(bought, "result.membership.sandbox")));

    /* In the same tick: the answers agree with the completion and with each other. */
    json_t *memberships = kassa_memberships(client);
    CHECK(kassa_has_access(client, PRODUCT));
    CHECK(kassa_is_subscribed(client));
    CHECK(json_array_size(memberships) == 1);
    CHECK(json_is_true(at(json_array_get(memberships, 0), "is_active")));
    CHECK(json_is_false(at(json_array_get(memberships, 0), "is_claimed")));
    json_decref(memberships);

    json_t *logged_in = finish(client, kassa_log_in(client, "user-1", NULL));
    CHECK(json_array_size(at(logged_in, "result.claimed")) == 1);
    CHECK(json_is_false(at(logged_in, "result.deferred")));
    CHECK(kassa_has_access(client, PRODUCT));
    char *user = kassa_app_user_id(client);
    CHECK(user && strcmp(user, "user-1") == 0);
    kassa_free(user);

    kassa_log_out(client);
    CHECK(kassa_app_user_id(client) == NULL);
    CHECK(!kassa_has_access(client, PRODUCT)); /* claimed, so no longer the device's */

    json_t *restored = finish(client, kassa_restore_purchases(client));
    CHECK(is(restored, "result.outcome", "completed"));
    CHECK(json_is_false(at(restored, "result.restored")));

    json_t *again = finish(client, kassa_log_in(client, "user-1", NULL));
    CHECK(json_array_size(at(again, "result.claimed")) == 0);
    CHECK(kassa_has_access(client, PRODUCT));

    json_decref(bought);
    json_decref(logged_in);
    json_decref(restored);
    json_decref(again);
    kassa_close(client);
}

static void whole_story_library_mode(void)
{
    buy_log_in_log_out_restore(LIBRARY_MODE);
}

static void whole_story_host_mode(void)
{
    buy_log_in_log_out_restore(HOST_MODE);
}

static void explain_says_why(void)
{
    kassa_client *client = open_client(HOST_MODE);
    json_t *before = kassa_explain(client, "prod_unheard_of");
    CHECK(is(before, "answer", "unknown"));
    CHECK(is(before, "reason", "not_configured"));
    json_decref(before);

    json_decref(finish(client, configure(client, PAID_AT_ONCE)));
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));
    json_t *after = kassa_explain(client, PRODUCT);
    CHECK(is(after, "answer", "yes"));
    CHECK(is(after, "reason", "granted"));
    CHECK(json_array_size(at(after, "considered")) == 1);
    json_decref(after);
    kassa_close(client);
}

static void revision_grows_with_the_answers(void)
{
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    uint64_t before = kassa_revision(client);
    CHECK(before > 0);
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));
    CHECK(kassa_revision(client) > before);
    kassa_close(client);
}

static void shared_client_is_one_until_closed(void)
{
    kassa_client *first = kassa_shared();
    CHECK(first != NULL);
    CHECK(kassa_shared() == first);
    kassa_close(first);
    kassa_client *second = kassa_shared();
    CHECK(second != NULL && second != first);
    kassa_close(second);
}

static void version_is_the_build_s(void)
{
    CHECK(strcmp(kassa_version(), KASSA_VERSION) == 0);
}

int main(void)
{
    RUN(version_is_the_build_s);
    RUN(whole_story_library_mode);
    RUN(whole_story_host_mode);
    RUN(explain_says_why);
    RUN(revision_grows_with_the_answers);
    RUN(shared_client_is_one_until_closed);
    DONE();
}
