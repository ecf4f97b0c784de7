/* A process that ends with a live client, an operation under way and a connection open, ends at once and well. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

/* In the process that leaves: "leaving BASE_URL MODE HOW". The service there answers nobody. */
static int leave(const char *base_url, const char *mode, const char *how)
{
    char *options = stored_in(":memory:", mode), *config = served_at(base_url);
    kassa_client *client = open_client(options);
    kassa_op op = configure(client, config);
    kassa_json_release(kassa_wait(client, op, 300)); /* the request is on its way */
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "_exit") == 0) _exit(0);
    return 0;
}

static void leave_by(const char *how)
{
    const char *modes[] = {"library", "host"};
    int port, listener = silent_listener(&port);
    char *base_url = format("http://127.0.0.1:%d", port);
    for (int mode = 0; mode < 2; mode++) {
        int64_t start = now_ms();
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", "leaving", base_url, modes[mode], how, (char *)NULL);
            _exit(2);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(now_ms() - start < 2500);
    }
    free(base_url);
    close(listener);
}

static void return_from_main(void)
{
    leave_by("return");
}

static void exit_with_a_live_client(void)
{
    leave_by("exit");
}

static void underscore_exit_with_a_live_client(void)
{
    leave_by("_exit");
}

int main(int count, char **arguments)
{
    if (count == 4) return leave(arguments[1], arguments[2], arguments[3]);
    RUN(return_from_main);
    RUN(exit_with_a_live_client);
    RUN(underscore_exit_with_a_live_client);
    DONE();
}
