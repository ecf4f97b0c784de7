/* S071: a full disk is said before anything is charged, costs nobody access, and is over when there is room again. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

/* A file system of one megabyte that only this process sees; NULL where that is not allowed. */
static char *small_disk(void)
{
    char *directory = temporary_directory();
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return NULL;
    return mount("tmpfs", directory, "tmpfs", 0, "size=1m,mode=0700") == 0 ? directory : NULL;
}

static char *fill(const char *directory)
{
    char *path = format("%s/filler", directory), block[4096] = {0};
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(file, block, sizeof block) > 0) continue;
    close(file);
    return path;
}

static void full_disk_is_said_before_the_charge(void)
{
    char *directory = small_disk();
    if (!directory) {
        check_skip("a file system of our own needs root");
        return;
    }
    char *options = stored_in(directory, "host");
    kassa_client *client = open_configured(options, SHOWN_BY_HOST);

    char *filler = fill(directory);
    json_t *refused = finish(client, kassa_purchase(client, PLAN, NULL));
    CHECK(is(refused, "error.code", "storage"));
    CHECK(json_is_true(at(refused, "error.retryable")));
    json_decref(refused);

    /* What can be taken back goes on in memory, with a word about it. */
    json_decref(finish(client, kassa_log_in(client, "user-1", NULL)));
    json_t *said = next_of_type(client, "diagnostic");
    CHECK(is(said, "code", "storage_failed"));
    json_decref(said);

    unlink(filler);
    kassa_op purchase = kassa_purchase(client, PLAN, NULL);
    json_t *request = next_of_type(client, "request");
    CHECK(is(request, "service", "checkout"));
    CHECK(kassa_cancel(client, purchase));
    json_decref(finish(client, purchase));
    json_decref(request);
    free(filler);
    free(options);
    kassa_close(client);
    umount2(directory, MNT_DETACH);
}

int main(void)
{
    RUN(full_disk_is_said_before_the_charge);
    DONE();
}
