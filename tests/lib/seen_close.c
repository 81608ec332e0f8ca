/* Linked into programs with ThreadSanitizer alone. libuv closes descriptors by syscall(), which
 * ThreadSanitizer does not see: the number's next use by another thread looks like a race. Here
 * these become close(), which it sees, so that a report is of a real second use or close. */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGUMENTS = 6 };

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    long argument[ARGUMENTS];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < ARGUMENTS; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_close)
        return close((int)argument[0]);
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}
