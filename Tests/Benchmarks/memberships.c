/*
 * kassa_memberships against Jansson's deep copy of the same document.
 *
 *   memberships DIRECTORY CONFIG
 */
#include <jansson.h>

#include "bench.h"
#include "kassa.h"

typedef struct {
    kassa_client *client;
    json_t *document;
} context;

static int64_t ask(void *argument)
{
    int64_t start = now_ns();
    json_t *memberships = kassa_memberships(((context *)argument)->client);
    int64_t time = now_ns() - start;
    json_decref(memberships);
    return time;
}

static int64_t copy(void *argument)
{
    int64_t start = now_ns();
    json_t *memberships = json_deep_copy(((context *)argument)->document);
    int64_t time = now_ns() - start;
    json_decref(memberships);
    return time;
}

int main(int count, char **arguments)
{
    if (count != 3) return 2;
    json_t *options = json_pack("{s:s}", "storage", arguments[1]), *config = json_load_file(arguments[2], 0, NULL);
    kassa_client *client = kassa_open(options, NULL);
    kassa_json_release(kassa_wait(client, kassa_configure(client, config), 15000));
    context both = {client, kassa_memberships(client)};
    if (json_array_size(both.document) != 1000) {
        fprintf(stderr, "there are %zu memberships, not 1000\n", json_array_size(both.document));
        return 2;
    }
    compare("kassa_memberships of 1,000, against json_deep_copy", 1.3, 101, ask, copy, &both);
    json_decref(both.document);
    kassa_close(client);
    return 0;
}
