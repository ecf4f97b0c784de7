/* A program that is compiled with the header alone and loads the library itself. */
#include <dlfcn.h>
#include <kassa.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    const char *(*version)(void);
    if (!library) return 1;
    *(void **)&version = dlsym(library, "kassa_version");
    if (!version) return 1;
    puts(version());
    return 0;
}
