/*
 * An outbox, filled and emptied.
 *
 *   outbox fill DIRECTORY CONFIG FIRST LAST     reports the receipts of these numbers; number 1 brings access
 *   outbox send DIRECTORY CONFIG                sends what waits; prints milliseconds and the peak of the memory in KiB
 */
#include <jansson.h>
#include <string.h>

#include "bench.h"
#include "kassa.h"

static long peak_memory(void)
{
    long peak = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL && sscanf(line, "VmHWM: %ld", &peak) != 1) continue;
    if (file != NULL) fclose(file);
    return peak;
}

/* How many wait; -1 if that cannot be told. */
static json_int_t waiting(kassa_client *client)
{
    json_t *end = kassa_wait(client, kassa_sync_pending_work(client), -1), *result = json_object_get(end, "result");
    json_int_t count = json_is_object(result) ? json_integer_value(json_object_get(result, "pending_transaction_count"))
                                              : -1;
    json_decref(end);
    return count;
}

static void fill(kassa_client *client, kassa_op op, int first, int last)
{
    json_decref(kassa_wait(client, op, -1));
    json_decref(kassa_wait(client, kassa_log_in(client, "alice", NULL), -1));
    for (int i = first; i <= last; i++) {
        json_t *id = json_sprintf("bench-%d", i);
        json_decref(kassa_wait(client, kassa_report_transaction(client, id), -1));
        json_decref(id);
    }
    while (first == 1 && !kassa_has_perk(client, "premium")) json_decref(kassa_next_event(client, 50));
}

static void empty(kassa_client *client, kassa_op op, int64_t start)
{
    while (waiting(client) != 0) continue;
    int64_t time = now_ns() - start;
    json_decref(kassa_wait(client, op, -1));
    printf("%.3f %ld\n", (double)time / 1e6, peak_memory());
}

int main(int count, char **arguments)
{
    if (count < 4) return 2;
    json_t *options = json_pack("{ss}", "storage", arguments[2]), *config = json_load_file(arguments[3], 0, NULL);
    kassa_client *client = kassa_open(options, NULL);
    int64_t start = now_ns();
    kassa_op op = kassa_configure(client, config);
    if (count == 6) {
        fill(client, op, atoi(arguments[4]), atoi(arguments[5]));
    } else {
        empty(client, op, start);
    }
    kassa_close(client);
    json_decref(options);
    json_decref(config);
    return 0;
}
