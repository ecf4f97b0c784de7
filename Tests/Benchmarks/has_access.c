/*
 * How long kassa_has_access takes, beside json_object_get on an object of as many keys.
 *
 *   has_access STORAGE IDS [CONFIGURATION]
 *
 * STORAGE is a state directory in which an earlier run has cached the grants. IDS is a text file of product ids, one a
 * line, in three groups with an empty line between them: granted without an end, granted with one, and not granted.
 * CONFIGURATION is a file with the document for kassa_configure; without it, a service that nobody can reach.
 *
 * The candidates take turns, many times over, each asking for ids in a new random order; what counts is the median of
 * the rounds' ratios, because the machine's speed changes meanwhile. Everything is measured twice: in peace, and while
 * another thread configures the client 1,000 times a second, which replaces all answers.
 *
 * Fails if an answer is wrong, memory is allocated by a question, or a ratio is above its limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <kassa.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
} groups[GROUPS], granted, all;

static kassa_client *client;
static json_t *object;

/* The yardstick of all is the first. A limit of 0 is none. */
static const struct candidate {
  const char *name;
  const struct ids *ids;
  bool is_kassa;
  double limit;
} candidates[] = {
    {"json_object_get, hit", &granted, false, 0},
    {"json_object_get, miss", &groups[ABSENT], false, 0},
    {"json_object_get, mixed", &all, false, 0},
    {"kassa_has_access, hit without end", &groups[UNLIMITED], true, 0.6},
    {"kassa_has_access, hit with end", &groups[LIMITED], true, 0.85},
    {"kassa_has_access, miss", &groups[ABSENT], true, 0.6},
    {"kassa_has_access, mixed", &all, true, 0},
};
#define CANDIDATES (sizeof candidates / sizeof *candidates)

/* --- Measuring --- */

static double nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

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
  double start = nanoseconds();
  if (candidate->is_kassa) {
    for (size_t i = 0; i < ASKED; i++) *yes += kassa_has_access(client, asked[i]);
  } else {
    for (size_t i = 0; i < ASKED; i++) *yes += json_object_get(object, asked[i]) != NULL;
  }
  return (nanoseconds() - start) / ASKED;
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return values[count / 2];
}

/* Prints a table; whether every ratio is within its limit and nothing was allocated. */
static bool measure(const char *title) {
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

  printf("%s, %zu grants:\n", title, granted.count);
  bool is_good = allocated == 0;
  for (size_t i = 0; i < CANDIDATES; i++) {
    double time = median(times[i], ROUNDS), ratio = median(ratios[i], ROUNDS), limit = candidates[i].limit;
    printf("  %-34s %6.1f ns  ratio %.2f", candidates[i].name, time, ratio);
    if (limit > 0) printf("  limit %.2f  %s", limit, ratio <= limit ? "ok" : "TOO SLOW");
    putchar('\n');
    if (limit > 0 && ratio > limit) is_good = false;
  }
  printf("  allocations by %zu questions: %lu\n", (size_t)ROUNDS * CANDIDATES * ASKED, allocated);
  return is_good;
}

/* --- The thread that replaces the answers --- */

static int stop;
static unsigned long replaced;

static void *replace(void *configuration) {
  const struct timespec pause = {0, 900000};
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    kassa_configure(client, configuration);
    replaced++;
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
  int group = UNLIMITED;
  char *line = NULL;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, file)) > 0;) {
    line[strcspn(line, "\n")] = '\0';
    if (*line == '\0') {
      if (++group == GROUPS) break;
      continue;
    }
    char *id = strdup(line);
    append(&groups[group], id);
    append(&all, id);
    if (group != ABSENT) append(&granted, id);
  }
  free(line);
  fclose(file);
  for (int i = 0; i < GROUPS; i++) {
    if (groups[i].count == 0) fail(path, "three groups of ids are needed");
  }
}

static void check_answers(void) {
  for (int group = 0; group < GROUPS; group++) {
    for (size_t i = 0; i < groups[group].count; i++) {
      const char *id = groups[group].ids[i];
      if (kassa_has_access(client, id) != (group != ABSENT)) fail("wrong answer", id);
    }
  }
}

static json_t *configuration(const char *path) {
  json_error_t error;
  json_t *document = path != NULL
                         ? json_load_file(path, 0, &error)
                         : json_pack_ex(&error, 0, "{s:{s:s, s:s, s:s, s:s}}", "backend", "kind", "whop", "company_id",
                                        "biz_bench", "api_key", "bench", "base_url", "http://127.0.0.1:9");
  if (document == NULL) fail("configuration", error.text);
  return document;
}

int main(int argc, char **argv) {
  if (argc < 3) fail("usage", "has_access STORAGE IDS [CONFIGURATION]");
  read_ids(argv[2]);
  object = json_object();
  for (size_t i = 0; i < granted.count; i++) json_object_set_new(object, granted.ids[i], json_true());

  json_t *options = json_pack("{s:s, s:s}", "app_id", "bench", "storage", argv[1]);
  json_t *error = NULL;
  client = kassa_open(options, &error);
  if (client == NULL) fail("kassa_open", error != NULL ? json_dumps(error, 0) : "no error");
  json_t *config = configuration(argc > 3 ? argv[3] : NULL);
  kassa_configure(client, config);
  check_answers();

  bool is_good = measure("in peace");
  pthread_t writer;
  double start = nanoseconds();
  if (pthread_create(&writer, NULL, replace, config) != 0) fail("pthread_create", "no thread");
  is_good &= measure("while the answers are replaced");
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(writer, NULL);
  printf("  replaced %.0f times a second\n", (double)replaced / (nanoseconds() - start) * 1e9);
  check_answers();

  kassa_close(client);
  json_decref(options);
  json_decref(config);
  json_decref(object);
  return is_good ? 0 : 1;
}
