/* Run inside the service's sandbox: tries what discovery and the probes need, and what nobody there
 * should be able to do. Prints a line each: what it tried, and "yes" or the error. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LARGE ((size_t)256 << 20)

static void say(const char *what, bool works)
{
    printf("%s: %s\n", what, works ? "yes" : strerror(errno));
    fflush(stdout);
}

static void opens(const char *path, int flags)
{
    char what[128];
    int fd = open(path, flags | O_CLOEXEC, 0600);
    snprintf(what, sizeof what, "%s %s", (flags & O_ACCMODE) == O_RDONLY ? "read" : "write", path);
    say(what, fd >= 0);
    if (fd >= 0)
        close(fd);
}

/* As a driver pins what is copied. */
static void pins(void)
{
    void *memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("pin 256 MiB", memory != MAP_FAILED && mlock(memory, LARGE) == 0);
    munmap(memory, LARGE);
}

/* As what is compiled at run time is written and then executed. */
static void executes(void)
{
    static const unsigned char code[] = {0xb8, 0x2a, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
    unsigned char *memory =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int answer = 0;
    if (memory != MAP_FAILED) {
        memcpy(memory, code, sizeof code);
        answer = ((int (*)(void))(uintptr_t)memory)();
    }
    say("execute what was written", answer == 42);

    char path[] = "/tmp/inside-XXXXXX";
    int fd = mkstemp(path);
    memory = MAP_FAILED;
    if (fd >= 0 && write(fd, code, sizeof code) == (ssize_t)sizeof code)
        memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    say("execute a file of /tmp",
        memory != MAP_FAILED && ((int (*)(void))(uintptr_t)memory)() == 42);
    if (fd >= 0)
        unlink(path);
    fd = memfd_create("inside", 0);
    say("execute a file in memory",
        fd >= 0 && write(fd, code, sizeof code) == (ssize_t)sizeof code &&
            mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    int status = 1;
    say("start a compiler", child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void places(void)
{
    unsigned long nodes = 1;
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("bind memory", syscall(SYS_mbind, memory, 4096L, 2L, &nodes, 8L, 0L) == 0);
    *(volatile char *)memory = 1;
    int on = -1, to = 0;
    say("move pages", syscall(SYS_move_pages, 0, 1L, &memory, &to, &on, 2L) == 0);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    say("pin threads", sched_setaffinity(0, sizeof cpus, &cpus) == 0);
    int fd = shm_open("/inside", O_CREAT | O_RDWR, 0600);
    say("share memory", fd >= 0 && ftruncate(fd, 4096) == 0);
    shm_unlink("/inside");
}

static bool connects(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    socklen_t size = sizeof to;
    int listening = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, address, &to.sin_addr);
    bool works = bind(listening, (struct sockaddr *)&to, sizeof to) == 0 &&
                 listen(listening, 1) == 0 &&
                 getsockname(listening, (struct sockaddr *)&to, &size) == 0;
    struct timeval limit = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    works = works && connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    int error = errno;
    close(listening);
    close(fd);
    errno = error;
    return works;
}

static void must_not(void)
{
    opens("/etc/inside", O_WRONLY | O_CREAT);
    opens("/usr/inside", O_WRONLY | O_CREAT);
    opens("/proc/sys/kernel/panic", O_WRONLY);
    opens("/sys/kernel/mm/transparent_hugepage/enabled", O_WRONLY);
    opens("/home/.public", O_RDONLY);
    opens("/etc/shadow", O_RDONLY);
    opens("/dev/mem", O_RDWR);
    say("set the clock", clock_settime(CLOCK_REALTIME, &(struct timespec){1, 0}) == 0);
    say("mount", mount("none", "/tmp", "tmpfs", 0, NULL) == 0);
    say("become root", setuid(0) == 0);
    say("make a namespace", unshare(CLONE_NEWUSER) == 0);
    say("be real-time",
        sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) == 0);
    say("use raw sockets", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0);
    say("use packet sockets", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
    say("trace others", syscall(SYS_ptrace, 16L, getppid(), 0L, 0L) == 0);
    say("load a module", syscall(SYS_init_module, "", 0L, "") == 0);
    char path[] = "/tmp/inside-XXXXXX";
    int fd = mkstemp(path);
    say("make a setuid program", fd >= 0 && fchmod(fd, 04755) == 0);
    unlink(path);
    say("reach another address", connects("10.9.8.7"));
}

int main(int argc, char **argv)
{
    if (geteuid() == 0) {
        fprintf(stderr, "inside: root could really do all this to the machine; it runs as another "
                        "user alone\n");
        return 64;
    }
    for (int i = 1; i < argc; i++)
        opens(argv[i], O_RDWR);
    opens("/sys/class/kfd/kfd/topology/nodes/4/properties", O_RDONLY);
    opens("/proc/1/cgroup", O_RDONLY);
    opens("/var/lib/berth/inside", O_WRONLY | O_CREAT);
    unlink("/var/lib/berth/inside");
    pins();
    executes();
    places();
    say("meet on the loopback interface", connects("127.0.0.1"));
    printf("-\n");
    must_not();
    return 0;
}
