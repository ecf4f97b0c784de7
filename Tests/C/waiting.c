/* kassa_wait and kassa_next_event: who gets which document, and when a wait ends. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

static const char *const modes[] = {LIBRARY_MODE, HOST_MODE};

/* A purchase that stays open: its checkout waits for the host. */
static kassa_op open_checkout(kassa_client *client)
{
    kassa_op op = kassa_purchase(client, PLAN, NULL);
    CHECK(op != 0);
    return op;
}

static void unknown_and_taken_operations_return_at_once(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_configured(modes[mode], PAID_AT_ONCE);
        kassa_op op = kassa_refresh_plans(client);
        json_decref(finish(client, op));
        int64_t start = now_ms();
        CHECK(kassa_wait(client, op, -1) == NULL);
        CHECK(kassa_wait(client, op + 1000, -1) == NULL);
        CHECK(kassa_wait(client, 0, -1) == NULL);
        CHECK(now_ms() - start < 100);
        kassa_close(client);
    }
}

static void waits_last_as_long_as_asked(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_configured(modes[mode], SHOWN_BY_HOST);
        kassa_op op = open_checkout(client);
        json_t *request = next_of_type(client, "request");
        CHECK(is(request, "service", "checkout") && is(request, "method", "present"));
        json_decref(request);
        while (take(kassa_next_event(client, 50))) continue;

        int64_t start = now_ms();
        CHECK(kassa_wait(client, op, 0) == NULL);
        CHECK(now_ms() - start < 50);
        start = now_ms();
        CHECK(kassa_wait(client, op, 200) == NULL);
        int64_t waited = now_ms() - start;
        CHECK(waited >= 199 && waited < 400);
        start = now_ms();
        CHECK(kassa_next_event(client, 200) == NULL);
        waited = now_ms() - start;
        CHECK(waited >= 199 && waited < 400);
        kassa_close(client);
    }
}

static void wait_returns_early_for_a_request(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_configured(modes[mode], SHOWN_BY_HOST);
        kassa_op op = open_checkout(client);
        int64_t start = now_ms();
        CHECK(kassa_wait(client, op, 10000) == NULL);
        CHECK(now_ms() - start < 5000);

        json_t *request = next_of_type(client, "request");
        json_t *reply = parse("{\"outcome\":\"cancelled\"}");
        uint64_t id = (uint64_t)json_integer_value(at(request, "id"));
        CHECK(kassa_respond(client, id, reply));
        CHECK(!kassa_respond(client, id, reply));
        json_t *completion = finish(client, op);
        CHECK(is(completion, "result.outcome", "cancelled"));
        json_decref(completion);
        json_decref(reply);
        json_decref(request);
        kassa_close(client);
    }
}

static void completion_that_nobody_waits_for_is_an_event(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_configured(modes[mode], PAID_AT_ONCE);
        kassa_op op = kassa_refresh_plans(client);
        json_t *completion = next_of_type(client, "completed");
        CHECK((kassa_op)json_integer_value(at(completion, "op")) == op);
        CHECK(kassa_wait(client, op, -1) == NULL); /* taken already */
        json_decref(completion);
        kassa_close(client);
    }
}

/* S093: each completion comes once, and a failed purchase may be followed by the next in the same breath. */
static void failure_is_delivered_once(void)
{
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    kassa_op first = kassa_purchase(client, "plan_nobody_sells", NULL);
    json_t *failure = finish(client, first);
    CHECK(at(failure, "error.code") != NULL);
    kassa_op second = kassa_purchase(client, PLAN, NULL);
    json_t *success = finish(client, second);
    CHECK(is(success, "result.outcome", "purchased"));
    for (json_t *event = kassa_next_event(client, 50); event; event = kassa_next_event(client, 50)) {
        CHECK(!is(event, "type", "completed"));
        json_decref(event);
    }
    json_decref(failure);
    json_decref(success);
    kassa_close(client);
}

enum { WAITERS = 16, ROUNDS = 25 };

static void *wait_for_own_operations(void *argument)
{
    kassa_client *client = argument;
    for (int round = 0; round < ROUNDS; round++) {
        kassa_op op = kassa_refresh_plans(client);
        json_t *completion = kassa_wait(client, op, 20000);
        CHECK((kassa_op)json_integer_value(at(completion, "op")) == op);
        json_decref(completion);
    }
    return NULL;
}

static void many_threads_wait_at_once(void)
{
    for (int mode = 0; mode < 2; mode++) {
        pthread_t threads[WAITERS];
        kassa_client *client = open_configured(modes[mode], PAID_AT_ONCE);
        for (int i = 0; i < WAITERS; i++) pthread_create(&threads[i], NULL, wait_for_own_operations, client);
        for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
        for (json_t *event = kassa_next_event(client, 0); event; event = kassa_next_event(client, 0)) {
            CHECK(!is(event, "type", "completed"));
            json_decref(event);
        }
        kassa_close(client);
    }
}

static kassa_op waited_for;
static int taken;

static void *wait_for_one(void *client)
{
    json_t *completion = kassa_wait(client, waited_for, 5000);
    if (take(completion)) __atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void one_of_many_waiters_takes_a_completion(void)
{
    for (int mode = 0; mode < 2; mode++) {
        pthread_t threads[WAITERS];
        kassa_client *client = open_configured(modes[mode], SHOWN_BY_HOST);
        waited_for = open_checkout(client);
        json_decref(next_of_type(client, "request"));
        taken = 0;
        for (int i = 0; i < WAITERS; i++) pthread_create(&threads[i], NULL, wait_for_one, client);
        usleep(50000);
        CHECK(kassa_cancel(client, waited_for));
        for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
        CHECK(taken == 1);
        CHECK(!kassa_cancel(client, waited_for));
        kassa_close(client);
    }
}

int main(void)
{
    RUN(unknown_and_taken_operations_return_at_once);
    RUN(waits_last_as_long_as_asked);
    RUN(wait_returns_early_for_a_request);
    RUN(completion_that_nobody_waits_for_is_an_event);
    RUN(failure_is_delivered_once);
    RUN(many_threads_wait_at_once);
    RUN(one_of_many_waiters_takes_a_completion);
    DONE();
}
