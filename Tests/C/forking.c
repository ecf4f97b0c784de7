/* A child made by fork opens clients of its own, in both modes, whatever the parent was doing. */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

static kassa_client *inherited;
static const char *own_mode;

static void open_own_client(void)
{
    kassa_client *own = open_configured(own_mode, PAID_AT_ONCE);
    CHECK(kassa_wait(inherited, 1, -1) == NULL);
    json_decref(finish(own, kassa_purchase(own, PLAN, NULL)));
    CHECK(kassa_has_access(own, PRODUCT));
    kassa_close(inherited);
    kassa_close(own);
}

static void fork_while(const char *parent_mode, const char *child_mode)
{
    inherited = open_configured(parent_mode, SHOWN_BY_HOST);
    kassa_op open = kassa_purchase(inherited, PLAN, NULL);
    own_mode = child_mode;
    CHECK(check_in_child(open_own_client));
    CHECK(kassa_cancel(inherited, open));
    json_decref(finish(inherited, open));
    kassa_close(inherited);
}

static void library_client_then_library_client_in_child(void)
{
    fork_while(LIBRARY_MODE, LIBRARY_MODE);
}

static void library_client_then_host_client_in_child(void)
{
    fork_while(LIBRARY_MODE, HOST_MODE);
}

static void host_client_then_library_client_in_child(void)
{
    fork_while(HOST_MODE, LIBRARY_MODE);
}

static void host_client_then_host_client_in_child(void)
{
    fork_while(HOST_MODE, HOST_MODE);
}

static char *state;

static void buy_in_shared_directory(void)
{
    char *options = stored_in(state, "library");
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    json_t *bought = finish(client, kassa_purchase(client, PLAN, NULL));
    CHECK(is(bought, "result.outcome", "purchased"));
    json_decref(bought);
    free(options);
    kassa_close(client);
}

/* What one process learns, another that has the same directory open answers within a second. */
static void two_processes_share_a_directory(void)
{
    state = temporary_directory();
    char *options = stored_in(state, "library");
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    CHECK(!kassa_is_subscribed(client));
    CHECK(check_in_child(buy_in_shared_directory));
    int64_t learnt = now_ms() + 1000;
    while (!kassa_is_subscribed(client) && now_ms() < learnt) usleep(10000);
    CHECK(kassa_is_subscribed(client));
    free(options);
    kassa_close(client);
}

int main(void)
{
    RUN(library_client_then_library_client_in_child);
    RUN(library_client_then_host_client_in_child);
    RUN(host_client_then_library_client_in_child);
    RUN(host_client_then_host_client_in_child);
    RUN(two_processes_share_a_directory);
    DONE();
}
