/* An operation without input or output, from start to completion, against a bare eventfd round trip of two threads. */
#include <jansson.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"
#include "kassa.h"

enum { REPETITIONS = 1000 };

typedef struct {
    kassa_client *client;
    int there, back;
} context;

/* Before configure, refresh_plans goes to the loop and ends there, with `not_configured`. */
static int64_t operations(void *argument)
{
    kassa_client *client = ((context *)argument)->client;
    int64_t start = now_ns();
    for (int i = 0; i < REPETITIONS; i++) kassa_json_release(kassa_wait(client, kassa_refresh_plans(client), -1));
    return (now_ns() - start) / REPETITIONS;
}

static int64_t round_trips(void *argument)
{
    context *both = argument;
    eventfd_t value;
    int64_t start = now_ns();
    for (int i = 0; i < REPETITIONS; i++) {
        if (eventfd_write(both->there, 1) != 0 || eventfd_read(both->back, &value) != 0) exit(2);
    }
    return (now_ns() - start) / REPETITIONS;
}

static void *echo(void *argument)
{
    context *both = argument;
    eventfd_t value;
    while (eventfd_read(both->there, &value) == 0 && value == 1) eventfd_write(both->back, 1);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    context both = {kassa_open(NULL, NULL), eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)};
    pthread_create(&thread, NULL, echo, &both);
    compare("an operation without I/O, against an eventfd round trip", 2.0, 51, operations, round_trips, &both);
    eventfd_write(both.there, 2); /* ends the echo */
    pthread_join(thread, NULL);
    kassa_close(both.client);
    return 0;
}
