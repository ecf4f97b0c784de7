/* A guest in the host's process: everything is after the last close as it was before the first open. */
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

extern char **environ;

typedef struct {
    struct sigaction actions[NSIG];
    sigset_t mask;
    char locale[256], directory[4096];
    mode_t umask;
    size_t environment_size;
    int threads, descriptors;
} surroundings;

static surroundings look_around(void)
{
    surroundings here;
    memset(&here, 0, sizeof here);
    for (int signal = 1; signal < NSIG; signal++) sigaction(signal, NULL, &here.actions[signal]);
    pthread_sigmask(SIG_SETMASK, NULL, &here.mask);
    snprintf(here.locale, sizeof here.locale, "%s", setlocale(LC_ALL, NULL));
    if (!getcwd(here.directory, sizeof here.directory)) perror("getcwd");
    here.umask = umask(0);
    umask(here.umask);
    for (char **entry = environ; *entry; entry++) here.environment_size += strlen(*entry) + 1;
    here.threads = thread_count();
    here.descriptors = descriptor_count();
    return here;
}

static void expect_same(const surroundings *before)
{
    surroundings now = look_around();
    for (int signal = 1; signal < NSIG; signal++) {
        CHECK(now.actions[signal].sa_handler == before->actions[signal].sa_handler);
        CHECK(now.actions[signal].sa_flags == before->actions[signal].sa_flags);
        CHECK(sigismember(&now.mask, signal) == sigismember(&before->mask, signal));
    }
    CHECK(strcmp(now.locale, before->locale) == 0);
    CHECK(strcmp(now.directory, before->directory) == 0);
    CHECK(now.umask == before->umask);
    CHECK(now.environment_size == before->environment_size);
    CHECK(now.threads == before->threads);
    CHECK(now.descriptors == before->descriptors);
}

/* Uses everything that opens something: storage on disk, the sandbox, libcurl against a port that refuses. */
static void use(const char *thread)
{
    char *options = stored_in(temporary_directory(), thread);
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    free(options);
    json_decref(finish(client, kassa_purchase(client, PLAN, NULL)));

    int port, listener = silent_listener(&port);
    close(listener);
    char *refusing = served_at_port(port);
    json_decref(finish(client, configure(client, refusing)));
    free(refusing);
    kassa_close(client);
}

static void library_mode_leaves_no_trace(void)
{
    surroundings before = look_around();
    use("library");
    expect_same(&before);
}

static void host_mode_leaves_no_trace(void)
{
    surroundings before = look_around();
    use("host");
    expect_same(&before);
}

static int inheritable_descriptors(void)
{
    int count = 0;
    for (int descriptor = 3; descriptor < 256; descriptor++) {
        int flags = fcntl(descriptor, F_GETFD);
        if (flags >= 0 && !(flags & FD_CLOEXEC)) count++;
    }
    return count;
}

/* All but libcurl's own wake-up socket pair are close-on-exec, while requests are under way too. */
static void descriptors_are_close_on_exec(void)
{
    int before = inheritable_descriptors();
    char *options = stored_in(temporary_directory(), "library");
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    free(options);
    CHECK(inheritable_descriptors() == before); /* nothing so far needed libcurl */
    int port, listener = silent_listener(&port);
    char *config = served_at_port(port);
    kassa_op op = configure(client, config);
    CHECK(kassa_wait(client, op, 300) == NULL);
    CHECK(inheritable_descriptors() - before <= 2);
    free(config);
    kassa_close(client);
    close(listener);
}

static void storage_is_private(void)
{
    char *directory = format("%s/state", temporary_directory()), *options = stored_in(directory, "library");
    mode_t old = umask(0);
    kassa_client *client = open_configured(options, PAID_AT_ONCE);
    umask(old);
    struct stat status;
    CHECK(stat(directory, &status) == 0 && (status.st_mode & 0777) == 0700);
    char *command = format("test -z \"$(find '%s' -type f ! -perm 600)\" && test -n \"$(ls '%s')\"", directory,
                           directory);
    CHECK(system(command) == 0);
    free(command);
    free(options);
    free(directory);
    kassa_close(client);
}

static const char *read_status_line(pid_t thread, const char *key)
{
    static char line[256];
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    FILE *status = fopen(path, "r");
    bool found = false;
    while (status && !found && fgets(line, sizeof line, status)) found = strncmp(line, key, strlen(key)) == 0;
    if (status) fclose(status);
    return found ? line + strlen(key) : "";
}

/* The library's thread takes no signal that the host meant for itself. */
static void thread_is_named_and_blocks_signals(void)
{
    kassa_client *client = open_configured(LIBRARY_MODE, PAID_AT_ONCE);
    int named = 0;
    for (pid_t thread = getpid() + 1; thread < getpid() + 1000; thread++) {
        if (strcmp(read_status_line(thread, "Name:\t"), "kassa\n") != 0) continue;
        named++;
        unsigned long long blocked = strtoull(read_status_line(thread, "SigBlk:\t"), NULL, 16);
        unsigned long long ordinary = 0x7fffffffULL & ~(1ULL << (SIGKILL - 1)) & ~(1ULL << (SIGSTOP - 1));
        CHECK((blocked & ordinary) == ordinary);
    }
    CHECK(named == 1);
    kassa_close(client);
}

static void one_thread_for_many_clients(void)
{
    int before = thread_count();
    kassa_client *clients[10];
    for (int i = 0; i < 10; i++) clients[i] = open_configured(LIBRARY_MODE, PAID_AT_ONCE);
    CHECK(thread_count() == before + 1);
    for (int i = 0; i < 10; i++) kassa_close(clients[i]);
    CHECK(thread_count() == before);
    for (int i = 0; i < 10; i++) clients[i] = open_configured(HOST_MODE, PAID_AT_ONCE);
    CHECK(thread_count() == before);
    for (int i = 0; i < 10; i++) kassa_close(clients[i]);
}

int main(void)
{
    use("library"); /* what libraries keep from their first use is not the guest's trace */
    RUN(library_mode_leaves_no_trace);
    RUN(host_mode_leaves_no_trace);
    RUN(descriptors_are_close_on_exec);
    RUN(storage_is_private);
    RUN(thread_is_named_and_blocks_signals);
    RUN(one_thread_for_many_clients);
    DONE();
}
