/* Lines of the kernel's log, as public reports quote them, and lines that only look like them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "events/kernel_lines.h"

static void is(const char *line, const char *kind, const char *at, int number)
{
    struct kernel_line found;
    if (!kernel_lines_parse(line, &found))
        fail_msg("nothing found in: %s", line);
    assert_string_equal(kernel_lines_kind(found.kind), kind);
    assert_string_equal(found.at, at);
    assert_int_equal(found.number, number);
}

static void is_none(const char *line)
{
    struct kernel_line found;
    if (kernel_lines_parse(line, &found))
        fail_msg("%s found in: %s", kernel_lines_kind(found.kind), line);
}

static void xids_of_all_drivers(void **state)
{
    (void)state;
    is("4,1234,5678901,-;NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has "
       "fallen off the bus.",
       "xid", "0000:65:00.0", 79);
    is("3,7,1,-;NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120, intr 10000000", "xid",
       "0000:01:00.0", 31);
    is("[  966.503025] NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for "
       "remapping, reset gpu to activate.",
       "xid", "0000:10:1c.0", 63);
    is("4,1,1,-;NVRM: Xid (PCI:000A:C1:00 GPU-I:01): 94, pid=12, Contained", "xid", "000a:c1:00.0",
       94);
}

static void errors_of_switches(void **state)
{
    (void)state;
    is("[111111111.111] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 "
       "egress "
       "non-posted PRIV error (First)",
       "sxid", "0000:05:00.0", 12028);
    is("3,9,5,-;nvidia-nvswitch0: SXid (PCI:0000:00:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
       "sxid-fatal", "0000:00:00.0", 20034);
    is_none("3,9,5,-;nvidia-nvswitch2: SXid (PCI:0000:00:09.0): 11004, Severity 0 Engine instance "
            "42 Sub-engine instance 00");
}

static void amdgpu_of_old_and_new_kernels(void **state)
{
    (void)state;
    is("3,1,1,-;amdgpu 0000:64:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=54114692, "
       "emitted "
       "seq=54114694",
       "gpu-hang", "0000:64:00.0", 0);
    is("[   12.000001] [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled "
       "seq=5346515, emitted seq=5346517",
       "gpu-hang", "", 0);
    is("6,2,1,-;amdgpu 0000:63:00.0: amdgpu: GPU reset begin!", "gpu-reset", "0000:63:00.0", 0);
    is("6,2,1,-;amdgpu 0000:63:00.0: amdgpu: GPU reset end with ret = -110", "gpu-reset-failed",
       "0000:63:00.0", 0);
    is_none("6,2,1,-;amdgpu 0000:63:00.0: amdgpu: GPU reset end with ret = 0");
    is_none("3,1,1,-;amdgpu 0000:64:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered");
    is("3,2,1,-;amdgpu 0000:01:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
       "gpu-ras", "0000:01:00.0", 0);
    is("3,2,1,-;amdgpu 0000:01:00.0: amdgpu: socket: 0, die: 0 1 uncorrectable hardware errors "
       "detected in gfx block",
       "gpu-ras", "0000:01:00.0", 0);
    is("3,2,1,-;amdgpu 0000:01:00.0: amdgpu: {3}socket: 0, die: 1, 12 new uncorrectable hardware "
       "errors detected in umc block",
       "gpu-ras", "0000:01:00.0", 0);
    is_none("3,2,1,-;amdgpu 0000:01:00.0: amdgpu: no uncorrectable hardware errors detected in umc "
            "block");
    is_none("3,2,1,-;amdgpu 0000:01:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc "
            "block");
    is_none(
        "3,2,1,-;amdgpu 0000:01:00.0: amdgpu: 5 uncorrectable hardware errors detected in total "
        "in umc block");
    is_none("3,2,1,-;amdgpu 0000:01:00.0: amdgpu: 5 correctable hardware errors detected in umc "
            "block");
}

static void aer_of_old_and_new_kernels(void **state)
{
    (void)state;
    is("[ 3635.554838] ath10k_pci 0000:02:00.0: PCIe Bus Error: severity=Corrected, type=Physical "
       "Layer, (Receiver ID)",
       "aer-correctable", "0000:02:00.0", 0);
    is("4,2,1,-;pci 0000:e9:00.0: AER: PCIe Bus Error: severity=Correctable, type=Data Link Layer, "
       "(Receiver ID)",
       "aer-correctable", "0000:e9:00.0", 0);
    is("3,2,1,-;pcieport 10000:00:01.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
       "type=Transaction Layer, (Requester ID)",
       "aer-nonfatal", "10000:00:01.0", 0);
    is("3,2,1,-;nvidia 0000:65:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), "
       "type=Inaccessible, (Unregistered Agent ID)",
       "aer-fatal", "0000:65:00.0", 0);
    is_none("4,2,1,-;pcieport 0000:00:1c.5: AER: Multiple Corrected error received: 0000:02:00.0");
}

static void time_and_number_of_the_message(void **state)
{
    struct kernel_line found;
    (void)state;
    assert_true(
        kernel_lines_parse("6,339,5140900,-,caller=T1;amdgpu 0000:63:00.0: amdgpu: GPU reset "
                           "begin!",
                           &found));
    assert_int_equal(found.sequence, 339);
    assert_int_equal(found.since_us, 5140900);
    assert_string_equal(found.text, "amdgpu 0000:63:00.0: amdgpu: GPU reset begin!");
    assert_true(
        kernel_lines_parse("[   12.000001] amdgpu 0000:63:00.0: amdgpu: GPU reset begin!", &found));
    assert_int_equal(found.sequence, -1);
    assert_int_equal(found.since_us, 12000001);
}

static void lines_of_programs_and_broken_lines_are_none(void **state)
{
    static const char xid[] = "NVRM: Xid (PCI:0000:65:00): 79, text";
    char line[9000];
    (void)state;
    snprintf(line, sizeof line, "12,1,1,-;%s", xid); /* facility 1: a program's */
    is_none(line);
    snprintf(line, sizeof line, "4,1,1,-;app[7]: %s", xid);
    is_none(line);
    is_none(xid);
    is_none("");
    is_none(";");
    is_none("4,1,1,-;");
    is_none("4,-1,1,-;NVRM: Xid (PCI:0000:65:00): 79, text");
    is_none("4,1,1,-;NVRM: Xid (PCI:0000:65:00): -79, text");
    is_none("4,1,1,-;NVRM: Xid (PCI:0000:65:00): 100000, text");
    is_none("4,1,1,-;NVRM: Xid (PCI:0000:65:00): 99999999999999999999, text");
    is_none("4,1,1,-;NVRM: Xid (PCI:0000:65:00");
    is_none("4,1,1,-;NVRM: Xid (PCI:zz): 79, text");
    is_none("4,1,1,-;amdgpu");
    is_none("4,1,1,-;nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028,");
    is_none("[99999999999999999999999.1] NVRM: Xid (PCI:0000:65:00): 79, text");
    memset(line, 'x', sizeof line);
    memcpy(line, "4,1,1,-;NVRM: Xid (PCI:0000:65:00): 79, ", 40);
    line[sizeof line - 1] = '\0';
    is(line, "xid", "0000:65:00.0", 79);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xids_of_all_drivers),
        cmocka_unit_test(errors_of_switches),
        cmocka_unit_test(amdgpu_of_old_and_new_kernels),
        cmocka_unit_test(aer_of_old_and_new_kernels),
        cmocka_unit_test(time_and_number_of_the_message),
        cmocka_unit_test(lines_of_programs_and_broken_lines_are_none),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
