#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int tests, failed_tests;
static int failed_checks; /* of the running test; threads of a test may raise it too */
static const char *skipped;

bool check_that(bool holds, const char *condition, const char *file, int line)
{
    if (!holds) {
        __atomic_add_fetch(&failed_checks, 1, __ATOMIC_RELAXED);
        printf("# %s:%d: does not hold: %s\n", file, line, condition);
        fflush(stdout);
    }
    return holds;
}

void check_skip(const char *why)
{
    skipped = why;
}

void check_run(const char *name, void (*test)(void))
{
    failed_checks = 0;
    skipped = NULL;
    test();
    tests++;
    if (failed_checks > 0) failed_tests++;
    printf("%s %d - %s", failed_checks > 0 ? "not ok" : "ok", tests, name);
    if (skipped) printf(" # SKIP %s", skipped);
    printf("\n");
    fflush(stdout);
}

int check_done(void)
{
    printf("1..%d\n", tests);
    return tests > 0 && failed_tests == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool check_in_child(void (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        failed_checks = 0;
        body();
        _exit(failed_checks > 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return false;
    if (WIFSIGNALED(status)) printf("# the child ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}
