#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int kassa_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void kassa_eventfd_write(int descriptor) {
  uint64_t one = 1;
  while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

static void drain(int descriptor) {
  uint64_t count;
  while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

void kassa_eventfd_read(int descriptor) { drain(descriptor); }

int kassa_timerfd(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

void kassa_timerfd_set(int descriptor, int64_t nanoseconds) {
  struct itimerspec spec = {0};
  spec.it_value.tv_sec = nanoseconds / 1000000000;
  spec.it_value.tv_nsec = nanoseconds % 1000000000;
  timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &spec, NULL);
}

void kassa_timerfd_read(int descriptor) { drain(descriptor); }

int kassa_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

int kassa_epoll_control(int epoll, int operation, int descriptor, uint32_t events) {
  struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
  return epoll_ctl(epoll, operation, descriptor, &event);
}

int kassa_epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms) {
  int ready = epoll_wait(epoll, events, count, timeout_ms);
  return ready < 0 ? 0 : ready;
}

int kassa_epoll_event_descriptor(const struct epoll_event *event) { return event->data.fd; }

static int64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t kassa_boot_nanoseconds(void) { return nanoseconds(CLOCK_BOOTTIME); }
int64_t kassa_monotonic_nanoseconds(void) { return nanoseconds(CLOCK_MONOTONIC); }
int64_t kassa_wall_milliseconds(void) { return nanoseconds(CLOCK_REALTIME) / 1000000; }

int kassa_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(thread, NULL, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error == 0) pthread_setname_np(*thread, name);
  return error;
}

static _Thread_local void *current_loop;

void *kassa_current_loop(void) { return current_loop; }
void kassa_set_current_loop(void *loop) { current_loop = loop; }

void kassa_mutex_init(pthread_mutex_t *mutex, bool recursive) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void kassa_condition_init(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

bool kassa_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t time) {
  struct timespec until = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
  return pthread_cond_timedwait(condition, mutex, &until) == 0;
}

bool kassa_random_bytes(void *bytes, size_t count) {
  char *next = bytes;
  while (count > 0) {
    ssize_t got = getrandom(next, count, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    next += got;
    count -= (size_t)got;
  }
  return true;
}

bool kassa_block_sigpipe(void) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  return !sigismember(&before, SIGPIPE);
}

void kassa_unblock_sigpipe(void) {
  sigset_t pipe;
  struct timespec now = {0};
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  while (sigtimedwait(&pipe, NULL, &now) > 0) {
  }
  pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
}

/* No descriptor from 3 on reaches the program: those of the host need not be close-on-exec. */
static int add_streams(posix_spawn_file_actions_t *actions) {
  int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
  return error;
}

static int reset_signals(posix_spawnattr_t *attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  int error = posix_spawnattr_setsigdefault(attributes, &all);
  if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
  if (error == 0) error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  return error;
}

pid_t kassa_spawn(const char *program, const char *argument) {
  char *const arguments[] = {(char *)program, (char *)argument, NULL};
  pid_t child = -1;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  int error = add_streams(&actions);
  if (error == 0) error = reset_signals(&attributes);
  if (error == 0) error = posix_spawnp(&child, program, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? child : -1;
}

int kassa_process_descriptor(pid_t child) { return (int)syscall(SYS_pidfd_open, child, 0); }

bool kassa_reap(pid_t child) {
  pid_t ended;
  while ((ended = waitpid(child, NULL, WNOHANG)) < 0 && errno == EINTR) {
  }
  /* An error means that the host has collected it. */
  return ended != 0;
}

const char *kassa_error_name(int number) { return strerrorname_np(number); }

void *kassa_memory_wiped_on_fork(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, size, MADV_WIPEONFORK);
  return memory;
}
