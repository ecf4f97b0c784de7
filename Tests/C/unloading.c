/* A host that loads the library itself, and lets go of it: it is linked with nothing of ours, nor with Jansson. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "kassa.h"

static const char options[] = "{\"storage\":\":memory:\"}";
static const char config[] =
    "{\"backend\":{\"kind\":\"whop\",\"company_id\":\"biz_sandbox\",\"api_key\":\"sandbox_key\","
    "\"base_url\":\"embedded:\"},\"checkout\":{\"presenter\":\"simulated\"}}";

static int listed_threads(void)
{
    DIR *threads = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry = readdir(threads); entry; entry = readdir(threads)) count += entry->d_name[0] != '.';
    closedir(threads);
    return count;
}

/* A thread that was joined is listed until the kernel has reaped it. */
static int thread_count(void)
{
    int count = listed_threads(), before;
    do {
        before = count;
        usleep(5000);
        count = listed_threads();
    } while (count != before);
    return count;
}

static void load_use_and_let_go(int flags)
{
    void *library = dlopen(LIBRARY, flags);
    if (!CHECK(library != NULL)) {
        printf("# %s\n", dlerror());
        return;
    }
    struct json_t *(*parse)(const char *, size_t, struct json_t **);
    char *(*dump)(const struct json_t *);
    void (*release)(struct json_t *);
    void (*free_text)(void *);
    kassa_client *(*open)(const struct json_t *, struct json_t **);
    kassa_op (*configure)(kassa_client *, const struct json_t *);
    struct json_t *(*wait)(kassa_client *, kassa_op, int);
    void (*close)(kassa_client *);
    *(void **)&parse = dlsym(library, "kassa_json_parse");
    *(void **)&dump = dlsym(library, "kassa_json_dump");
    *(void **)&release = dlsym(library, "kassa_json_release");
    *(void **)&free_text = dlsym(library, "kassa_free");
    *(void **)&open = dlsym(library, "kassa_open");
    *(void **)&configure = dlsym(library, "kassa_configure");
    *(void **)&wait = dlsym(library, "kassa_wait");
    *(void **)&close = dlsym(library, "kassa_close");

    struct json_t *opened = parse(options, strlen(options), NULL), *configured = parse(config, strlen(config), NULL);
    kassa_client *client = open(opened, NULL);
    struct json_t *completion = wait(client, configure(client, configured), 10000);
    char *text = dump(completion);
    CHECK(text && strstr(text, "\"result\""));
    free_text(text);
    release(completion);
    close(client);
    release(opened);
    release(configured);
    CHECK(dlclose(library) == 0);
    CHECK(thread_count() == 1);
}

static void loaded_and_let_go_twenty_times(void)
{
    for (int i = 0; i < 20; i++) load_use_and_let_go(i % 2 ? RTLD_NOW | RTLD_LOCAL : RTLD_LAZY | RTLD_GLOBAL);
}

static void library_stays_loaded(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);
    CHECK(dlclose(library) == 0);
    CHECK(dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD) != NULL);
}

int main(void)
{
    RUN(loaded_and_let_go_twenty_times);
    RUN(library_stays_loaded);
    DONE();
}
