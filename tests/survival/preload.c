/*
 * Loaded before a daemon (LD_PRELOAD), this makes its allocations, or its accesses to files and
 * sockets, fail at a chosen place, and sets its wall clock. The test commands it through a file
 * that both have mapped, named by BERTH_TEST_CONTROL, at any moment of the daemon's life;
 * tests/lib/survival.py is the other side. Programs that the daemon starts get an environment
 * without it.
 *
 * With BERTH_TEST_TRACE=1 it says on standard error where each failure was.
 *
 * Let through, because the libraries do not survive it: whatever hwloc allocates
 * (hwloc_topology_init and others use what they got unseen), libuv's realloc (its table by
 * descriptor: uv__io_start calls abort; the daemon has it grow at its start, and a kind of its own
 * makes it fail from then on), what the dynamic linker allocates for a new thread
 * (init_threads, likewise), pipes and eventfds (uv__signal_global_init, uv__async_start), and the
 * growth of the text that jansson 2.14 keeps of a token (strbuffer_append_bytes from lex_save,
 * which ignores that it failed, and lex_scan_string then writes past the end of its copy): a power
 * of two from 32 on, asked for by jansson beneath json_loadb.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

enum kind { NOTHING, ALLOCATIONS, ACCESSES, TABLES, BOOT_ID };

/* As in tests/lib/survival.py. */
struct control {
    int64_t kind;      /* what fails */
    int64_t countdown; /* 1: the next one; 0: none */
    int64_t for_ever;  /* and every later one */
    int64_t failed;    /* how many have */
    int64_t live;      /* blocks that are allocated and not freed */
    int64_t wall_s;    /* added to the wall clock */
    int64_t ready;     /* set once this is at work */
};

static struct control *control;
static FILE *(*next_fopen)(const char *, const char *);
static DIR *(*next_opendir)(const char *);
static pid_t (*next_fork)(void);

/* The library's own, for whatever is replaced here; other libraries may come before begin(). */
static long (*kernel(void))(long, ...)
{
    static long (*next)(long, ...);
    if (next == NULL)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("BERTH_TEST_CONTROL");
    int fd = path != NULL ? (int)kernel()(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *shared = fd >= 0 ? (void *)kernel()(SYS_mmap, NULL, sizeof *control,
                                              PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                           : MAP_FAILED;
    next_fopen = dlsym(RTLD_NEXT, "fopen");
    next_opendir = dlsym(RTLD_NEXT, "opendir");
    next_fork = dlsym(RTLD_NEXT, "fork");
    if (shared == MAP_FAILED) {
        static const char text[] = "preload: BERTH_TEST_CONTROL names no file that can be mapped\n";
        if (kernel()(SYS_write, STDERR_FILENO, text, sizeof text - 1) < 0)
            _exit(71);
        _exit(70);
    }
    kernel()(SYS_close, fd);
    void *frame;
    backtrace(&frame, 1); /* loads what it needs */
    control = shared;
    control->ready = 1;
}

static void trace(void)
{
    void *frames[16];
    if (getenv("BERTH_TEST_TRACE") != NULL)
        backtrace_symbols_fd(frames, backtrace(frames, 16), STDERR_FILENO);
}

static bool fails(enum kind kind)
{
    if (control == NULL || __atomic_load_n(&control->kind, __ATOMIC_RELAXED) != kind ||
        __atomic_load_n(&control->countdown, __ATOMIC_RELAXED) <= 0)
        return false;
    int64_t left = __atomic_sub_fetch(&control->countdown, 1, __ATOMIC_RELAXED);
    if (left > 0 || (left < 0 && !control->for_ever))
        return false;
    if (control->for_ever)
        __atomic_store_n(&control->countdown, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&control->failed, 1, __ATOMIC_RELAXED);
    return true;
}

/* ---- memory ---- */

static bool is_from(const void *caller, const char *library)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
           strstr(info.dli_fname, library) != NULL;
}

static bool is_armed_for_memory(void)
{
    return control != NULL && __atomic_load_n(&control->kind, __ATOMIC_RELAXED) == ALLOCATIONS &&
           __atomic_load_n(&control->countdown, __ATOMIC_RELAXED) > 0;
}

static bool is_beneath(const char *library)
{
    void *frames[24];
    int count = backtrace(frames, 24);
    for (int i = 0; i < count; i++)
        if (is_from(frames[i], library))
            return true;
    return false;
}

/* Whether the frames above name both: the library that asks, and the function that was called of
 * it. */
static bool is_token_growing(const void *caller, size_t size)
{
    if (size < 32 || (size & (size - 1)) != 0 || !is_from(caller, "/libjansson.so"))
        return false;
    void *frames[24];
    Dl_info info;
    int count = backtrace(frames, 24);
    for (int i = 0; i < count; i++)
        if (dladdr(frames[i], &info) != 0 && info.dli_sname != NULL &&
            strcmp(info.dli_sname, "json_loadb") == 0)
            return true;
    return false;
}

static bool memory_fails(const void *caller, bool is_realloc, size_t size)
{
    if (is_realloc && control != NULL &&
        __atomic_load_n(&control->kind, __ATOMIC_RELAXED) == TABLES)
        return is_from(caller, "/libuv.so") && fails(TABLES);
    if (!is_armed_for_memory() || is_from(caller, "/ld-linux") ||
        (is_realloc && is_from(caller, "/libuv.so")) || !fails(ALLOCATIONS) ||
        is_beneath("/libhwloc.so") || is_token_growing(caller, size))
        return false;
    trace();
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    if (block != NULL && control != NULL)
        __atomic_add_fetch(&control->live, 1, __ATOMIC_RELAXED);
    return block;
}

PUBLIC void *malloc(size_t size)
{
    return memory_fails(__builtin_return_address(0), false, size) ? NULL
                                                                  : counted(__libc_malloc(size));
}

PUBLIC void *calloc(size_t count, size_t size)
{
    return memory_fails(__builtin_return_address(0), false, count * size)
               ? NULL
               : counted(__libc_calloc(count, size));
}

PUBLIC void *realloc(void *block, size_t size)
{
    if (memory_fails(__builtin_return_address(0), true, size))
        return NULL;
    return block == NULL ? counted(__libc_realloc(block, size)) : __libc_realloc(block, size);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    return memory_fails(__builtin_return_address(0), false, size)
               ? NULL
               : counted(__libc_memalign(alignment, size));
}

PUBLIC int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *block = memory_fails(__builtin_return_address(0), false, size)
                      ? NULL
                      : counted(__libc_memalign(alignment, size));
    if (block == NULL)
        return ENOMEM;
    *ret = block;
    return 0;
}

PUBLIC void free(void *block)
{
    if (block != NULL && control != NULL)
        __atomic_sub_fetch(&control->live, 1, __ATOMIC_RELAXED);
    __libc_free(block);
}

/* ---- files and sockets ---- */

static bool access_fails(int error)
{
    if (!fails(ACCESSES))
        return false;
    trace();
    errno = error;
    return true;
}

/* Files, those of /proc and /sys among them; not what the libraries wake themselves with. */
static bool is_file(int fd)
{
    struct stat status;
    return kernel()(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 && S_ISREG(status.st_mode);
}

/* The boot's id is a kind of its own: few of thousands of places read it. */
static bool open_fails(const char *path)
{
    if (strstr(path, "/boot_id") == NULL || !fails(BOOT_ID))
        return access_fails(EMFILE);
    errno = EMFILE;
    return true;
}

static int open_it(int folder, const char *path, int flags, mode_t mode)
{
    return open_fails(path) ? -1
                            : (int)kernel()(SYS_openat, folder, path, flags | O_LARGEFILE, mode);
}

#define MODE_OF(flags)                                                                             \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode = va_arg(args, mode_t);                                                               \
        va_end(args);                                                                              \
    }

PUBLIC int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_it(AT_FDCWD, path, flags, mode);
}

/* Stands for open in a program built with _FORTIFY_SOURCE. */
PUBLIC int __open_2(const char *path, int flags);
PUBLIC int __open_2(const char *path, int flags) { return open_it(AT_FDCWD, path, flags, 0); }

PUBLIC int openat(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return open_it(folder, path, flags, mode);
}

PUBLIC FILE *fopen(const char *path, const char *mode)
{
    return access_fails(EMFILE) ? NULL : next_fopen(path, mode);
}
PUBLIC DIR *opendir(const char *path) { return access_fails(EMFILE) ? NULL : next_opendir(path); }

/* openat2 has no function of its own. */
PUBLIC long syscall(long number, ...)
{
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_openat2 && access_fails(EMFILE))
        return -1;
    return kernel()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

PUBLIC ssize_t read(int fd, void *buffer, size_t size)
{
    return is_file(fd) && access_fails(EIO) ? -1 : (ssize_t)kernel()(SYS_read, fd, buffer, size);
}

PUBLIC ssize_t pread(int fd, void *buffer, size_t size, off_t at)
{
    return access_fails(EIO) ? -1 : (ssize_t)kernel()(SYS_pread64, fd, buffer, size, at);
}

PUBLIC ssize_t write(int fd, const void *buffer, size_t size)
{
    return fd != STDERR_FILENO && is_file(fd) && access_fails(ENOSPC)
               ? -1
               : (ssize_t)kernel()(SYS_write, fd, buffer, size);
}

PUBLIC ssize_t pwrite(int fd, const void *buffer, size_t size, off_t at)
{
    return access_fails(ENOSPC) ? -1 : (ssize_t)kernel()(SYS_pwrite64, fd, buffer, size, at);
}

PUBLIC int fsync(int fd) { return access_fails(EIO) ? -1 : (int)kernel()(SYS_fsync, fd); }
PUBLIC int fdatasync(int fd) { return access_fails(EIO) ? -1 : (int)kernel()(SYS_fdatasync, fd); }
PUBLIC int ftruncate(int fd, off_t size)
{
    return access_fails(EIO) ? -1 : (int)kernel()(SYS_ftruncate, fd, size);
}
PUBLIC int rename(const char *from, const char *to)
{
    return access_fails(EIO) ? -1 : (int)kernel()(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
PUBLIC int unlink(const char *path)
{
    return access_fails(EIO) ? -1 : (int)kernel()(SYS_unlinkat, AT_FDCWD, path, 0);
}
PUBLIC int mkdir(const char *path, mode_t mode)
{
    return access_fails(ENOSPC) ? -1 : (int)kernel()(SYS_mkdirat, AT_FDCWD, path, mode);
}

PUBLIC void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fd >= 0 && access_fails(ENOMEM)
               ? MAP_FAILED
               : (void *)kernel()(SYS_mmap, at, size, protection, flags, fd, offset);
}

PUBLIC int stat(const char *path, struct stat *ret)
{
    return access_fails(EIO) ? -1 : (int)kernel()(SYS_newfstatat, AT_FDCWD, path, ret, 0);
}
PUBLIC int lstat(const char *path, struct stat *ret)
{
    return access_fails(EIO)
               ? -1
               : (int)kernel()(SYS_newfstatat, AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}
PUBLIC int fstat(int fd, struct stat *ret)
{
    return access_fails(EIO) ? -1 : (int)kernel()(SYS_newfstatat, fd, "", ret, AT_EMPTY_PATH);
}

PUBLIC int socket(int domain, int type, int protocol)
{
    return access_fails(EMFILE) ? -1 : (int)kernel()(SYS_socket, domain, type, protocol);
}

PUBLIC int socketpair(int domain, int type, int protocol, int fds[2])
{
    return access_fails(EMFILE) ? -1 : (int)kernel()(SYS_socketpair, domain, type, protocol, fds);
}

PUBLIC int listen(int fd, int backlog)
{
    return access_fails(ENOBUFS) ? -1 : (int)kernel()(SYS_listen, fd, backlog);
}
PUBLIC int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
    return access_fails(EMFILE) ? -1 : (int)kernel()(SYS_accept4, fd, address, length, flags);
}

PUBLIC pid_t fork(void) { return access_fails(EAGAIN) ? -1 : next_fork(); }

/* The same functions under the names that programs built for large files call. */
PUBLIC int open64(const char *path, int flags, ...) __attribute__((alias("open")));
PUBLIC int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
PUBLIC FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));
PUBLIC ssize_t pread64(int fd, void *buffer, size_t size, off_t at) __attribute__((alias("pread")));
PUBLIC ssize_t pwrite64(int fd, const void *buffer, size_t size, off_t at)
    __attribute__((alias("pwrite")));
PUBLIC int ftruncate64(int fd, off_t size) __attribute__((alias("ftruncate")));
PUBLIC void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));
PUBLIC int stat64(const char *path, struct stat64 *ret) { return stat(path, (struct stat *)ret); }
PUBLIC int lstat64(const char *path, struct stat64 *ret) { return lstat(path, (struct stat *)ret); }
PUBLIC int fstat64(int fd, struct stat64 *ret) { return fstat(fd, (struct stat *)ret); }

/* ---- time ---- */

static int64_t wall_s(void)
{
    return control != NULL ? __atomic_load_n(&control->wall_s, __ATOMIC_RELAXED) : 0;
}

PUBLIC int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int status = (int)kernel()(SYS_clock_gettime, clock, ret);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret->tv_sec += wall_s();
    return status;
}

PUBLIC time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret != NULL)
        *ret = now.tv_sec;
    return now.tv_sec;
}

PUBLIC int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
