/*
 * check.h - what the C test programs are written in: CHECK inside a test function, RUN in main, DONE at its end.
 *
 *   static void addition(void) { CHECK(1 + 1 == 2); }
 *   int main(void) { RUN(addition); DONE(); }
 *
 * A program prints one TAP line for each test and ends with 0 if all hold. A failed CHECK does not end its test.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define RUN(test) check_run(#test, test)
#define DONE() return check_done()

/* Says that the running test cannot be made here, and why. */
void check_skip(const char *why);

/* Runs `body` in a child made by fork; whether all its checks held and it ended within 20 seconds. */
bool check_in_child(void (*body)(void));

bool check_that(bool holds, const char *condition, const char *file, int line);
void check_run(const char *name, void (*test)(void));
int check_done(void);

#endif
