/* Loading and exporting of an hwloc topology: the live machine's, or an XML text of a node folder.
 */
#include "discover/backend_hwloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "discover/backend.h"

#define TRIAL_SECONDS 10
#define MEMINFO_MAX   65536

/* hwloc reads these from the environment only, and changing the environment is safe only while
 * there is one thread. */
__attribute__((constructor)) static void prepare_environment(void)
{
    setenv("HWLOC_HIDE_ERRORS", "2", 1); /* we report errors, in one line */
    /* loading a plugin loads its driver, blacklisted or not */
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    setenv("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1", 1); /* hidden by default before 2.11 */
}

/* Returns the reason for which hwloc refused a text: hwloc prints it only on standard error. */
static enum berth_code refuse(const char *xml, const char *name, struct berth_err *err)
{
    const char *topology = strstr(xml, "<topology");
    const char *version = topology == NULL ? NULL : strstr(topology, "version=\"");
    if (topology == NULL)
        return err_set(err, BERTH_BAD_DATA, "%s is no hwloc XML file", name);
    if (version != NULL && (size_t)(version - topology) < strcspn(topology, ">") &&
        atoi(version + 9) >= 3)
        return err_set(err, BERTH_BAD_DATA,
                       "%s is hwloc XML of format %.3s, which only hwloc 3 reads: export it with "
                       "--export-xml-flags v2",
                       name, version + 9);
    if (strstr(topology, "</topology>") == NULL)
        return err_set(err, BERTH_BAD_DATA, "%s is cut off: it has no </topology>", name);
    return err_set(err, BERTH_BAD_DATA, "%s is broken: hwloc cannot read it", name);
}

/* Loads XML, or with NULL the running machine. */
static hwloc_topology_t load(const char *xml)
{
    static const char *const off[] = {"cuda", "nvml", "rsmi", "opencl", "gl", "levelzero",
                                      /* would move this thread over all cpus, for facts that the
                                       * kernel provides */
                                      "x86"};
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        /* fails where hwloc lacks the component */
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, off[i]);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    /* Without this flag hwloc hides NUMA nodes that have cpus but no memory. */
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if ((xml == NULL || hwloc_topology_set_xmlbuffer(topology, xml, (int)strlen(xml) + 1) == 0) &&
        hwloc_topology_load(topology) == 0)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

/* Loads the text in a child; returns its status from waitpid, -1 without one. */
static int try_in_child(const char *xml, unsigned seconds)
{
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        static const int ends[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
            /* handlers of this process must not run in the child */
            signal(ends[i], SIG_DFL);
        alarm(seconds);
        int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, STDERR_FILENO);
        _exit(load(xml) == NULL);
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 ? status : -1;
}

/* hwloc trusts XML: a missing or wrong attribute can end the process. A child loads it first. A
 * child that hangs is followed by another. It hangs on a lock that one of our threads held during
 * the fork: hwloc's own, or that of a sanitizer's allocator. */
static bool survives(const char *xml)
{
    static const unsigned seconds[] = {2, 2, TRIAL_SECONDS};
    int status = -1;
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        status = try_in_child(xml, seconds[i]);
        if (status == -1 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM)
            break;
    }
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Adds the MemTotal of /proc/meminfo, because hwloc has only the size of each NUMA node. Nothing is
 * added where it cannot be read. */
static bool add_memory_info(hwloc_topology_t topology, const struct files *io)
{
    char *text = NULL, bytes[32];
    long long kibibytes = 0;
    enum berth_code code = files_read(io, "/proc/meminfo", MEMINFO_MAX, &text, NULL);
    const char *line = code == BERTH_OK ? strstr(text, "MemTotal:") : NULL;
    bool is_known =
        line != NULL && sscanf(line, "MemTotal: %15lld kB", &kibibytes) == 1 && kibibytes > 0;
    free(text);
    snprintf(bytes, sizeof bytes, "%lld", kibibytes * 1024);
    return code != BERTH_NO_MEMORY &&
           (!is_known || hwloc_obj_add_info(hwloc_get_root_obj(topology), BACKEND_HWLOC_MEMORY_INFO,
                                            bytes) == 0);
}

static enum berth_code load_live(const struct files *io, hwloc_topology_t *ret_topology,
                                 struct berth_err *err)
{
    hwloc_topology_t topology = load(NULL);
    if (topology == NULL)
        return err_set(err, BERTH_IO, "hwloc cannot see this machine's cpus");
    /* The node is more than the cpus of the daemon's own cgroup: system services are often kept on
     * a few cores. */
    hwloc_topology_allow(topology, NULL, NULL, HWLOC_ALLOW_FLAG_ALL);
    if (!add_memory_info(topology, io)) {
        hwloc_topology_destroy(topology);
        return err_set(err, BERTH_NO_MEMORY, "no memory for this machine's topology");
    }
    *ret_topology = topology;
    return BERTH_OK;
}

/* hwloc's time grows with the square of the number of siblings: 200,000 take 14 s. A node of
 * CPUSET_MAX cpus has about 25,000 objects. */
static enum berth_code check_size(const char *xml, const char *name, struct berth_err *err)
{
    enum { OBJECTS_MAX = 32768 };
    size_t count = 0;
    for (const char *at = xml; (at = strchr(at, '<')) != NULL; at++)
        count += strncmp(at, "<object", strlen("<object")) == 0;
    return count <= OBJECTS_MAX
               ? BERTH_OK
               : err_set(err, BERTH_BAD_DATA, "%s has %zu objects; at most %d are read", name,
                         count, OBJECTS_MAX);
}

enum berth_code backend_hwloc_load(const char *xml, const char *name, const struct files *io,
                                   hwloc_topology_t *ret_topology, struct berth_err *err)
{
    if (xml == NULL)
        return load_live(io, ret_topology, err);
    enum berth_code code = check_size(xml, name, err);
    if (code != BERTH_OK)
        return code;
    hwloc_topology_t topology =
        strstr(xml, "</topology>") != NULL && survives(xml) ? load(xml) : NULL;
    if (topology == NULL)
        return refuse(xml, name, err);
    *ret_topology = topology;
    return BERTH_OK;
}

enum berth_code backend_hwloc_export(const struct files *io, char **ret_xml, struct berth_err *err)
{
    hwloc_topology_t topology = NULL;
    enum berth_code code = load_live(io, &topology, err);
    if (code != BERTH_OK)
        return code;
    char *buffer = NULL, *copy = NULL;
    int length = 0;
    if (hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0) == 0) {
        copy = strndup(buffer, (size_t)length);
        hwloc_free_xmlbuffer(topology, buffer);
    }
    hwloc_topology_destroy(topology);
    if (copy == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the XML of this machine");
    *ret_xml = copy;
    return BERTH_OK;
}
