/* The yardstick of a start: a program that only opens libcurl. */
#include <dlfcn.h>
#include <unistd.h>

int main(void)
{
    return dlopen("libcurl.so.4", RTLD_NOW) && write(STDOUT_FILENO, "y", 1) == 1 ? 0 : 1;
}
