/*
 * bench.h - how the figures are measured. Candidate and yardstick take turns in rounds; a figure is the median of the
 * ratios of the rounds, since the machine's speed changes from minute to minute while ratios do not.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return values[count / 2];
}

/* One line of the table: what was measured, the ratio that was found and its gate. run.sh judges it. */
static inline void report(const char *figure, double ratio, double gate, const char *details)
{
    printf("%s\t%.2f\t%.2f\t%s\n", figure, ratio, gate, details);
}

/*
 * Measures two things in turn. Each function gives the nanoseconds of one measurement. The first rounds are not
 * counted: they warm caches up.
 */
static inline void compare(const char *figure, double gate, int rounds, int64_t (*candidate)(void *),
                           int64_t (*yardstick)(void *), void *context)
{
    enum { WARM_UP = 3 };
    double *ratios = calloc((size_t)rounds * 3, sizeof *ratios);
    double *candidates = ratios + rounds, *yardsticks = candidates + rounds;
    for (int round = -WARM_UP; round < rounds; round++) {
        double one = (double)candidate(context), other = (double)yardstick(context);
        if (round < 0) continue;
        candidates[round] = one;
        yardsticks[round] = other;
        ratios[round] = one / other;
    }
    char details[120];
    snprintf(details, sizeof details, "%.1f us against %.1f us", median(candidates, (size_t)rounds) / 1000,
             median(yardsticks, (size_t)rounds) / 1000);
    report(figure, median(ratios, (size_t)rounds), gate, details);
    free(ratios);
}

#endif
