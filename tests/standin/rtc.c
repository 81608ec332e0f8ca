/*
 * nvrtc and hiprtc on the virtual node: whatever is compiled, the result is an image that the
 * stand-in drivers take, as they take any. So a machine without a compiler comes to its kernels the
 * way that a real one does that was built without. RTC_HIP chooses the names.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define PUBLIC __attribute__((visibility("default")))

static const char image[] = "an image for the stand-in";

struct program {
    int compiled;
};

static int make(struct program **program, const char *source)
{
    if (source == NULL || strstr(source, "berth_gate") == NULL ||
        (*program = calloc(1, sizeof **program)) == NULL)
        return 1;
    return 0;
}

static int give_size(const struct program *program, size_t *size)
{
    *size = sizeof image;
    return program->compiled ? 0 : 1;
}

static int give(const struct program *program, char *code)
{
    if (!program->compiled)
        return 1;
    memcpy(code, image, sizeof image);
    return 0;
}

static int finish(struct program **program)
{
    free(*program);
    *program = NULL;
    return 0;
}

#ifdef RTC_HIP
#define NAME(name) hiprtc##name
#define CODE_SIZE  hiprtcGetCodeSize
#define CODE       hiprtcGetCode
#else
#define NAME(name) nvrtc##name
#define CODE_SIZE  nvrtcGetCUBINSize
#define CODE       nvrtcGetCUBIN

PUBLIC int nvrtcGetPTXSize(const struct program *program, size_t *size)
{
    return give_size(program, size);
}
PUBLIC int nvrtcGetPTX(const struct program *program, char *code) { return give(program, code); }
PUBLIC int nvrtcGetNumSupportedArchs(int *count) { return *count = 2, 0; }
PUBLIC int nvrtcGetSupportedArchs(int *archs) { return archs[0] = 80, archs[1] = 90, 0; }
#endif

PUBLIC int NAME(CreateProgram)(struct program **program, const char *source, const char *name,
                               int headers, const char *const *texts, const char *const *names)
{
    (void)name;
    (void)headers;
    (void)texts;
    (void)names;
    return make(program, source);
}
PUBLIC int NAME(CompileProgram)(struct program *program, int count, const char *const *options)
{
    (void)count;
    (void)options;
    program->compiled = 1;
    return 0;
}
PUBLIC int NAME(DestroyProgram)(struct program **program) { return finish(program); }
PUBLIC int NAME(GetProgramLogSize)(const struct program *program, size_t *size)
{
    return (void)program, *size = 1, 0;
}
PUBLIC int NAME(GetProgramLog)(const struct program *program, char *log)
{
    return (void)program, *log = '\0', 0;
}
PUBLIC int CODE_SIZE(const struct program *program, size_t *size)
{
    return give_size(program, size);
}
PUBLIC int CODE(const struct program *program, char *code) { return give(program, code); }
