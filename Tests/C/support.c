#include "support.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

json_t *parse(const char *text)
{
    json_error_t error;
    json_t *document = json_loads(text, JSON_DECODE_ANY, &error);
    if (!document) {
        fprintf(stderr, "the test's own JSON is wrong: %s\n", error.text);
        exit(2);
    }
    return document;
}

kassa_client *open_client(const char *options)
{
    json_t *document = parse(options), *error = NULL;
    kassa_client *client = kassa_open(document, &error);
    json_decref(document);
    if (!CHECK(client != NULL) && error) printf("# %s\n", json_string_value(json_object_get(error, "message")));
    json_decref(error);
    return client;
}

kassa_op configure(kassa_client *client, const char *config)
{
    json_t *document = parse(config);
    kassa_op op = kassa_configure(client, document);
    json_decref(document);
    return op;
}

json_t *finish(kassa_client *client, kassa_op op)
{
    int64_t deadline = now_ms() + 10000;
    json_t *completion = NULL;
    while (!completion && op != 0 && now_ms() < deadline) completion = kassa_wait(client, op, 100);
    CHECK(is(completion, "type", "completed"));
    CHECK((kassa_op)json_integer_value(at(completion, "op")) == op);
    return completion;
}

kassa_client *open_configured(const char *options, const char *config)
{
    kassa_client *client = open_client(options);
    json_t *completion = finish(client, configure(client, config));
    if (!CHECK(at(completion, "result") != NULL)) {
        char *text = kassa_json_dump(completion);
        printf("# %s\n", text ? text : "no completion");
        kassa_free(text);
    }
    json_decref(completion);
    return client;
}

json_t *at(const json_t *document, const char *path)
{
    char step[64];
    while (document && *path) {
        size_t length = strcspn(path, ".");
        if (length >= sizeof step) return NULL;
        memcpy(step, path, length);
        step[length] = '\0';
        document = json_object_get(document, step);
        path += length;
        if (*path == '.') path++;
    }
    return (json_t *)document;
}

bool is(const json_t *document, const char *path, const char *word)
{
    const char *text = json_string_value(at(document, path));
    return text && strcmp(text, word) == 0;
}

bool take(json_t *document)
{
    bool there = document != NULL;
    json_decref(document);
    return there;
}

json_t *next_of_type(kassa_client *client, const char *type)
{
    int64_t deadline = now_ms() + 10000;
    while (now_ms() < deadline) {
        json_t *event = kassa_next_event(client, 100);
        if (is(event, "type", type)) return event;
        json_decref(event);
    }
    return NULL;
}

static char *directories[32];
static int directory_count;
static pid_t directory_owner;

static void remove_directories(void)
{
    if (getpid() != directory_owner) return;
    for (int i = 0; i < directory_count; i++) {
        char *command = format("rm -rf '%s'", directories[i]);
        if (system(command) != 0) perror(command);
        free(command);
        free(directories[i]);
    }
}

char *temporary_directory(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = format("%s/kassa-XXXXXX", parent ? parent : "/tmp");
    if (directory_count == 32 || !mkdtemp(path)) {
        perror(path);
        exit(2);
    }
    if (directory_count == 0) {
        directory_owner = getpid();
        atexit(remove_directories);
    }
    return directories[directory_count++] = path;
}

char *format(const char *pattern, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, pattern);
    if (vasprintf(&text, pattern, arguments) < 0) exit(2);
    va_end(arguments);
    return text;
}

char *stored_in(const char *directory, const char *thread)
{
    return format("{\"storage\":\"%s\",\"thread\":\"%s\"}", directory, thread);
}

char *served_at(const char *base_url)
{
    return format("{\"backend\":{\"kind\":\"whop\",\"company_id\":\"" COMPANY "\",\"api_key\":\"" API_KEY "\","
                  "\"base_url\":\"%s\"}}", base_url);
}

char *served_at_port(int port)
{
    char *base_url = format("http://127.0.0.1:%d", port), *config = served_at(base_url);
    free(base_url);
    return config;
}

int silent_listener(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror("listener");
        exit(2);
    }
    *port = ntohs(address.sin_port);
    return listener;
}

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int entries(const char *directory)
{
    DIR *stream = opendir(directory);
    int count = 0;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream))
        if (entry->d_name[0] != '.') count++;
    closedir(stream);
    return count;
}

int thread_count(void)
{
    /* A thread that was joined is listed until the kernel has reaped it. */
    int count = entries("/proc/self/task"), before;
    do {
        before = count;
        usleep(5000);
        count = entries("/proc/self/task");
    } while (count != before);
    return count;
}

int descriptor_count(void)
{
    return entries("/proc/self/fd") - 1; /* without the one that reads the directory */
}
