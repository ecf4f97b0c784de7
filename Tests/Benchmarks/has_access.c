/*
 * kassa_has_access against json_object_get on an object of as many keys, a hit. No question may allocate.
 *
 *   has_access DIRECTORY CONFIG IDS
 *
 * IDS are product ids, one a line: a quarter granted without an end, a quarter granted with one, and half not granted.
 * Each candidate asks for ids in a new random order in each round. Everything is measured twice: in peace, and while
 * another thread configures the client 1,000 times a second, which replaces all answers.
 */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "kassa.h"

#define ROUNDS 200
#define ASKED 20000

/* --- Counting allocations: the library finds these before libc's own --- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Those of this thread alone: the one that configures allocates all the time. */
static __thread unsigned long allocations;

void *malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  allocations++;
  return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  allocations++;
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}

/* --- The candidates --- */

enum group { UNLIMITED, LIMITED, ABSENT, GROUPS };

static struct ids {
  char **ids;
  size_t count;
} groups[GROUPS], granted;

static kassa_client *client;
static json_t *object;

/* The first is the yardstick of the others. */
static const struct candidate {
  const char *name;
  const struct ids *ids;
  bool is_kassa;
  double gate;
} candidates[] = {
    {"json_object_get", &granted, false, 0},
    {"kassa_has_access, access without end", &groups[UNLIMITED], true, 0.6},
    {"kassa_has_access, access with an end", &groups[LIMITED], true, 0.85},
    {"kassa_has_access, no access", &groups[ABSENT], true, 0.6},
};
#define CANDIDATES (sizeof candidates / sizeof *candidates)

/* --- Measuring --- */

static size_t random_below(size_t limit) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (size_t)(state % limit);
}

/* Nanoseconds for one question. Each candidate has its own loop, so that the call in it is a direct one. */
static double time_one(const struct candidate *candidate, size_t *yes) {
  static const char *asked[ASKED];
  for (size_t i = 0; i < ASKED; i++) asked[i] = candidate->ids->ids[random_below(candidate->ids->count)];
  int64_t start = now_ns();
  if (candidate->is_kassa) {
    for (size_t i = 0; i < ASKED; i++) *yes += kassa_has_access(client, asked[i]);
  } else {
    for (size_t i = 0; i < ASKED; i++) *yes += json_object_get(object, asked[i]) != NULL;
  }
  return (double)(now_ns() - start) / ASKED;
}

/* Reports each candidate's ratio, and that nothing was allocated. */
static void measure(const char *circumstances) {
  static double times[CANDIDATES][ROUNDS], ratios[CANDIDATES][ROUNDS];
  size_t yes = 0;
  unsigned long before = allocations;
  for (size_t round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < CANDIDATES; i++) {
      times[i][round] = time_one(&candidates[i], &yes);
      ratios[i][round] = times[i][round] / times[0][round];
    }
  }
  unsigned long allocated = allocations - before;

  char figure[80], details[80];
  double yardstick = median(times[0], ROUNDS);
  for (size_t i = 1; i < CANDIDATES; i++) {
    snprintf(figure, sizeof figure, "%s%s", candidates[i].name, circumstances);
    snprintf(details, sizeof details, "%.1f ns against %.1f ns", median(times[i], ROUNDS), yardstick);
    report(figure, median(ratios[i], ROUNDS), candidates[i].gate, details);
  }
  snprintf(figure, sizeof figure, "allocations by kassa_has_access%s", circumstances);
  snprintf(details, sizeof details, "%zu questions, %zu times yes", ROUNDS * CANDIDATES * ASKED, yes);
  report(figure, (double)allocated, 0, details);
}

/* --- The thread that replaces the answers --- */

static int stop;

static void *replace(void *configuration) {
  const struct timespec pause = {0, 900000};
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    kassa_configure(client, configuration);
    for (json_t *event; (event = kassa_next_event(client, 0)) != NULL;) json_decref(event);
    nanosleep(&pause, NULL);
  }
  return NULL;
}

/* --- Setting up --- */

static void fail(const char *what, const char *detail) {
  fprintf(stderr, "has_access: %s: %s\n", what, detail);
  exit(2);
}

static void append(struct ids *list, char *id) {
  char **ids = realloc(list->ids, (list->count + 1) * sizeof *ids);
  if (ids == NULL) fail("memory", strerror(errno));
  list->ids = ids;
  list->ids[list->count++] = id;
}

static void read_ids(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) fail(path, strerror(errno));
  struct ids all = {NULL, 0};
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    append(&all, strdup(line));
  }
  free(line);
  fclose(file);
  if (all.count < 4) fail(path, "too few ids");
  size_t quarter = all.count / 4;
  groups[UNLIMITED] = (struct ids){all.ids, quarter};
  groups[LIMITED] = (struct ids){all.ids + quarter, quarter};
  groups[ABSENT] = (struct ids){all.ids + 2 * quarter, all.count - 2 * quarter};
  granted = (struct ids){all.ids, 2 * quarter};
}

static void check_answers(void) {
  for (int group = 0; group < GROUPS; group++) {
    for (size_t i = 0; i < groups[group].count; i++) {
      const char *id = groups[group].ids[i];
      if (kassa_has_access(client, id) != (group != ABSENT)) fail("wrong answer", id);
    }
  }
}

int main(int count, char **arguments) {
  if (count != 4) fail("usage", "has_access DIRECTORY CONFIG IDS");
  read_ids(arguments[3]);
  object = json_object();
  for (size_t i = 0; i < granted.count; i++) json_object_set_new(object, granted.ids[i], json_true());

  json_t *options = json_pack("{s:s}", "storage", arguments[1]), *config = json_load_file(arguments[2], 0, NULL);
  client = kassa_open(options, NULL);
  if (client == NULL || config == NULL) fail("cannot open", arguments[1]);
  kassa_json_release(kassa_wait(client, kassa_configure(client, config), 15000));
  check_answers();
  measure("");

  pthread_t writer;
  if (pthread_create(&writer, NULL, replace, config) != 0) fail("pthread_create", "no thread");
  measure(", while replaced");
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(writer, NULL);
  check_answers();

  kassa_close(client);
  json_decref(options);
  json_decref(config);
  json_decref(object);
  return 0;
}
