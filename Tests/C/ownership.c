/* What is passed in is borrowed; what is returned belongs to the caller alone. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "support.h"

/* Makes everything in a tree something else, as a careless host might. */
static void spoil(json_t *value)
{
    const char *key;
    json_t *child;
    size_t index;
    void *next;
    if (json_is_object(value)) {
        json_object_foreach_safe(value, next, key, child) spoil(child);
        json_object_set_new(value, "spoilt", json_true());
    } else if (json_is_array(value)) {
        json_array_foreach(value, index, child) spoil(child);
        json_array_append_new(value, json_string("spoilt"));
    } else if (json_is_string(value)) {
        json_string_set(value, "spoilt");
    } else if (json_is_integer(value)) {
        json_integer_set(value, -1);
    }
}

static void returned_documents_are_the_caller_s(void)
{
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));

    json_t *(*queries[])(const kassa_client *) = {kassa_plans, kassa_memberships, kassa_entitlements};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        json_t *before = queries[i](client), *scratch = queries[i](client);
        CHECK(scratch->refcount == 1);
        CHECK(json_array_size(scratch) > 0);
        spoil(scratch);
        json_t *after = queries[i](client);
        CHECK(json_equal(before, after));
        json_decref(before);
        json_decref(scratch);
        json_decref(after);
    }

    json_t *explanation = kassa_explain(client, PRODUCT);
    CHECK(explanation->refcount == 1);
    spoil(explanation);
    json_decref(explanation);
    CHECK(kassa_has_access(client, PRODUCT));

    json_t *completion = finish(client, kassa_refresh_plans(client));
    CHECK(completion->refcount == 1);
    spoil(completion);
    json_decref(completion);
    json_t *plans = kassa_plans(client);
    CHECK(json_array_size(plans) > 0 && !is(json_array_get(plans, 0), "id", "spoilt"));
    json_decref(plans);
    kassa_close(client);
}

static void passed_documents_are_borrowed(void)
{
    json_t *options = parse(HOST_MODE), *config = parse(PAID_AT_ONCE), *same = parse(PAID_AT_ONCE);
    kassa_client *client = kassa_open(options, NULL);
    CHECK(options->refcount == 1);
    kassa_op op = kassa_configure(client, config);
    CHECK(config->refcount == 1 && at(config, "backend")->refcount == 1);
    CHECK(json_equal(config, same));
    spoil(config); /* while the operation still runs */
    spoil(options);
    json_decref(options);
    json_decref(config);
    json_t *completion = finish(client, op);
    CHECK(at(completion, "result") != NULL);
    json_decref(completion);

    json_t *attributes = json_pack("{s:s}", "plan", "gold");
    op = kassa_log_in(client, "user", attributes);
    CHECK(attributes->refcount == 1);
    json_decref(attributes);
    json_decref(finish(client, op));

    json_t *action = json_pack("{s:s, s:i}", "action", "advance", "days", 1);
    op = kassa_simulate(client, action);
    CHECK(action->refcount == 1);
    json_decref(action);
    completion = finish(client, op);
    CHECK(at(completion, "result") != NULL);
    json_decref(completion);
    json_decref(same);
    kassa_close(client);
}

/* Documents and strings outlive the client that gave them. */
static void documents_outlive_the_client(void)
{
    kassa_client *client = open_configured(LIBRARY_MODE, PAID_AT_ONCE);
    json_t *plans = kassa_plans(client), *copy = json_deep_copy(plans);
    char *device = kassa_device_id(client);
    kassa_close(client);
    CHECK(json_equal(plans, copy));
    CHECK(strlen(device) == 36);
    json_decref(plans);
    json_decref(copy);
    kassa_free(device);
}

int main(void)
{
    RUN(returned_documents_are_the_caller_s);
    RUN(passed_documents_are_borrowed);
    RUN(documents_outlive_the_client);
    DONE();
}
