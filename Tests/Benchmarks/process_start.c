/*
 * How long one command takes from its start to the first byte of its output, against another command.
 *
 *   process_start FIGURE GATE ROUNDS CANDIDATE ARGUMENTS... -- YARDSTICK ARGUMENTS...
 */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

extern char **environ;

typedef struct {
    char **candidate, **yardstick;
} commands;

static int64_t time_to_first_byte(char **command)
{
    int ends[2];
    char byte;
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0) exit(2);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);

    int64_t start = now_ns();
    if (posix_spawnp(&child, command[0], &actions, NULL, command, environ) != 0) exit(2);
    close(ends[1]);
    ssize_t length = read(ends[0], &byte, 1);
    int64_t time = now_ns() - start;

    int status;
    waitpid(child, &status, 0);
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    if (length != 1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "%s failed\n", command[0]);
        exit(2);
    }
    return time;
}

static int64_t candidate(void *context)
{
    return time_to_first_byte(((commands *)context)->candidate);
}

static int64_t yardstick(void *context)
{
    return time_to_first_byte(((commands *)context)->yardstick);
}

int main(int count, char **arguments)
{
    int separator = 4;
    while (separator < count && strcmp(arguments[separator], "--") != 0) separator++;
    if (separator < 5 || separator + 1 >= count) {
        fprintf(stderr, "usage: process_start FIGURE GATE ROUNDS CANDIDATE... -- YARDSTICK...\n");
        return 2;
    }
    arguments[separator] = NULL;
    commands both = {arguments + 4, arguments + separator + 1};
    compare(arguments[1], atof(arguments[2]), atoi(arguments[3]), candidate, yardstick, &both);
    return 0;
}
