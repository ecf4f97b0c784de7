/* With five megabytes of cached state, whatever does not copy a document returns within a millisecond. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "support.h"

enum { PLANS = 2500, DESCRIPTION = 2000, REPETITIONS = 21 };

/* The sandbox's configuration, with a catalogue of many plans that are described at length. */
static char *large_configuration(void)
{
    json_t *config = parse(PAID_AT_ONCE), *plans = json_array();
    char description[DESCRIPTION + 1];
    memset(description, 'd', DESCRIPTION);
    description[DESCRIPTION] = '\0';
    for (int i = 0; i < PLANS; i++) {
        char *id = i == 0 ? strdup(PLAN) : format("plan_%d", i);
        json_array_append_new(plans, json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:f}", "id", id, "product_id", PRODUCT,
                                               "title", "Plan", "description", description, "plan_type", "renewal",
                                               "billing_period", 30, "renewal_price", 9.99));
        free(id);
    }
    json_t *catalogue = json_pack("{s:{s:s, s:s}, s:[{s:s, s:s}], s:o, s:[{s:s, s:[s]}], s:[]}",
                                  "account", "id", COMPANY, "title", "Large",
                                  "products", "id", PRODUCT, "title", "Pro",
                                  "plans", plans,
                                  "api_keys", "key", API_KEY, "permissions", "*",
                                  "users");
    json_object_set_new(json_object_get(config, "backend"), "catalogue", catalogue);
    char *text = json_dumps(config, 0);
    json_decref(config);
    return text;
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The median of a call's time is at most a millisecond: one slow call among many is the machine's. */
#define CHECK_FAST(call)                                                \
    do {                                                                \
        int64_t times[REPETITIONS];                                     \
        for (int i = 0; i < REPETITIONS; i++) {                         \
            int64_t start = now_us();                                   \
            call;                                                       \
            times[i] = now_us() - start;                                \
        }                                                               \
        qsort(times, REPETITIONS, sizeof *times, by_size);              \
        if (!CHECK(times[REPETITIONS / 2] <= 1000))                     \
            printf("# %s: %d us\n", #call, (int)times[REPETITIONS / 2]); \
    } while (0)

static void wake(void *userdata)
{
    (void)userdata;
}

static void calls_return_within_a_millisecond(const char *options)
{
    char *config = large_configuration();
    kassa_client *client = open_configured(options, config);
    json_t *plans = kassa_plans(client), *empty = json_object();
    CHECK(json_array_size(plans) == PLANS);
    json_decref(plans);
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));

    CHECK_FAST(kassa_is_initialized(client));
    CHECK_FAST(kassa_is_subscribed(client));
    CHECK_FAST(kassa_has_access(client, PRODUCT));
    CHECK_FAST(kassa_supports_external_purchases(client));
    CHECK_FAST(kassa_free(kassa_device_id(client)));
    CHECK_FAST(kassa_free(kassa_app_user_id(client)));
    CHECK_FAST(kassa_revision(client));
    CHECK_FAST(kassa_event_fd(client));
    CHECK_FAST(kassa_respond(client, 1, empty));
    CHECK_FAST(kassa_set_wakeup(client, wake, NULL));
    CHECK_FAST(kassa_set_wakeup(client, NULL, NULL));
    CHECK_FAST(kassa_cancel(client, kassa_refresh_plans(client)));
    CHECK_FAST(kassa_cancel(client, kassa_restore_purchases(client)));
    CHECK_FAST(kassa_cancel(client, kassa_purchase(client, PLAN, NULL)));
    CHECK_FAST(kassa_simulate(client, empty));
    CHECK_FAST(kassa_log_in(client, "user-1", NULL));
    CHECK_FAST(kassa_log_out(client));
    json_decref(empty);
    free(config);
    kassa_close(client);
}

static void calls_are_fast_in_library_mode(void)
{
    calls_return_within_a_millisecond(LIBRARY_MODE);
}

static void calls_are_fast_in_host_mode(void)
{
    calls_return_within_a_millisecond(HOST_MODE);
}

int main(void)
{
    RUN(calls_are_fast_in_library_mode);
    RUN(calls_are_fast_in_host_mode);
    DONE();
}
