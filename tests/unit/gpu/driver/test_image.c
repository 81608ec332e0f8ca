/* The kernels that this build carries, and those that it compiles as it runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "gpu/driver/image.h"

static const struct gpu_api cuda = {.takes_cuda = true}, hip = {.takes_cuda = false};

static bool has(const void *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void assert_has_kernels(const void *image, size_t size)
{
    for (enum gpu_kernel kernel = 0; kernel < GPU_KERNEL_COUNT; kernel++) {
        char name[32] = "";
        gpu_node_load_name(kernel, name, sizeof name);
        if (!has(image, size, name))
            fail_msg("%s is not in the image", name);
    }
}

static void test_what_is_included_is_there(void **state)
{
    (void)state;
    const char *included = gpu_image_included();
    assert_memory_equal(included, "kernels built in for CUDA: ", 27);
    const char *of_hip = strstr(included, "; for HIP: ");
    assert_non_null(of_hip);
    assert_null(strchr(included, '\n'));
    assert_int_equal(gpu_image_built(&cuda, NULL) == NULL,
                     strncmp(included + 27, "none (", 6) == 0);
    assert_int_equal(gpu_image_built(&hip, NULL) == NULL, strncmp(of_hip + 11, "none (", 6) == 0);
    assert_int_equal(gpu_image_built(&cuda, NULL) != NULL, strstr(included, "CUDA: sm_") != NULL);
    assert_int_equal(gpu_image_built(&hip, NULL) != NULL, strstr(included, "HIP: gfx") != NULL);
}

static void test_images_have_all_kernels(void **state)
{
    (void)state;
    size_t cuda_size, hip_size;
    const void *cuda_image = gpu_image_built(&cuda, &cuda_size),
               *hip_image = gpu_image_built(&hip, &hip_size);
    if (cuda_size + hip_size == 0)
        skip();
    if (cuda_size > 0) {
        assert_has_kernels(cuda_image, cuda_size);
        assert_memory_equal(cuda_image, "\x50\xed\x55\xba", 4); /* begin of a fatbin */
    }
    if (hip_size > 0) {
        assert_has_kernels(hip_image, hip_size);
        assert_true(has(hip_image, hip_size, "amdgcn-amd-amdhsa--gfx90a"));
    }
}

static void test_source_is_embedded(void **state)
{
    (void)state;
    assert_non_null(strstr(gpu_image_source(), "berth_gate(gpu_gate_args"));
    assert_non_null(strstr(gpu_image_source(), "#include \"gpu_kernels.h\""));
    assert_non_null(strstr(gpu_image_header(), "struct gpu_gate_args"));
}

static int attribute(const struct gpu_api *api, int device, enum gpu_attribute what, int *ret_value)
{
    const int *arch = api->calls;
    (void)device;
    *ret_value = what == GPU_ATTRIBUTE_ARCH_MAJOR ? *arch / 10 : *arch % 10;
    return 0;
}

static void test_compiled_as_it_runs(void **state)
{
    (void)state;
    static const char *const libraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
    bool is_there = false;
    for (size_t i = 0; i < 3 && !is_there; i++)
        is_there = dlopen(libraries[i], RTLD_NOW) != NULL;
    int arch = 80;
    struct gpu_api api = {.takes_cuda = true, .attribute = attribute, .calls = &arch};
    struct probe_why why = {0};
    void *image = NULL;
    const char *library = NULL;
    if (!is_there) {
        assert_false(gpu_compile(&api, 0, &image, &library, &why));
        assert_string_equal(why.text, "libnvrtc.so.13 is not on this machine");
        skip();
    }
    assert_true(gpu_compile(&api, 0, &image, &library, &why));
    assert_string_equal(why.text, "");
    assert_memory_equal(image, "\177ELF", 4);
    assert_memory_equal(library, "libnvrtc.so.", 12);
    free(image);
    image = NULL;
    arch = 81; /* there is no such device: code of the one before, which the driver translates */
    assert_true(gpu_compile(&api, 0, &image, &library, &why));
    assert_non_null(strstr(image, ".target sm_80"));
    assert_has_kernels(image, strlen(image));
    free(image);
    image = NULL;
    arch = 10;
    assert_false(gpu_compile(&api, 0, &image, &library, &why));
    assert_non_null(strstr(why.text, "compiles nothing that a device of architecture 1.0 runs"));
    assert_null(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_included_is_there),
        cmocka_unit_test(test_images_have_all_kernels),
        cmocka_unit_test(test_source_is_embedded),
        cmocka_unit_test(test_compiled_as_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
