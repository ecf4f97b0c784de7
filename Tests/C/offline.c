/* What was learnt once counts after a restart without a network, to its end; and storage faults lose nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

/* A directory in which a guest bought PLAN from the sandbox in the process. */
static char *directory_with_purchase(void)
{
    char *directory = temporary_directory(), *options = stored_in(directory, "host");
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));
    CHECK(kassa_has_access(client, PRODUCT));
    free(options);
    kassa_close(client);
    return directory;
}

static void answers_are_there_before_the_network(void)
{
    char *directory = directory_with_purchase(), *options = stored_in(directory, "host");
    kassa_client *client = open_client(options);
    kassa_op op = configure(client, PAID_AT_ONCE);
    CHECK(kassa_has_access(client, PRODUCT)); /* before any turn of the loop */
    json_t *explanation = kassa_explain(client, PRODUCT);
    CHECK(is(json_array_get(at(explanation, "considered"), 0), "from", "cache"));
    json_decref(explanation);
    CHECK(kassa_cancel(client, op));
    kassa_close(client);
    free(options);
}

static void device_id_survives_restarts(void)
{
    char *directory = temporary_directory(), *options = stored_in(directory, "host");
    kassa_client *first = open_client(options);
    char *before = kassa_device_id(first);
    kassa_close(first);
    kassa_client *second = open_client(options);
    char *after = kassa_device_id(second);
    kassa_close(second);
    CHECK(before && after && strcmp(before, after) == 0);
    kassa_free(before);
    kassa_free(after);
    free(options);
}

static void first_start_without_network_says_unknown(void)
{
    int port, listener = silent_listener(&port);
    close(listener);
    char *config = served_at_port(port);
    kassa_client *client = open_client(HOST_MODE);
    json_t *completion = finish(client, configure(client, config));
    CHECK(is(completion, "error.code", "offline"));
    CHECK(json_is_true(at(completion, "error.retryable")));
    CHECK(!kassa_is_initialized(client));
    json_t *explanation = kassa_explain(client, "prod_x");
    CHECK(is(explanation, "answer", "unknown"));
    json_decref(explanation);
    json_decref(completion);
    kassa_close(client);
    free(config);
}

/* Overwrites the client's files with `content`, as a careless cleaner might; the sandbox's stay. */
static void overwrite_files(const char *directory, const char *content)
{
    char *command = format("cd '%s' && for f in *; do case $f in sandbox*) ;; *) printf '%s' > \"$f\";; esac; done",
                           directory, content);
    CHECK(system(command) == 0);
    free(command);
}

static void damaged_files_are_set_aside(void)
{
    const char *damage[] = {"", "SQLite format 3", "garbage garbage garbage garbage garbage"};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        char *directory = directory_with_purchase(), *options = stored_in(directory, "host");
        overwrite_files(directory, damage[i]);
        kassa_client *client = open_configured(options, PAID_AT_ONCE);
        char *device = kassa_device_id(client);
        CHECK(device && strlen(device) == 36);
        kassa_free(device);
        kassa_close(client);
        free(options);
    }
}

static void unusable_directories_are_refused(void)
{
    const char *unusable[] = {"/proc/none", "/dev/null", "/dev/null/state", ""};
    for (size_t i = 0; i < sizeof unusable / sizeof *unusable; i++) {
        json_t *options = json_pack("{s:s}", "storage", unusable[i]), *error = NULL;
        CHECK(kassa_open(options, &error) == NULL);
        CHECK(json_is_string(json_object_get(error, "code")) && json_is_string(json_object_get(error, "message")));
        json_decref(options);
        json_decref(error);
    }
}

int main(void)
{
    RUN(answers_are_there_before_the_network);
    RUN(device_id_survives_restarts);
    RUN(first_start_without_network_says_unknown);
    RUN(damaged_files_are_set_aside);
    RUN(unusable_directories_are_refused);
    DONE();
}
