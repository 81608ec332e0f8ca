import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Berth(MakefilePackage):
    """Placement by measured distances on GPU nodes: the command that asks berthd, the library for C, C++ and
    Fortran, the daemon and its probes."""

    homepage = "https://berth.example.org"
    # The tarball of `make dist` in the present folder. Its sum stands in SHA256SUMS beside it.
    manual_download = True
    url = f"file://{os.getcwd()}/berth-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0")

    variant("cuda", default=False, description="Compile the GPU probe's kernels for CUDA, not on the node")
    variant("rocm", default=False, description="Compile the GPU probe's kernels for HIP, not on the node")
    variant("mpi", default=False, description="Build the probe of messages between ranks")
    variant("slurm", default=False, description="Build Slurm's plugin")
    variant("top", default=True, description="Build berth-top, the live view")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("gmake@4:", type="build")
    depends_on("gawk", type="build")

    depends_on("hwloc@2.4:2")
    depends_on("jansson@2.14:")
    depends_on("libuv@1.38:")
    depends_on("numactl@2.0.14:")
    depends_on("sqlite@3.34:")
    depends_on("ncurses", when="+top")
    depends_on("cuda", type="build", when="+cuda")
    depends_on("hip", type="build", when="+rocm")
    depends_on("mpi", when="+mpi")
    depends_on("slurm", when="+slurm")

    requires("platform=linux", msg="berth reads Linux's /sys and /proc")

    @property
    def options(self):
        """Each compiler and each header is named or left out: none is found by chance."""
        spec, prefix = self.spec, self.prefix
        return [
            f"PREFIX={prefix}",
            f"SYSCONFDIR={prefix.etc}",
            "V=1",
            "CC=" + spack_cc,
            "NVCC=" + (join_path(spec["cuda"].prefix.bin, "nvcc") if spec.satisfies("+cuda") else ""),
            "HIPCC=" + (join_path(spec["hip"].prefix.bin, "hipcc") if spec.satisfies("+rocm") else ""),
            "MPICC=" + (spec["mpi"].mpicc if spec.satisfies("+mpi") else ""),
            "SPANK_H=" + ("yes" if spec.satisfies("+slurm") else ""),
        ] + ([] if spec.satisfies("+top") else ["TOP="])

    @property
    def build_targets(self):
        return ["all", "documents"] + self.options

    @property
    def install_targets(self):
        return ["install"] + self.options

    def setup_run_environment(self, env):
        env.prepend_path("MANPATH", self.prefix.share.man)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.berth)("--version")
        Executable(self.prefix.bin.berthd)("--check-config")
