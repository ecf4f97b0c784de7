/* kassa_close and kassa_cancel: whatever is going on, they end it, soon. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

static const char *const modes[] = {LIBRARY_MODE, HOST_MODE};

enum { WAITERS = 4 };

typedef struct {
    kassa_client *client;
    kassa_op op;
    json_t *completion;
} waiter;

static void *wait_for_completion(void *argument)
{
    waiter *self = argument;
    self->completion = kassa_wait(self->client, self->op, -1);
    return NULL;
}

static void *drain(void *client)
{
    while (take(kassa_next_event(client, -1))) continue;
    return NULL;
}

/* Operations under way, requests open, threads waiting for each of them: all of it ends within two seconds. */
static void close_during_everything(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_configured(modes[mode], SHOWN_BY_HOST);
        waiter waiters[WAITERS];
        pthread_t threads[WAITERS], reader;
        kassa_op purchase = kassa_purchase(client, PLAN, NULL);
        pthread_create(&reader, NULL, drain, client);
        for (int i = 0; i < WAITERS; i++) {
            waiters[i] = (waiter){client, purchase, NULL};
            pthread_create(&threads[i], NULL, wait_for_completion, &waiters[i]);
        }
        usleep(100000);
        int64_t start = now_ms();
        kassa_close(client);
        CHECK(now_ms() - start < 2000);
        int completions = 0;
        for (int i = 0; i < WAITERS; i++) {
            pthread_join(threads[i], NULL);
            if (!waiters[i].completion) continue;
            completions++;
            CHECK(is(waiters[i].completion, "error.code", "closed"));
            json_decref(waiters[i].completion);
        }
        pthread_join(reader, NULL);
        CHECK(now_ms() - start < 2500);
        CHECK(completions <= 1);
    }
}

static void waiting_thread_gets_the_closed_operation(void)
{
    for (int mode = 0; mode < 2; mode++) {
        int port, listener = silent_listener(&port);
        char *config = served_at_port(port);
        kassa_client *client = open_client(modes[mode]);
        waiter self = {client, configure(client, config), NULL};
        pthread_t thread;
        pthread_create(&thread, NULL, wait_for_completion, &self);
        usleep(200000);
        int64_t start = now_ms();
        kassa_close(client);
        pthread_join(thread, NULL);
        CHECK(now_ms() - start < 100);
        CHECK(is(self.completion, "error.code", "closed"));
        json_decref(self.completion);
        free(config);
        close(listener);
    }
}

static void cancel_ends_an_operation_at_once(void)
{
    for (int mode = 0; mode < 2; mode++) {
        int port, listener = silent_listener(&port);
        char *config = served_at_port(port);
        kassa_client *client = open_client(modes[mode]);
        kassa_op op = configure(client, config);
        CHECK(kassa_wait(client, op, 200) == NULL);
        int64_t start = now_ms();
        CHECK(kassa_cancel(client, op));
        json_t *completion = kassa_wait(client, op, 2000);
        CHECK(now_ms() - start < 100);
        CHECK(is(completion, "error.code", "cancelled"));
        json_decref(completion);
        start = now_ms();
        kassa_close(client);
        CHECK(now_ms() - start < 100);
        free(config);
        close(listener);
    }
}

static void cancelled_purchase_withdraws_its_request(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_configured(modes[mode], SHOWN_BY_HOST);
        kassa_op op = kassa_purchase(client, PLAN, NULL);
        json_t *request = next_of_type(client, "request"), *reply = parse("{\"outcome\":\"cancelled\"}");
        kassa_op other = kassa_purchase(client, PLAN, NULL);
        json_t *refused = finish(client, other);
        CHECK(is(refused, "error.code", "purchase_in_progress"));
        CHECK(kassa_cancel(client, op));
        json_t *completion = finish(client, op);
        CHECK(is(completion, "result.outcome", "cancelled"));
        json_t *withdrawn = next_of_type(client, "request_cancelled");
        CHECK(json_equal(at(withdrawn, "id"), at(request, "id")));
        CHECK(!kassa_respond(client, (uint64_t)json_integer_value(at(request, "id")), reply));
        json_decref(request);
        json_decref(reply);
        json_decref(refused);
        json_decref(completion);
        json_decref(withdrawn);
        kassa_close(client);
    }
}

static void *ask_and_start(void *client)
{
    while (kassa_revision(client) != 0) {
        kassa_has_access(client, "prod_x");
        kassa_json_release(kassa_plans(client));
        kassa_json_release(kassa_wait(client, kassa_refresh_plans(client), 1));
    }
    return NULL;
}

static void calls_race_with_close(void)
{
    for (int round = 0; round < 20; round++) {
        pthread_t threads[4];
        kassa_client *client = open_configured(modes[round % 2], PAID_AT_ONCE);
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, ask_and_start, client);
        usleep(5000);
        int64_t start = now_ms();
        kassa_close(client);
        CHECK(now_ms() - start < 2000);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    RUN(close_during_everything);
    RUN(waiting_thread_gets_the_closed_operation);
    RUN(cancel_ends_an_operation_at_once);
    RUN(cancelled_purchase_withdraws_its_request);
    RUN(calls_race_with_close);
    DONE();
}
