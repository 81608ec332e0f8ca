/* Compilation of the probe's kernels at run time, by nvrtc or hiprtc. */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver/dl.h"
#include "gpu/driver/image.h"

typedef void *rtc_program;

/* nvrtc and hiprtc have the same calls. Only the first letters of the names and the name of the
 * result differ. */
struct compiler {
    int (*create)(rtc_program *program, const char *source, const char *name, int headers,
                  const char *const *texts, const char *const *names);
    int (*compile)(rtc_program program, int count, const char *const *options);
    int (*destroy)(rtc_program *program);
    int (*log_size)(rtc_program program, size_t *size);
    int (*log)(rtc_program program, char *log);
    int (*code_size)(rtc_program program, size_t *size);
    int (*code)(rtc_program program, char *code);
    int (*ptx_size)(rtc_program program, size_t *size);
    int (*ptx)(rtc_program program, char *code);
    int (*arch_count)(int *count);
    int (*archs)(int *archs);
};

#define CALL(name, member, needed)                                                                 \
    {                                                                                              \
        name, offsetof(struct compiler, member), needed                                            \
    }
static const struct gpu_dl_call nvrtc_calls[] = {
    CALL("nvrtcCreateProgram", create, true),
    CALL("nvrtcCompileProgram", compile, true),
    CALL("nvrtcDestroyProgram", destroy, true),
    CALL("nvrtcGetProgramLogSize", log_size, true),
    CALL("nvrtcGetProgramLog", log, true),
    CALL("nvrtcGetCUBINSize", code_size, true),
    CALL("nvrtcGetCUBIN", code, true),
    CALL("nvrtcGetPTXSize", ptx_size, true),
    CALL("nvrtcGetPTX", ptx, true),
    CALL("nvrtcGetNumSupportedArchs", arch_count, true),
    CALL("nvrtcGetSupportedArchs", archs, true),
};
static const struct gpu_dl_call hiprtc_calls[] = {
    CALL("hiprtcCreateProgram", create, true),   CALL("hiprtcCompileProgram", compile, true),
    CALL("hiprtcDestroyProgram", destroy, true), CALL("hiprtcGetProgramLogSize", log_size, true),
    CALL("hiprtcGetProgramLog", log, true),      CALL("hiprtcGetCodeSize", code_size, true),
    CALL("hiprtcGetCode", code, true),
};
/* hiprtc was a part of HIP's library before it had one of its own, which may be missing beside the
 * program's HIP. */
static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                          NULL};
static const char *const hiprtc_names[] = {"libhiprtc.so.7",
                                           "libhiprtc.so.6",
                                           "libhiprtc.so.5",
                                           "libamdhip64.so.7",
                                           "libamdhip64.so.6",
                                           "libamdhip64.so.5",
                                           NULL};

#define ARCHS_MAX 128

/* The latest architecture that the compiler knows and the device runs, as 10 * major + minor; 0:
 * none. */
static int choose_arch(const struct compiler *compiler, int wanted)
{
    int archs[ARCHS_MAX];
    int count = 0, best = 0;
    if (compiler->arch_count(&count) != 0 || count > ARCHS_MAX || compiler->archs(archs) != 0)
        return 0;
    for (int i = 0; i < count; i++)
        best = archs[i] <= wanted && archs[i] > best ? archs[i] : best;
    return best;
}

/* Copies the log's first line with the word error, or else its first line. */
static void say_log(const struct compiler *compiler, rtc_program program, const char *library,
                    struct probe_why *why)
{
    size_t size = 0;
    char *log = NULL;
    if (compiler->log_size(program, &size) == 0 && size > 0)
        log = calloc(1, size + 1);
    if (log == NULL || compiler->log(program, log) != 0) {
        probe_why_write(why, "%s does not compile the kernels and does not say why", library);
    } else {
        char *line = strstr(log, "error");
        while (line != NULL && line > log && line[-1] != '\n')
            line--;
        line = line == NULL ? log : line;
        probe_why_write(why, "%s does not compile the kernels: %.*s", library,
                        (int)strcspn(line, "\n"), line);
    }
    free(log);
}

static bool take_code(int (*size_of)(rtc_program, size_t *), int (*copy)(rtc_program, char *),
                      rtc_program program, void **ret_image)
{
    size_t size = 0;
    if (size_of(program, &size) != 0 || size == 0)
        return false;
    char *image = calloc(1, size + 1);
    if (image != NULL && copy(program, image) == 0) {
        *ret_image = image;
        return true;
    }
    free(image);
    return false;
}

/* arch is 0 for HIP, whose compiler takes the entered device. exact: the code is the device's own.
 */
static bool compile(const struct compiler *compiler, const char *library, int arch, bool exact,
                    void **ret_image, struct probe_why *why)
{
    const char *text = gpu_image_header(), *name = "gpu_kernels.h";
    char option[64];
    snprintf(option, sizeof option, "--gpu-architecture=%s_%d", exact ? "sm" : "compute", arch);
    const char *const options[] = {arch == 0 ? "-O3" : option};
    rtc_program program = NULL;
    if (compiler->create(&program, gpu_image_source(), "gpu_kernels.cu", 1, &text, &name) != 0)
        return probe_why_set(why, "%s takes no programs", library);
    bool is_compiled = compiler->compile(program, 1, options) == 0;
    if (!is_compiled)
        say_log(compiler, program, library, why);
    else if (!(exact ? take_code(compiler->code_size, compiler->code, program, ret_image)
                     : take_code(compiler->ptx_size, compiler->ptx, program, ret_image)))
        is_compiled = probe_why_set(why, "%s gives no code for what it compiled", library);
    compiler->destroy(&program);
    return is_compiled;
}

bool gpu_compile(const struct gpu_api *api, int device, void **ret_image, const char **ret_library,
                 struct probe_why *why)
{
    struct compiler compiler = {0};
    struct gpu_dl_found found;
    int major = 0, minor = 0, arch = 0;
    if (!api->takes_cuda) {
        if (!gpu_dl_open(hiprtc_names, hiprtc_calls, sizeof hiprtc_calls / sizeof hiprtc_calls[0],
                         &compiler, &found, why))
            return false;
    } else {
        if (api->attribute(api, device, GPU_ATTRIBUTE_ARCH_MAJOR, &major) != 0 ||
            api->attribute(api, device, GPU_ATTRIBUTE_ARCH_MINOR, &minor) != 0)
            return probe_why_set(why, "the driver does not say what architecture the device has");
        if (!gpu_dl_open(nvrtc_names, nvrtc_calls, sizeof nvrtc_calls / sizeof nvrtc_calls[0],
                         &compiler, &found, why))
            return false;
        arch = choose_arch(&compiler, 10 * major + minor);
        if (arch == 0)
            return probe_why_set(why,
                                 "%s compiles nothing that a device of architecture %d.%d runs",
                                 found.library, major, minor);
    }
    if (!compile(&compiler, found.library, arch, arch == 10 * major + minor, ret_image, why))
        return false;
    *ret_library = found.library;
    return true;
}
