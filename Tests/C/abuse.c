/* The whole API with what nobody should pass: no client, no JSON object, endless ids; early, late, from everywhere. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "support.h"

static void nothing(void *userdata)
{
    (void)userdata;
}

/* Calls every function of the header but close, with one document and one text wherever one fits. */
static void call_everything(kassa_client *client, json_t *document, const char *text)
{
    json_t *error = NULL;
    kassa_close(kassa_open(document, &error));
    json_decref(error);
    kassa_is_initialized(client);
    kassa_is_subscribed(client);
    kassa_has_access(client, text);
    kassa_has_perk(client, text);
    kassa_supports_external_purchases(client);
    kassa_free(kassa_device_id(client));
    kassa_free(kassa_app_user_id(client));
    kassa_json_release(kassa_plans(client));
    kassa_json_release(kassa_memberships(client));
    kassa_json_release(kassa_entitlements(client));
    kassa_json_release(kassa_person(client));
    kassa_json_release(kassa_pending(client));
    kassa_json_release(kassa_explain(client, text));
    kassa_revision(client);
    kassa_op last = kassa_configure(client, document);
    kassa_refresh_plans(client);
    kassa_get_products(client, document);
    kassa_purchase(client, text, document);
    kassa_log_in(client, text, document);
    kassa_set_attributes(client, document, document);
    kassa_log_out(client);
    kassa_restore_purchases(client);
    kassa_report_transaction(client, document);
    kassa_sync_purchases(client);
    kassa_sync_pending_work(client);
    kassa_simulate(client, document);
    kassa_store_call(client, text, document);
    kassa_notify(client, document);
    kassa_cancel(client, last);
    kassa_cancel(client, 0);
    kassa_cancel(client, UINT64_MAX);
    kassa_set_wakeup(client, nothing, NULL);
    kassa_set_wakeup(client, NULL, NULL);
    kassa_respond(client, 0, document);
    kassa_respond(client, UINT64_MAX, document);
    kassa_event_fd(client);
    kassa_json_release(kassa_wait(client, 0, 0));
    kassa_json_release(kassa_wait(client, UINT64_MAX, 0));
    kassa_json_release(kassa_wait(client, last, 0));
    kassa_json_release(kassa_next_event(client, 0));
    kassa_free(kassa_json_dump(document));
    kassa_json_release(kassa_verify(document));
    kassa_json_release(kassa_json_parse(text, text ? strlen(text) : 0, NULL));
}

/* Every function fails as the header says for a client that is none. */
static void expect_every_call_to_fail(kassa_client *client)
{
    json_t *object = json_object();
    CHECK(!kassa_is_initialized(client));
    CHECK(!kassa_is_subscribed(client));
    CHECK(!kassa_has_access(client, "prod_x"));
    CHECK(!kassa_has_perk(client, "premium"));
    CHECK(!kassa_supports_external_purchases(client));
    CHECK(kassa_device_id(client) == NULL);
    CHECK(kassa_app_user_id(client) == NULL);
    CHECK(kassa_plans(client) == NULL);
    CHECK(kassa_memberships(client) == NULL);
    CHECK(kassa_entitlements(client) == NULL);
    CHECK(kassa_person(client) == NULL);
    CHECK(kassa_pending(client) == NULL);
    CHECK(kassa_explain(client, "prod_x") == NULL);
    CHECK(kassa_revision(client) == 0);
    CHECK(kassa_configure(client, object) == 0);
    CHECK(kassa_refresh_plans(client) == 0);
    CHECK(kassa_get_products(client, NULL) == 0);
    CHECK(kassa_purchase(client, "plan_x", NULL) == 0);
    CHECK(kassa_log_in(client, "user", NULL) == 0);
    CHECK(kassa_set_attributes(client, object, NULL) == 0);
    kassa_log_out(client);
    CHECK(kassa_restore_purchases(client) == 0);
    CHECK(kassa_report_transaction(client, object) == 0);
    CHECK(kassa_sync_purchases(client) == 0);
    CHECK(kassa_sync_pending_work(client) == 0);
    CHECK(kassa_simulate(client, object) == 0);
    CHECK(kassa_store_call(client, "storefront", NULL) == 0);
    CHECK(!kassa_notify(client, object));
    CHECK(!kassa_cancel(client, 1));
    CHECK(kassa_next_event(client, 0) == NULL);
    CHECK(kassa_next_event(client, -1) == NULL);
    CHECK(kassa_wait(client, 1, -1) == NULL);
    CHECK(kassa_event_fd(client) == -1);
    kassa_set_wakeup(client, nothing, NULL);
    CHECK(!kassa_respond(client, 1, object));
    kassa_close(client);
    json_decref(object);
}

static void no_client(void)
{
    expect_every_call_to_fail(NULL);
}

static void invented_clients(void)
{
    char local[256] = {0};
    void *heap = calloc(1, 256);
    uintptr_t invented[] = {1, 8, 0x7fffffff, UINTPTR_MAX, UINTPTR_MAX / 2, (uintptr_t)local, (uintptr_t)heap};
    for (size_t i = 0; i < sizeof invented / sizeof *invented; i++)
        expect_every_call_to_fail((kassa_client *)invented[i]);
    free(heap);
}

static void closed_client(void)
{
    kassa_client *configured = open_configured(LIBRARY_MODE, PAID_AT_ONCE);
    kassa_close(configured);
    expect_every_call_to_fail(configured);
    kassa_client *next = open_client(HOST_MODE); /* takes the place of the closed one, but not its name */
    expect_every_call_to_fail(configured);
    CHECK(kassa_device_id(next) != NULL);
    kassa_close(next);
}

static void null_arguments(void)
{
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    CHECK(kassa_configure(client, NULL) == 0);
    CHECK(kassa_purchase(client, NULL, NULL) == 0);
    CHECK(kassa_log_in(client, NULL, NULL) == 0);
    CHECK(kassa_report_transaction(client, NULL) == 0);
    CHECK(kassa_simulate(client, NULL) == 0);
    CHECK(kassa_store_call(client, NULL, NULL) == 0);
    CHECK(!kassa_notify(client, NULL));
    CHECK(!kassa_respond(client, 1, NULL));
    CHECK(!kassa_has_access(client, NULL));
    CHECK(!kassa_has_perk(client, NULL));
    CHECK(kassa_explain(client, NULL) == NULL);
    CHECK(kassa_json_parse(NULL, 0, NULL) == NULL);
    CHECK(kassa_json_parse(NULL, 10, NULL) == NULL);
    CHECK(kassa_json_dump(NULL) == NULL);
    CHECK(kassa_verify(NULL) == NULL);
    kassa_json_release(NULL);
    kassa_free(NULL);
    kassa_close(client);
}

static void before_configure(void)
{
    kassa_client *client = open_client(LIBRARY_MODE);
    json_t *plans = kassa_plans(client), *memberships = kassa_memberships(client);
    CHECK(!kassa_is_initialized(client));
    CHECK(!kassa_has_access(client, "prod_x"));
    CHECK(json_is_array(plans) && json_array_size(plans) == 0);
    CHECK(json_is_array(memberships) && json_array_size(memberships) == 0);
    json_decref(plans);
    json_decref(memberships);

    json_t *object = json_object();
    json_t *person = kassa_person(client), *pending = kassa_pending(client), *id = json_string("1");
    CHECK(json_is_null(person));
    CHECK(json_integer_value(json_object_get(pending, "pending_transaction_count")) == 0);
    CHECK(!kassa_has_perk(client, "premium"));
    kassa_op early[] = {kassa_refresh_plans(client), kassa_purchase(client, "plan_x", NULL),
                        kassa_log_in(client, "user", NULL), kassa_restore_purchases(client),
                        kassa_get_products(client, NULL), kassa_set_attributes(client, object, NULL),
                        kassa_report_transaction(client, id), kassa_sync_purchases(client),
                        kassa_sync_pending_work(client),
                        kassa_simulate(client, object), kassa_store_call(client, "storefront", NULL)};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        json_t *completion = finish(client, early[i]);
        CHECK(is(completion, "error.code", "not_configured"));
        json_decref(completion);
    }
    json_decref(person);
    json_decref(pending);
    json_decref(id);
    json_decref(object);
    kassa_close(client);
}

/* With a back end that has no people, what is about them fails, and the rest goes on. */
static void no_people(void)
{
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    json_t *object = json_object(), *id = json_string("1"), *wrong = json_pack("[s, i]", "pro", 1);
    CHECK(kassa_get_products(client, object) == 0);
    CHECK(kassa_get_products(client, wrong) == 0);
    CHECK(kassa_report_transaction(client, wrong) == 0);
    kassa_op ops[] = {kassa_get_products(client, NULL), kassa_set_attributes(client, object, NULL),
                      kassa_report_transaction(client, id), kassa_sync_purchases(client)};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        json_t *completion = finish(client, ops[i]);
        CHECK(is(completion, "error.code", "unsupported"));
        json_decref(completion);
    }
    json_t *worked = finish(client, kassa_sync_pending_work(client));
    CHECK(json_is_true(at(worked, "result.completed")));
    json_decref(worked);
    json_decref(wrong);
    json_decref(id);
    json_decref(object);
    kassa_close(client);
}

static json_t *nested_arrays(int depth)
{
    json_t *inner = json_array();
    for (int level = 1; level < depth; level++) {
        json_t *outer = json_array();
        json_array_append_new(outer, inner);
        inner = outer;
    }
    return inner;
}

static json_t *nested_objects(int depth)
{
    json_t *inner = json_object();
    for (int level = 1; level < depth; level++) {
        json_t *outer = json_object();
        json_object_set_new(outer, "backend", inner);
        inner = outer;
    }
    return inner;
}

static json_t *with_backend_field(const char *key, json_t *value)
{
    json_t *config = parse(PAID_AT_ONCE);
    json_object_set_new(json_object_get(config, "backend"), key, value);
    return config;
}

/* Documents of every JSON type and of every size, in every place. */
static size_t garbage(json_t *documents[])
{
    size_t count = 0;
    documents[count++] = json_null();
    documents[count++] = json_true();
    documents[count++] = json_false();
    documents[count++] = json_integer(INT64_MIN);
    documents[count++] = json_real(1e308);
    documents[count++] = json_string("");
    documents[count++] = json_array();
    documents[count++] = json_object();
    documents[count++] = nested_arrays(10000);
    documents[count++] = nested_objects(10000);
    documents[count++] = json_pack("{s:n}", "backend");
    documents[count++] = json_pack("{s:[i]}", "backend", 1);
    documents[count++] = json_pack("{s:{s:i}}", "backend", "kind", 1);
    documents[count++] = json_pack("{s:s, s:s}", "app_id", "../..", "storage", "\x01");
    documents[count++] = with_backend_field("kind", json_null());
    documents[count++] = with_backend_field("company_id", json_stringn("biz_\0x", 6));
    documents[count++] = with_backend_field("base_url", json_string("http://example.com"));
    documents[count++] = with_backend_field("product_ids", json_real(0.5));
    documents[count++] = with_backend_field("product_ids", nested_arrays(10000));
    documents[count++] = with_backend_field("catalogue", json_integer(7));
    documents[count++] = with_backend_field("catalogue", json_pack("{s:s}", "products", "none"));
    return count;
}

static void garbage_documents_end_no_process(void)
{
    json_t *documents[32];
    size_t count = garbage(documents);
    kassa_client *configured = open_configured(LIBRARY_MODE, PAID_AT_ONCE);
    kassa_client *fresh = open_client(HOST_MODE);
    for (size_t i = 0; i < count; i++) {
        call_everything(fresh, documents[i], "plan_x");
        call_everything(configured, documents[i], "plan_x");
        call_everything(NULL, documents[i], "plan_x");
        CHECK(documents[i]->refcount == 1 || documents[i]->refcount == (size_t)-1);
        json_decref(documents[i]);
    }
    kassa_close(configured);
    kassa_close(fresh);
}

static void wrong_configurations_change_nothing(void)
{
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));

    const char *wrong[] = {"{\"backend\":[]}", "{\"backend\":{\"kind\":\"whop\"}}", "{\"backned\":{}}",
                           "{\"backend\":{\"kind\":\"whop\",\"company_id\":\"x\",\"api_key\":\"k\"}}",
                           ("{\"backend\":{\"kind\":\"whop\",\"company_id\":\"biz_x\",\"api_key\":\"k\","
                            "\"base_url\":\"http://example.com\"}}")};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *completion = finish(client, configure(client, wrong[i]));
        CHECK(is(completion, "error.code", "invalid_configuration"));
        CHECK(kassa_has_access(client, PRODUCT));
        json_decref(completion);
    }
    json_t *misspelt = finish(client, configure(client, "{" BACKEND ",\"ofline\":{}}"));
    const char *message = json_string_value(at(misspelt, "error.message"));
    CHECK(message && strstr(message, "ofline") && strstr(message, "offline"));
    json_decref(misspelt);
    kassa_close(client);
}

static void strange_ids(void)
{
    char *endless = malloc(10241);
    memset(endless, 'x', 10240);
    memcpy(endless, "plan_", 5);
    endless[10240] = '\0';
    const char *ids[] = {"", " ", "a/b", "..", "%2F", "plan_", "\xf0\x9f\x8d\x92\xf0\x9f\x8d\x92",
                         "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "e\xcc\x81", "\xc3\xa9", "a?b#c d+e_f",
                         "\xff\xfe", "plan_\xc3", "\xed\xa0\x80", endless};
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        CHECK(!kassa_has_access(client, ids[i]));
        kassa_json_release(kassa_explain(client, ids[i]));
        call_everything(client, object, ids[i]);
        kassa_op op = kassa_purchase(client, ids[i], NULL);
        if (op == 0) continue; /* refused at once */
        json_t *purchase = finish(client, op);
        CHECK(at(purchase, "error") != NULL);
        json_decref(purchase);
    }
    json_decref(object);
    free(endless);
    kassa_close(client);
}

/* An app user id works byte for byte, or is refused at once. */
static void strange_app_users(void)
{
    char longest[502];
    memset(longest, 'u', 501);
    longest[501] = '\0';
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    const char *good[] = {" ", "a/b", "..", "%2F", "\xf0\x9f\x8d\x92", "\xd7\xa9\xd7\x9c", "e\xcc\x81", "\xc3\xa9",
                          "a?b#c d+e_f&g=h", longest + 1};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        json_t *completion = finish(client, kassa_log_in(client, good[i], NULL));
        char *user = kassa_app_user_id(client);
        CHECK(at(completion, "result") != NULL);
        CHECK(is(completion, "result.app_user_id", good[i]));
        CHECK(user && strcmp(user, good[i]) == 0);
        kassa_free(user);
        json_decref(completion);
    }
    const char *bad[] = {"", longest, "\xff", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kassa_op op = kassa_log_in(client, bad[i], NULL);
        if (op == 0) continue; /* refused at once */
        json_t *completion = finish(client, op);
        CHECK(is(completion, "error.code", "invalid_argument"));
        json_decref(completion);
    }
    char *user = kassa_app_user_id(client);
    CHECK(user && strcmp(user, longest + 1) == 0); /* still the last good one */
    kassa_free(user);
    kassa_close(client);
}

static void json_text_is_bounded(void)
{
    size_t depth = 10000;
    char *text = malloc(2 * depth);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    json_t *error = NULL;
    CHECK(kassa_json_parse(text, 2 * depth, &error) == NULL);
    CHECK(json_is_string(json_object_get(error, "message")));
    json_decref(error);
    free(text);
    const char *refused[] = {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "1 2", "\"\xff\"", "99999999999999999999", "nul"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        error = NULL;
        CHECK(kassa_json_parse(refused[i], strlen(refused[i]), &error) == NULL);
        CHECK(is(error, "code", "invalid_argument"));
        json_decref(error);
    }
    json_t *document = parse("{\"price\":1.5, \"id\":\"a\"}");
    char *dumped = kassa_json_dump(document);
    CHECK(dumped && strchr(dumped, ' ') == NULL && strstr(dumped, "\"price\":1.5"));
    kassa_free(dumped);
    json_decref(document);
}

static kassa_client *inherited;

static void use_inherited_client(void)
{
    json_t *event = kassa_next_event(inherited, 0);
    CHECK(is(event, "type", "diagnostic") && is(event, "code", "forked"));
    json_decref(event);
    expect_every_call_to_fail(inherited);
}

static void inherited_client_library_mode(void)
{
    inherited = open_configured(LIBRARY_MODE, PAID_AT_ONCE);
    CHECK(check_in_child(use_inherited_client));
    CHECK(kassa_is_initialized(inherited)); /* the parent's goes on */
    kassa_close(inherited);
}

static void inherited_client_host_mode(void)
{
    inherited = open_configured(HOST_MODE, PAID_AT_ONCE);
    CHECK(check_in_child(use_inherited_client));
    CHECK(kassa_is_initialized(inherited));
    kassa_close(inherited);
}

static void *abuse_from_thread(void *client)
{
    json_t *config = parse(PAID_AT_ONCE), *empty = json_object();
    for (int round = 0; round < 20; round++) {
        call_everything(client, round % 2 ? config : empty, round % 3 ? "plan_x" : "user");
        kassa_json_release(kassa_next_event(client, 1));
    }
    json_decref(config);
    json_decref(empty);
    return NULL;
}

static void eight_threads(const char *options)
{
    pthread_t threads[8];
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, abuse_from_thread, client);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    json_t *completion = finish(client, configure(client, PAID_AT_ONCE));
    CHECK(at(completion, "result") != NULL);
    json_decref(completion);
    kassa_close(client);
}

static void eight_threads_library_mode(void)
{
    eight_threads(LIBRARY_MODE);
}

static void eight_threads_host_mode(void)
{
    eight_threads(HOST_MODE);
}

int main(void)
{
    RUN(no_client);
    RUN(invented_clients);
    RUN(closed_client);
    RUN(null_arguments);
    RUN(before_configure);
    RUN(no_people);
    RUN(garbage_documents_end_no_process);
    RUN(wrong_configurations_change_nothing);
    RUN(strange_ids);
    RUN(strange_app_users);
    RUN(json_text_is_bounded);
    RUN(inherited_client_library_mode);
    RUN(inherited_client_host_mode);
    RUN(eight_threads_library_mode);
    RUN(eight_threads_host_mode);
    DONE();
}
