/*
 * shim.c - preloaded into a host: counts its steps, ends it at one of them, and cuts the power.
 *
 * A step is a call that changes the storage directory (create, write, truncate, sync ...), a request that goes to the
 * service or an answer that comes from it, or a moment that the host names with crash_step. Its name is what it does and
 * its number, "sync kassa.db-wal #3" or "write kassa.db-wal for sync 5 #2". The environment says where the process dies:
 *
 *   CRASH_DIR     the storage directory; nothing else is looked at
 *   CRASH_TRACE   a file that gets the name of each step
 *   CRASH_AT      the step at which the process is killed, CRASH_WHEN "before" or "after" it
 *   CRASH_POWER   what is left of what was not synced: "kept" (only the process died), "gone", or "some", chosen by
 *                 CRASH_SEED: a disk writes in any order, and may stop in the middle
 *   CRASH_IGNORE  a sync that is taken for done and is not: "log", "database", "directory" or "parent", in one phase of
 *                 the host (crash_phase) as "log@report"
 *
 * The model of the disk: a sync of a file makes its content last, a sync of a directory the names in it. What the process
 * did since is remembered with what was there before, so that it can be taken back. The log's index (-shm) is memory.
 * Nothing is really synced, since no power is cut: that only costs time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *directory, *at, *trace, *power, *ignored;
static char parent[PATH_MAX], phase[32] = "start";
static bool kills_after;
static uint64_t seed;

static void give_up(const char *what)
{
    dprintf(STDERR_FILENO, "shim: %s\n", what);
    _exit(70);
}

__attribute__((constructor)) static void begin(void)
{
    directory = getenv("CRASH_DIR");
    at = getenv("CRASH_AT");
    trace = getenv("CRASH_TRACE");
    power = getenv("CRASH_POWER");
    ignored = getenv("CRASH_IGNORE");
    const char *when = getenv("CRASH_WHEN"), *number = getenv("CRASH_SEED");
    kills_after = when != NULL && strcmp(when, "after") == 0;
    seed = number != NULL ? strtoull(number, NULL, 10) : 1;
    if (directory == NULL) return;
    snprintf(parent, sizeof parent, "%s", directory);
    char *slash = strrchr(parent, '/');
    if (slash != NULL) *slash = 0;
}

/* splitmix64 */
static uint64_t random_number(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* ---- What is not on the disk yet ---- */

typedef struct {
    enum { WRITE, TRUNCATE, NAME, DIRECTORY } kind;
    char path[PATH_MAX];
    off_t offset, old_size, new_size;
    size_t old_length, new_length;
    unsigned char *old_bytes, *new_bytes;
} change;

static change **changes;
static size_t change_count;

static void *allocate(void *block, size_t size)
{
    block = realloc(block, size);
    if (block == NULL) give_up("no memory");
    return block;
}

static change *remember(int kind, const char *path)
{
    changes = allocate(changes, (change_count + 1) * sizeof *changes);
    change *new = allocate(NULL, sizeof *new);
    memset(new, 0, sizeof *new);
    new->kind = kind;
    snprintf(new->path, sizeof new->path, "%s", path);
    return changes[change_count++] = new;
}

static void forget(size_t index)
{
    free(changes[index]->old_bytes);
    free(changes[index]->new_bytes);
    free(changes[index]);
    memmove(&changes[index], &changes[index + 1], (change_count - index - 1) * sizeof *changes);
    change_count--;
}

static off_t size_of(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_size : 0;
}

static void remember_write(int file, const char *path, const void *bytes, size_t length, off_t offset)
{
    change *new = remember(WRITE, path);
    new->offset = offset;
    new->old_size = size_of(file);
    new->old_bytes = allocate(NULL, length + 1);
    new->new_bytes = allocate(NULL, length + 1);
    memcpy(new->new_bytes, bytes, length);
    new->new_length = length;
    ssize_t got = syscall(SYS_pread64, file, new->old_bytes, length, offset);
    new->old_length = got > 0 ? (size_t)got : 0;
}

static void remember_truncation(int file, const char *path, off_t size)
{
    change *new = remember(TRUNCATE, path);
    new->offset = size;
    new->old_size = size_of(file);
    new->new_size = size;
    if (new->old_size <= size) return;
    new->old_length = (size_t)(new->old_size - size);
    new->old_bytes = allocate(NULL, new->old_length);
    if (syscall(SYS_pread64, file, new->old_bytes, new->old_length, size) != (ssize_t)new->old_length) {
        give_up("a file cannot be read");
    }
}

static void take_back(const change *done)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, done->path, O_RDWR | O_CLOEXEC, 0);
    if (file < 0) return;
    syscall(SYS_pwrite64, file, done->old_bytes, done->old_length, done->offset);
    syscall(SYS_ftruncate, file, done->old_size);
    syscall(SYS_close, file);
}

/* A disk writes sector by sector. */
static void do_again(const change *done)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, done->path, O_RDWR | O_CLOEXEC, 0);
    if (file < 0) return;
    if (done->kind == TRUNCATE) {
        syscall(SYS_ftruncate, file, done->new_size);
    } else {
        size_t length = done->new_length;
        if (random_number() % 4 == 0) length = (size_t)(random_number() % (length / 512 + 1)) * 512;
        syscall(SYS_pwrite64, file, done->new_bytes, length, done->offset);
    }
    syscall(SYS_close, file);
}

static void remove_names(void)
{
    static const char *names[] = {"kassa.db", "kassa.db-wal", "kassa.db-shm", "outbox.lock"};
    char path[PATH_MAX + 32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    }
    syscall(SYS_unlinkat, AT_FDCWD, directory, AT_REMOVEDIR);
}

static void cut_power(void)
{
    bool keeps_some = strcmp(power, "some") == 0;
    for (size_t i = change_count; i-- > 0;) {
        if (changes[i]->kind == WRITE || changes[i]->kind == TRUNCATE) take_back(changes[i]);
    }
    for (size_t i = 0; keeps_some && i < change_count; i++) {
        if (changes[i]->kind <= TRUNCATE && random_number() % 2 == 0) do_again(changes[i]);
    }
    for (size_t i = change_count; i-- > 0;) {
        if (keeps_some && random_number() % 2 == 0) continue;
        if (changes[i]->kind == NAME) syscall(SYS_unlinkat, AT_FDCWD, changes[i]->path, 0);
        if (changes[i]->kind == DIRECTORY) remove_names();
    }
}

/* ---- Steps ---- */

static struct {
    char name[96];
    unsigned count;
} steps[2048];
static unsigned sync_count;

static void end_process(void)
{
    if (power != NULL && strcmp(power, "kept") != 0) cut_power();
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a step and ends the process if it is the one, before it. Otherwise says whether to end after it. */
static bool step(const char *what)
{
    size_t i = 0;
    while (i < sizeof steps / sizeof *steps && steps[i].count > 0 && strcmp(steps[i].name, what) != 0) i++;
    /* Nobody is killed in plays as long as that. */
    bool is_known = i < sizeof steps / sizeof *steps;
    if (is_known && steps[i].count == 0) snprintf(steps[i].name, sizeof steps[i].name, "%s", what);
    char name[128];
    int length = snprintf(name, sizeof name, "%s #%u", what, is_known ? ++steps[i].count : 0);
    if (trace != NULL) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        name[length] = '\n';
        syscall(SYS_write, file, name, (size_t)length + 1);
        name[length] = 0;
        syscall(SYS_close, file);
    }
    if (at == NULL || strcmp(at, name) != 0) return false;
    if (!kills_after) end_process();
    return true;
}

/* For the host, which finds them with dlsym. */
void crash_step(const char *what);
void crash_phase(const char *name);

void crash_step(const char *what)
{
    pthread_mutex_lock(&lock);
    if (step(what)) end_process();
    pthread_mutex_unlock(&lock);
}

void crash_phase(const char *name)
{
    pthread_mutex_lock(&lock);
    snprintf(phase, sizeof phase, "%s", name);
    pthread_mutex_unlock(&lock);
}

/* The path, if it is below the storage directory and not the log's index; NULL if it is none of ours. */
static const char *ours(const char *path)
{
    size_t length = directory == NULL ? 0 : strlen(directory), whole = strlen(path);
    if (length == 0 || strncmp(path, directory, length) != 0 || (path[length] != 0 && path[length] != '/')) return NULL;
    return whole > 4 && strcmp(path + whole - 4, "-shm") == 0 ? NULL : path;
}

static const char *path_of(int file, char path[static PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = directory == NULL ? -1 : readlink(link, path, PATH_MAX - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    return strcmp(path, parent) == 0 ? path : ours(path);
}

static const char *base(const char *path)
{
    if (strcmp(path, parent) == 0) return "..";
    return strcmp(path, directory) == 0 ? "." : strrchr(path, '/') + 1;
}

static bool step_on(const char *kind, const char *path)
{
    char what[96];
    snprintf(what, sizeof what, "%s %.60s", kind, base(path));
    return step(what);
}

/* A write is named by the sync that it is for, since a commit is many. */
static bool write_on(const char *path)
{
    char what[96];
    snprintf(what, sizeof what, "write %.40s for sync %u", base(path), sync_count + 1);
    return step(what);
}

/* ---- Files ---- */

static ssize_t written(int file, const void *bytes, size_t length, off_t offset)
{
    char buffer[PATH_MAX];
    const char *path = path_of(file, buffer);
    if (path == NULL) return syscall(SYS_pwrite64, file, bytes, length, offset);
    pthread_mutex_lock(&lock);
    bool is_last = write_on(path);
    remember_write(file, path, bytes, length, offset);
    ssize_t result = syscall(SYS_pwrite64, file, bytes, length, offset);
    if (is_last) end_process();
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) { return written(file, bytes, length, offset); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset)
{
    return written(file, bytes, length, offset);
}

static int truncated(int file, off_t size)
{
    char buffer[PATH_MAX];
    const char *path = path_of(file, buffer);
    if (path == NULL) return (int)syscall(SYS_ftruncate, file, size);
    pthread_mutex_lock(&lock);
    bool is_last = step_on("truncate", path);
    remember_truncation(file, path, size);
    int result = (int)syscall(SYS_ftruncate, file, size);
    if (is_last) end_process();
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int file, off_t size) { return truncated(file, size); }
int ftruncate64(int file, off64_t size) { return truncated(file, size); }

static const char *site(const char *path)
{
    if (strcmp(path, parent) == 0) return "parent";
    if (strcmp(path, directory) == 0) return "directory";
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, "-wal") == 0 ? "log" : "database";
}

static bool is_ignored(const char *path)
{
    char place[64];
    snprintf(place, sizeof place, "%s@%s", site(path), phase);
    return ignored != NULL && (strcmp(ignored, site(path)) == 0 || strcmp(ignored, place) == 0);
}

/* Whether a sync of this path makes that change last. */
static bool makes_last(const char *path, const change *done)
{
    if (done->kind == DIRECTORY) return strcmp(path, parent) == 0;
    return strcmp(path, done->kind == NAME ? directory : done->path) == 0;
}

static int synced(int file, long call)
{
    char buffer[PATH_MAX];
    const char *path = path_of(file, buffer);
    if (path == NULL) return (int)syscall(call, file);
    pthread_mutex_lock(&lock);
    bool is_last = step_on("sync", path);
    sync_count++;
    for (size_t i = change_count; i-- > 0 && !is_ignored(path);) {
        if (makes_last(path, changes[i])) forget(i);
    }
    if (is_last) end_process();
    pthread_mutex_unlock(&lock);
    return 0;
}

int fsync(int file) { return synced(file, SYS_fsync); }
int fdatasync(int file) { return synced(file, SYS_fdatasync); }

static int opened(int base_directory, const char *name, int flags, mode_t mode)
{
    const char *path = (flags & O_CREAT) != 0 && name[0] == '/' ? ours(name) : NULL;
    if (path == NULL || faccessat(AT_FDCWD, path, F_OK, 0) == 0) {
        return (int)syscall(SYS_openat, base_directory, name, flags, mode);
    }
    pthread_mutex_lock(&lock);
    bool is_last = step_on("create", path);
    int file = (int)syscall(SYS_openat, base_directory, name, flags, mode);
    if (file >= 0) remember(NAME, path);
    if (is_last) end_process();
    pthread_mutex_unlock(&lock);
    return file;
}

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if (((flags) & O_CREAT) != 0) {                                                                                    \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

int open(const char *name, int flags, ...)
{
    MODE(flags)
    return opened(AT_FDCWD, name, flags, mode);
}

int open64(const char *name, int flags, ...)
{
    MODE(flags)
    return opened(AT_FDCWD, name, flags, mode);
}

int mkdir(const char *name, mode_t mode)
{
    if (directory == NULL || strcmp(name, directory) != 0) return (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    pthread_mutex_lock(&lock);
    bool is_last = step("create .");
    int result = (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    if (result == 0) remember(DIRECTORY, name);
    if (is_last) end_process();
    pthread_mutex_unlock(&lock);
    return result;
}

/* The storage is never renamed or removed here: the library does so with a damaged file only, and then says so. */

/* ---- The network ---- */

/* What was last asked on a socket, such as "sync-transaction". */
static char asked[1024][48];

static bool is_service(int socket)
{
    int domain = 0;
    socklen_t length = sizeof domain;
    return directory != NULL && socket >= 0 && socket < 1024
           && getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_INET;
}

static void note_request(int socket, const char *bytes, size_t length)
{
    const char *end = length > 5 ? memchr(bytes, '\r', length) : NULL;
    if (end == NULL || (strncmp(bytes, "GET ", 4) != 0 && strncmp(bytes, "POST ", 5) != 0)) return;
    const char *start = bytes, *stop = memchr(bytes + 5, ' ', (size_t)(end - bytes - 5));
    for (const char *c = bytes; stop != NULL && c < stop; c++) {
        if (*c == '/') start = c + 1;
    }
    if (stop != NULL) snprintf(asked[socket], sizeof asked[socket], "%.*s", (int)(stop - start), start);
}

static ssize_t sent(int socket, const void *bytes, size_t length, int flags)
{
    if (!is_service(socket)) return syscall(SYS_sendto, socket, bytes, length, flags, NULL, 0);
    char what[96];
    pthread_mutex_lock(&lock);
    note_request(socket, bytes, length);
    snprintf(what, sizeof what, "send %s", asked[socket]);
    bool is_last = step(what);
    ssize_t result = syscall(SYS_sendto, socket, bytes, length, flags, NULL, 0);
    if (is_last) end_process();
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t send(int socket, const void *bytes, size_t length, int flags) { return sent(socket, bytes, length, flags); }

/* An answer is a step once it is here: killed before or after, the process has not looked at it. */
ssize_t recv(int socket, void *bytes, size_t length, int flags)
{
    ssize_t result = syscall(SYS_recvfrom, socket, bytes, length, flags, NULL, NULL);
    if (result <= 0 || (flags & MSG_PEEK) != 0 || !is_service(socket)) return result;
    char what[96];
    pthread_mutex_lock(&lock);
    snprintf(what, sizeof what, "answer %s", asked[socket]);
    if (step(what)) end_process();
    pthread_mutex_unlock(&lock);
    return result;
}
