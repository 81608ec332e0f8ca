/* What a task of a job finds itself in: its cpus, its memory policy, which gpus' device files it
 * may open, and the variables about gpus; one JSON line. Then it stays for some seconds, or with
 * "-" until its input ends. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void print_cpus(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    const char *comma = "";
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        exit(1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus)) {
            printf("%s%d", comma, cpu);
            comma = ",";
        }
}

static void print_policy(void)
{
    int mode = -1;
    unsigned long nodes[16] = {0};
    syscall(SYS_get_mempolicy, &mode, nodes, 8 * sizeof nodes, NULL, 0);
    printf("\"policy\": %d, \"nodes\": %lu", mode, nodes[0]);
}

static void print_variable(const char *name)
{
    const char *value = getenv(name);
    if (value != NULL)
        printf(", \"%s\": \"%s\"", name, value);
}

/* Nothing drives them: a file that may be opened has no device. */
static bool may_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || (errno != EPERM && errno != ENOENT);
}

/* Of the vendor that the machine has gpus of. */
static void print_devices(void)
{
    const char *comma = "";
    printf(", \"devices\": [");
    for (int n = 0; n < 8; n++) {
        char amd[32], nvidia[32];
        snprintf(amd, sizeof amd, "/dev/dri/renderD%d", 128 + n);
        snprintf(nvidia, sizeof nvidia, "/dev/nvidia%d", n);
        if (may_open(amd) || may_open(nvidia)) {
            printf("%s%d", comma, n);
            comma = ",";
        }
    }
    printf("]");
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "SLURM_JOB_ID",         "SLURM_LOCALID",       "SLURM_STEP_GPUS",
        "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",   "HSA_ENABLE_SDMA",     "HSA_ENABLE_PEER_SDMA"};
    printf("task {\"cpus\": [");
    print_cpus();
    printf("], ");
    print_policy();
    print_devices();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        print_variable(names[i]);
    printf("}\n");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "-") == 0)
        while (getchar() != EOF)
            continue;
    else if (argc > 1)
        sleep((unsigned)atoi(argv[1]));
    return 0;
}
