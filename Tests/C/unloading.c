/* A host that loads the library itself, and lets go of it. Linked without it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "support.h"

static void load_use_and_let_go(int flags)
{
    void *library = dlopen(LIBRARY, flags);
    if (!CHECK(library != NULL)) {
        printf("# %s\n", dlerror());
        return;
    }
    kassa_client *(*open)(const json_t *, json_t **);
    kassa_op (*configure)(kassa_client *, const json_t *);
    json_t *(*wait)(kassa_client *, kassa_op, int);
    void (*close)(kassa_client *);
    *(void **)&open = dlsym(library, "kassa_open");
    *(void **)&configure = dlsym(library, "kassa_configure");
    *(void **)&wait = dlsym(library, "kassa_wait");
    *(void **)&close = dlsym(library, "kassa_close");

    json_t *options = parse(LIBRARY_MODE), *config = parse(PAID_AT_ONCE);
    kassa_client *client = open(options, NULL);
    json_t *completion = wait(client, configure(client, config), 10000);
    CHECK(at(completion, "result") != NULL);
    json_decref(completion);
    close(client);
    json_decref(options);
    json_decref(config);
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
