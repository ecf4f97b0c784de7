/* kassa_event_fd in poll and epoll, and the wake-up function, in both modes. */
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

static const char *const modes[] = {LIBRARY_MODE, HOST_MODE};

static bool readable(int descriptor, int timeout_ms)
{
    struct pollfd entry = {.fd = descriptor, .events = POLLIN};
    return poll(&entry, 1, timeout_ms) == 1 && (entry.revents & POLLIN);
}

/* Takes events as an event loop does, only when `wait` says so, until this operation's completion came. */
static bool completes(kassa_client *client, kassa_op op, bool (*wait)(int, int), int descriptor)
{
    int64_t deadline = now_ms() + 10000;
    while (now_ms() < deadline) {
        if (!wait(descriptor, 1000)) continue;
        for (json_t *event = kassa_next_event(client, 0); event; event = kassa_next_event(client, 0)) {
            bool mine = is(event, "type", "completed") && (kassa_op)json_integer_value(at(event, "op")) == op;
            json_decref(event);
            if (mine) return true;
        }
    }
    return false;
}

static bool epoll_readable(int epoll, int timeout_ms)
{
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, timeout_ms) == 1;
}

static void poll_drives_the_whole_flow(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_client(modes[mode]);
        int descriptor = kassa_event_fd(client);
        CHECK(descriptor >= 0);
        CHECK(kassa_event_fd(client) == descriptor);
        CHECK(completes(client, configure(client, PAID_AT_ONCE), readable, descriptor));
        CHECK(completes(client, kassa_purchase(client, PLAN, NULL), readable, descriptor));
        CHECK(kassa_is_subscribed(client));
        kassa_close(client);
    }
}

static void epoll_drives_the_whole_flow(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_client(modes[mode]);
        int epoll = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event interest = {.events = EPOLLIN};
        CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, kassa_event_fd(client), &interest) == 0);
        CHECK(completes(client, configure(client, PAID_AT_ONCE), epoll_readable, epoll));
        CHECK(completes(client, kassa_restore_purchases(client), epoll_readable, epoll));
        close(epoll);
        kassa_close(client);
    }
}

static void quiet_descriptor_is_not_readable(void)
{
    for (int mode = 0; mode < 2; mode++) {
        kassa_client *client = open_configured(modes[mode], PAID_AT_ONCE);
        while (take(kassa_next_event(client, 100))) continue;
        CHECK(!readable(kassa_event_fd(client), 200)); /* or an idle host would spin */
        kassa_op op = kassa_refresh_plans(client);
        CHECK(readable(kassa_event_fd(client), 5000));
        json_decref(finish(client, op));
        kassa_close(client);
    }
}

static void count(void *userdata)
{
    __atomic_add_fetch((int *)userdata, 1, __ATOMIC_RELAXED);
}

static void wakeup_tells_of_events(void)
{
    for (int mode = 0; mode < 2; mode++) {
        int calls = 0;
        kassa_client *client = open_configured(modes[mode], PAID_AT_ONCE);
        while (take(kassa_next_event(client, 100))) continue;
        kassa_set_wakeup(client, count, &calls);
        kassa_refresh_plans(client);
        int64_t deadline = now_ms() + 5000;
        json_t *completion = NULL;
        while (!completion && now_ms() < deadline) {
            json_t *event = kassa_next_event(client, 50);
            if (is(event, "type", "completed")) completion = event;
            else json_decref(event);
        }
        CHECK(take(completion));
        while (__atomic_load_n(&calls, __ATOMIC_RELAXED) == 0 && now_ms() < deadline) usleep(1000);
        CHECK(__atomic_load_n(&calls, __ATOMIC_RELAXED) >= 1);

        kassa_set_wakeup(client, NULL, NULL);
        int before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
        kassa_refresh_plans(client);
        CHECK(take(next_of_type(client, "completed")));
        CHECK(__atomic_load_n(&calls, __ATOMIC_RELAXED) == before);
        kassa_close(client);
    }
}

int main(void)
{
    RUN(poll_drives_the_whole_flow);
    RUN(epoll_drives_the_whole_flow);
    RUN(quiet_descriptor_is_not_readable);
    RUN(wakeup_tells_of_events);
    DONE();
}
