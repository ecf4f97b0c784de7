/*
 * A game: one thread, sixty frames a second, the library turned by the game itself. Each frame asks whether the
 * player owns the golden level, and does at most a moment of the library's work.
 *
 *   game [FRAMES]
 */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <kassa.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The sandbox in the process, whose checkouts are paid at once. */
#define CONFIGURATION \
    "{\"backend\": {\"kind\": \"whop\", \"company_id\": \"biz_sandbox\", \"api_key\": \"sandbox_key\"," \
    "             \"base_url\": \"embedded:\"}, \"checkout\": {\"presenter\": \"simulated\"}}"

static const char *text(const json_t *document, const char *key)
{
    const char *value = json_string_value(json_object_get(document, key));
    return value ? value : "";
}

/* One turn of the library's loop; its events in the order they came. */
static void turn(kassa_client *client, int frame)
{
    for (json_t *event = kassa_next_event(client, 0); event; event = kassa_next_event(client, 0)) {
        if (strcmp(text(event, "type"), "completed") == 0)
            printf("frame %d: %s completed\n", frame, text(event, "operation"));
        json_decref(event);
    }
}

static void draw(int frame, bool owns_golden_level, bool owned_before)
{
    if (owns_golden_level != owned_before) printf("frame %d: the golden level opens\n", frame);
}

int main(int count, char **arguments)
{
    int frames = count > 1 ? atoi(arguments[1]) : 120;
    json_t *options = json_pack("{s:s}", "thread", "host");
    json_t *config = json_loads(CONFIGURATION, 0, NULL);
    kassa_client *client = kassa_open(options, NULL);
    kassa_configure(client, config);

    bool owned = false;
    for (int frame = 0; frame < frames; frame++) {
        const struct timespec rest_of_frame = {.tv_nsec = 16666667};
        turn(client, frame);
        if (frame == frames / 2) kassa_purchase(client, "plan_monthly", NULL); /* the player walks into the shop */
        bool owns = kassa_has_access(client, "prod_pro");
        draw(frame, owns, owned);
        owned = owns;
        nanosleep(&rest_of_frame, NULL);
    }
    kassa_close(client);
    json_decref(options);
    json_decref(config);
    return owned ? EXIT_SUCCESS : EXIT_FAILURE;
}
