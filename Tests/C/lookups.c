/* A name server that does not answer: no thread more, and cancel and close return at once. Needs root. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "support.h"

/* Gives this process a network of its own, with a name server that is deaf. Its socket, or -1. */
static int isolate(void)
{
    if (unshare(CLONE_NEWNS | CLONE_NEWNET) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return -1;
    char *file = format("%s/resolv.conf", temporary_directory());
    FILE *resolver = fopen(file, "w");
    if (!resolver) return -1;
    fputs("nameserver 127.0.0.1\noptions timeout:30 attempts:1\n", resolver);
    fclose(resolver);
    int mounted = mount(file, "/etc/resolv.conf", NULL, MS_BIND, NULL);
    free(file);
    if (mounted != 0) return -1;

    int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (ioctl(server, SIOCSIFFLAGS, &loopback) != 0) return -1;
    if (bind(server, (struct sockaddr *)&address, sizeof address) != 0) return -1;
    return server;
}

static int server;

static bool asked(void)
{
    char packet[512];
    return recv(server, packet, sizeof packet, 0) > 0;
}

static void hanging_lookup(const char *options, int threads)
{
    if (server < 0) {
        check_skip("a network of our own needs root");
        return;
    }
    struct timeval patience = {.tv_sec = 5};
    setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char *config = served_at("https://kassa.example");
    kassa_client *client = open_client(options);
    kassa_op first = configure(client, config);
    CHECK(kassa_wait(client, first, 300) == NULL);
    CHECK(asked()); /* the look-up is under way */
    CHECK(thread_count() == threads);

    int64_t start = now_ms();
    CHECK(kassa_cancel(client, first));
    json_t *completion = kassa_wait(client, first, 2000);
    CHECK(now_ms() - start < 100);
    CHECK(is(completion, "error.code", "cancelled"));
    json_decref(completion);

    kassa_op second = configure(client, config);
    CHECK(kassa_wait(client, second, 300) == NULL);
    start = now_ms();
    kassa_close(client);
    CHECK(now_ms() - start < 100);
    free(config);
}

static void library_mode_has_two_threads(void)
{
    hanging_lookup(LIBRARY_MODE, 2);
}

static void host_mode_has_one_thread(void)
{
    hanging_lookup(HOST_MODE, 1);
}

int main(void)
{
    server = isolate();
    RUN(library_mode_has_two_threads);
    RUN(host_mode_has_one_thread);
    DONE();
}
