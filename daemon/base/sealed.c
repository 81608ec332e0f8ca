#include "base/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static enum berth_code refused(struct berth_err *err, int number, const char *name)
{
    return err_set_errno(err, BERTH_UNAVAILABLE, number, "cannot make %s in memory", name);
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR)
            return false;
        data += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

enum berth_code sealed_copy(const char *name, const void *data, size_t size, int *ret_fd,
                            struct berth_err *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && write_all(fd, data, size) &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0) {
        *ret_fd = fd;
        return BERTH_OK;
    }
    int number = errno;
    if (fd >= 0)
        close(fd);
    return refused(err, number, name);
}

enum berth_code sealed_page(const char *name, size_t size, void **ret_page, int *ret_fd,
                            struct berth_err *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *page = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) ==
            0) {
        *ret_page = page;
        *ret_fd = fd;
        return BERTH_OK;
    }
    int number = errno;
    if (page != MAP_FAILED)
        munmap(page, size);
    if (fd >= 0)
        close(fd);
    return refused(err, number, name);
}
