/*
 * The library in an epoll loop beside another descriptor, here the standard input: "buy", "quit". The loop never
 * blocks in the library, and the library never calls the program.
 */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <kassa.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The sandbox in the process, whose checkouts are paid at once. */
#define CONFIGURATION \
    "{\"backend\": {\"kind\": \"whop\", \"company_id\": \"biz_sandbox\", \"api_key\": \"sandbox_key\"," \
    "             \"base_url\": \"embedded:\"}, \"checkout\": {\"presenter\": \"simulated\"}}"

static const char *text(const json_t *document, const char *key)
{
    const char *value = json_string_value(json_object_get(document, key));
    return value ? value : "";
}

static void watch(int epoll, int descriptor)
{
    struct epoll_event interest = {.events = EPOLLIN, .data = {.fd = descriptor}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &interest) != 0) {
        perror("epoll_ctl");
        exit(EXIT_FAILURE);
    }
}

static void start_purchase(kassa_client *client)
{
    kassa_op op = kassa_purchase(client, "plan_monthly", NULL);
    printf("purchase started as operation %llu\n", (unsigned long long)op);
}

/* Takes all that the queue holds, without waiting. */
static void read_events(kassa_client *client)
{
    for (json_t *event = kassa_next_event(client, 0); event; event = kassa_next_event(client, 0)) {
        if (strcmp(text(event, "type"), "completed") == 0) {
            const json_t *error = json_object_get(event, "error");
            printf("%s %s %s\n", text(event, "operation"), error ? "failed:" : "completed", text(error, "message"));
        } else if (strcmp(text(event, "type"), "changed") == 0) {
            printf("%s changed; subscribed: %s\n", text(event, "what"), kassa_is_subscribed(client) ? "yes" : "no");
        }
        json_decref(event);
    }
}

/* False when there is nothing more to read. */
static bool read_command(kassa_client *client)
{
    char line[100];
    ssize_t length = read(STDIN_FILENO, line, sizeof line - 1);
    if (length <= 0) return false;
    line[length] = '\0';
    if (strncmp(line, "buy", 3) == 0) start_purchase(client);
    return strncmp(line, "quit", 4) != 0;
}

int main(void)
{
    json_t *config = json_loads(CONFIGURATION, 0, NULL);
    kassa_client *client = kassa_open(NULL, NULL);
    kassa_configure(client, config);
    json_decref(config);

    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, kassa_event_fd(client));
    watch(epoll, STDIN_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0);

    bool running = client != NULL;
    while (running) {
        struct epoll_event ready[2];
        int count = epoll_wait(epoll, ready, 2, -1);
        for (int i = 0; i < count; i++) {
            if (ready[i].data.fd == STDIN_FILENO) running = read_command(client);
            else read_events(client);
        }
    }
    close(epoll);
    kassa_close(client);
    return EXIT_SUCCESS;
}
