/* Opening and closing a thousand times costs nothing that stays. */
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "support.h"

enum { CYCLES = 1000, WARM_UP = 100, MEGABYTE = 1 << 20 };

static void cycle(const char *options)
{
    int threads = thread_count(), descriptors = descriptor_count();
    size_t before = 0;
    for (int i = 0; i < CYCLES; i++) {
        if (i == WARM_UP) before = mallinfo2().uordblks;
        kassa_close(open_configured(options, PAID_AT_ONCE));
    }
    size_t after = mallinfo2().uordblks;
    CHECK(after < before + MEGABYTE); /* one kilobyte lost in each cycle would show */
    CHECK(thread_count() == threads);
    CHECK(descriptor_count() == descriptors);
}

static void thousand_cycles_library_mode(void)
{
    cycle(LIBRARY_MODE);
}

static void thousand_cycles_host_mode(void)
{
    cycle(HOST_MODE);
}

static void thousand_configures_of_one_client(void)
{
    kassa_client *client = open_configured(HOST_MODE, PAID_AT_ONCE);
    size_t before = 0;
    for (int i = 0; i < CYCLES; i++) {
        if (i == WARM_UP) before = mallinfo2().uordblks;
        json_decref(finish(client, configure(client, i % 2 ? PAID_AT_ONCE : SHOWN_BY_HOST)));
        while (take(kassa_next_event(client, 0))) continue;
    }
    CHECK(mallinfo2().uordblks < before + MEGABYTE);
    kassa_close(client);
}

static void many_clients_at_once(void)
{
    kassa_client *clients[200];
    for (int i = 0; i < 200; i++) clients[i] = open_client(i % 2 ? LIBRARY_MODE : HOST_MODE);
    for (int i = 0; i < 200; i++) CHECK(kassa_revision(clients[i]) > 0);
    for (int i = 0; i < 200; i++) kassa_close(clients[i]);
}

int main(void)
{
    RUN(thousand_cycles_library_mode);
    RUN(thousand_cycles_host_mode);
    RUN(thousand_configures_of_one_client);
    RUN(many_clients_at_once);
    DONE();
}
