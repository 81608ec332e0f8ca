"""Memory and copies of programs on virtual gpus. Each is a program of its own, which has the
stand-in of CUDA's driver; the advice is that of a recorded node with the same two gpus.
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import types

import berth
import pytest
from berthd import BIN, NODES, Daemon

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "system"))
from copies import RUN, described  # noqa: E402

LIBRARY = BIN.parent / "lib/libberth.so.1"
BEGIN = """
import ctypes, gc, os, sys, threading
import berth, numpy, pytest
cu = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cu.cuInit(0) == 0 and cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cu.cuCtxSetCurrent(context) == 0

class Device:
    "Memory of the first gpu, as CuPy's arrays say it."
    def __init__(self, size, **more):
        at = ctypes.c_uint64()
        assert cu.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(size)) == 0
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "version": 3,
                                         "data": (at.value, False), **more}

def wait():
    assert cu.cuCtxSynchronize() == 0

def kind(address):
    "1 pinned, 2 a gpu's, 3 managed, 0 unknown to the driver."
    type_, managed = ctypes.c_uint(), ctypes.c_uint()
    if cu.cuPointerGetAttribute(ctypes.byref(type_), 2, ctypes.c_uint64(address)) != 0:
        return 0
    assert cu.cuPointerGetAttribute(ctypes.byref(managed), 8, ctypes.c_uint64(address)) == 0
    return 3 if managed.value else type_.value
"""


@pytest.fixture(scope="module")
def h100x2():
    if not LIBRARY.exists() or b"__asan_init" in LIBRARY.read_bytes():
        pytest.skip("there is no libberth without sanitizers")
    if not (BIN.parent / "standin/cuda/libcuda.so.1").exists():
        pytest.skip("the stand-ins are not built")
    with Daemon("--node", NODES / "h100x2") as daemon:
        yield daemon


@pytest.fixture
def on_gpus(h100x2, tmp_path):
    """Runs a program on a virtual node with two gpus; gives its output."""
    def run(program, **variables):
        done = subprocess.run(
            [RUN, described(tmp_path, 2), sys.executable, "-c", BEGIN + program],
            env={**os.environ, "STANDIN": str(BIN.parent / "standin"), "BERTH_SOCKET": h100x2.socket,
                 "BERTH_LIBRARY": str(LIBRARY), **variables},
            capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-4000:])
        return done.stdout
    return run


def test_memory_is_pinned_until_the_last_view_goes(on_gpus):
    on_gpus("""
array = berth.empty((3, 1 << 20), "f4", by="gpu0", allowed=None)
assert array.shape == (3, 1 << 20) and array.dtype == numpy.float32 and array.flags.writeable
address, view = array.ctypes.data, array[1:, 5]
assert kind(address) == 1
array[:] = 7
del array
gc.collect()
assert kind(address) == 1 and view.sum() == 14
del view
gc.collect()
assert kind(address) == 0
assert berth.empty(100, by="gpu1", operation="write", allowed=None).nbytes == 100
""")


def test_memory_without_numpy(on_gpus):
    on_gpus("""
sys.modules["numpy"] = None
view = berth.empty((4, 1000), "d", by="gpu0", operation="both", allowed=None)
assert type(view) is memoryview and view.shape == (4, 1000) and view.nbytes == 32000
view[3, 999] = 2.5
target = bytearray(32000)
assert berth.copy(target, view).startswith("memmove") and target == view.tobytes()
with pytest.raises(ValueError, match="read-only buffer, which needs numpy"):
    berth.copy(view, bytes(32000))
del view
gc.collect()
""")


def test_copies_go_as_route_advises(on_gpus):
    on_gpus("""
size = 96 << 20
host, device = berth.empty(size // 8, "u8", by="gpu0", allowed=None), Device(size)
host[:] = numpy.arange(size // 8)
assert "through gpu1 in pieces of" in berth.copy(device, host)
wait()
host[:] = 0
stream = ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert "through gpu1 in pieces of" in berth.copy(host, device, stream.value)
assert cu.cuStreamSynchronize(stream) == 0
assert (host == numpy.arange(size // 8)).all()
small = Device(1000)
assert "too small" in berth.copy(small, b"a" * 1000)
back = bytearray(1000)
berth.copy(back, small, 0)
wait()
assert back == b"a" * 1000
""")


def test_a_child_of_fork_copies_by_itself(on_gpus):
    on_gpus("""
device, text = Device(1000), numpy.full(1000, 3, "u1")
berth.copy(device, text)
wait()
from berth import _library
parent = _library.Copier.kept
child = os.fork()
if child == 0:
    back = numpy.zeros(1000, "u1")
    berth.copy(back, device)
    wait()
    os._exit(0 if (back == 3).all() and _library.Copier.kept not in (None, parent) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""")


def test_copies_without_a_daemon(on_gpus, tmp_path):
    on_gpus("""
host, device = numpy.ones(8 << 20, "u1"), Device(8 << 20)
assert berth.copy(device, host).startswith("one copy: ")
with pytest.raises(berth.NoDaemon, match="none"):
    berth.empty(1, by="gpu0")
""", BERTH_SOCKET=str(tmp_path / "none"))


def test_what_cannot_be_copied(on_gpus):
    on_gpus("""
a, device = numpy.zeros((4, 6)), Device(192)
def refused(kind, says, *ends):
    with pytest.raises(kind, match=says):
        berth.copy(*ends)
refused(ValueError, "dst has 192 bytes and src has 191", device, bytes(191))
refused(ValueError, "dst has 192 bytes and src has 8", a, numpy.zeros(1))
refused(ValueError, "src is not contiguous", bytearray(96), a[:, :3])
refused(ValueError, "src is not contiguous", a, numpy.zeros((6, 4)).T)
refused(ValueError, "src is not contiguous", bytearray(3), memoryview(bytes(6))[::2])
refused(ValueError, "dst is not contiguous", Device(4, strides=(2,)), bytes(4))
refused(ValueError, "dst is read-only", bytes(192), a)
refused(ValueError, "dst is read-only", Device(4, data=(1 << 20, True)), bytes(4))
refused(TypeError, "src is a float: no array, tensor or buffer", a, 1.5)
refused(berth.Error, "the copy: ", Device(4, data=(8, False)), bytes(4))
refused(ValueError, "dst has items of type .O", numpy.array([1], object), numpy.zeros(1))
refused(ValueError, "src has items of type .V8", numpy.zeros(1), numpy.zeros(1, [("a", object)]))
assert berth.copy(numpy.zeros(0), bytearray()) == "no bytes"
times = numpy.zeros(3, "M8[ns]")
berth.copy(times, numpy.arange(3).astype("M8[ns]"))
assert times.astype(int).tolist() == [0, 1, 2]
""")


def test_what_cannot_be_allocated(on_gpus):
    on_gpus("""
for kind, says, shape, more in (
        (ValueError, "no bytes", 0, {}), (ValueError, "no bytes", (3, 0), {}),
        (ValueError, "no bytes", (-1, -1), {}), (ValueError, "too many bytes", 1 << 63, {}),
        (ValueError, "too many bytes", (1 << 64) + 8, {}), (ValueError, "operation is", 1, {"operation": "r"}),
        (berth.NoSuchPlace, "gpu9", 1, {"by": "gpu9"}), (berth.Error, "", 1 << 60, {}),
        (TypeError, "", 1, {"dtype": "no type"})):
    with pytest.raises(kind, match=says):
        berth.empty(shape, **{"allowed": None, **more})
assert berth.empty((), "f8", allowed=None).shape == ()
""")


def test_pytorchs_allocators(on_gpus):
    """The functions as PyTorch calls them. Each memory is of its kind and ends."""
    on_gpus("""
library, size = ctypes.CDLL(os.environ["BERTH_LIBRARY"]), 20 << 20
free, other = library.berth_torch_free, ctypes.c_void_p()
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(other), 1) == 0  # as PyTorch has both
free.argtypes, free.restype = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_void_p], None
def left():
    found, whole = ctypes.c_size_t(), ctypes.c_size_t()
    assert cu.cuMemGetInfo_v2(ctypes.byref(found), ctypes.byref(whole)) == 0
    return found.value
for name, wanted in (("device", 2), ("pinned", 1), ("managed", 3)):
    alloc = getattr(library, "berth_torch_" + name)
    alloc.argtypes, alloc.restype = [ctypes.c_int64, ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    before = left()
    memory = alloc(size, 0, None)
    assert kind(memory) == wanted, (name, memory)
    assert before - left() == (size if name == "device" else 0)
    free(memory, size, 0, None)
    assert kind(memory) == 0 and left() == before, name
    memory, now = alloc(size, 1, None), ctypes.c_void_p()
    assert kind(memory) == wanted and left() == before, name
    free(memory, size, 1, None)
    assert kind(memory) == 0, name
    assert cu.cuCtxGetCurrent(ctypes.byref(now)) == 0 and now.value == context.value
    wrong = [(0, 0), (-1, 0), (1, -1), (1, 2), (1, 1 << 30)] + [(1 << 60, 0)] * (name != "managed")
    got = [alloc(*its, None) for its in wrong]
    assert got == [None] * len(wrong), (name, got)
os.environ["BERTH_SOCKET"] = "/none"
assert library.berth_torch_pinned(size, 0, None) is None
free(None, size, 0, None)
""")


def test_library_that_is_missing(monkeypatch):
    monkeypatch.setenv("BERTH_LIBRARY", "/none/libberth.so.1")
    for call in (lambda: berth.empty(1), lambda: berth.copy(bytearray(1), b"1", 0)):
        with pytest.raises(berth.Error, match="libberth is needed, which BERTH_LIBRARY can name: /none"):
            call()
    assert berth.copy(target := bytearray(1), b"1") and target == b"1"
    with pytest.raises(ValueError, match="placement is device, pinned or managed"):
        berth.torch_allocator("near")


def test_memory_without_a_driver(h100x2, monkeypatch):
    """This process has no driver's stand-in; the memory is then not pinned."""
    monkeypatch.setenv("BERTH_SOCKET", h100x2.socket)
    monkeypatch.setenv("BERTH_LIBRARY", str(LIBRARY))
    array = berth.empty(1 << 20, by="numa0", allowed=None)
    assert len(array) == 1 << 20 and not bytes(array).strip(b"\0")


class Recorded:
    """What PyTorch's CUDAPluggableAllocator is given."""

    def __init__(self, *given):
        self.given = given


def test_allocator_object(h100x2, monkeypatch):
    monkeypatch.setenv("BERTH_LIBRARY", str(LIBRARY))
    module = types.SimpleNamespace(CUDAPluggableAllocator=Recorded)
    monkeypatch.setitem(sys.modules, "torch.cuda.memory", module)
    library = ctypes.CDLL(str(LIBRARY))
    berth.torch_allocator.cache_clear()
    for placement in ("device", "pinned", "managed"):
        made = berth.torch_allocator(placement)
        path, alloc, free = made.given
        assert path == str(LIBRARY) and alloc.endswith(placement)
        assert getattr(library, alloc) and getattr(library, free)
        assert berth.torch_allocator(placement) is made  # pools borrow it
    assert berth.torch_allocator().given == berth.torch_allocator("device").given
    berth.torch_allocator.cache_clear()
    del module.CUDAPluggableAllocator
    with pytest.raises(berth.Error, match="version 2.0 has it"):
        berth.torch_allocator()


def test_tensors_of_a_gpu(on_gpus):
    """A stand-in for PyTorch's tensors of gpus: the stream is the current one of their gpu."""
    on_gpus("""
import contextlib, types
entered = []
@contextlib.contextmanager
def device(its):
    entered.append(its)
    yield
    entered.append(None)
class Tensor:
    is_cuda, device = True, "cuda:0"
    def __init__(self, memory, contiguous=True):
        self.about, self.contiguous = memory.__cuda_array_interface__, contiguous
    def is_contiguous(self): return self.contiguous
    def numel(self): return self.about["shape"][0] // 4
    def element_size(self): return 4
    def data_ptr(self): return self.about["data"][0]
    def is_conj(self): return False
    def is_neg(self): return False
stream = ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
asked = []
class Stream: cuda_stream = stream.value
def current_stream(its):
    asked.append(its)
    return Stream()
sys.modules["torch"] = types.SimpleNamespace(
    Tensor=Tensor, dtype=type(None), cuda=types.SimpleNamespace(device=device, current_stream=current_stream))
from berth import _library
given, copy = [], _library.copy
_library.copy = lambda *its: given.append((its, list(entered))) or copy(*its)
host = numpy.arange(6 << 20, dtype="u4")
tensor = Tensor(Device(host.nbytes))
berth.copy(tensor, host)
back = numpy.zeros_like(host)
berth.copy(back, tensor, Stream)
assert cu.cuStreamSynchronize(stream) == 0
assert (back == host).all() and asked == ["cuda:0"]
assert [its[-1] for its, _ in given] == [stream.value] * 2
assert [its for _, its in given] == [["cuda:0"], ["cuda:0", None, "cuda:0"]]
with pytest.raises(ValueError, match="dst is not contiguous"):
    berth.copy(Tensor(Device(64), False), bytes(64))
""")


@pytest.mark.skipif("FRAMEWORKS" not in os.environ, reason="PyTorch is for make check-frameworks")
def test_tensors(on_gpus):
    on_gpus("""
import torch
tensor = berth.empty((3, 1 << 20), torch.float32, by="gpu0", allowed=None)
assert tensor.shape == (3, 1 << 20) and tensor.dtype == torch.float32
address, view = tensor.data_ptr(), tensor[1:, 5]
assert kind(address) == 1
tensor.fill_(7)
device, back = Device(12 << 20), torch.zeros(3, 1 << 20)
berth.copy(device, tensor)
wait()
berth.copy(back, device)
wait()
assert torch.equal(back, tensor)
with pytest.raises(ValueError, match="src is not contiguous"):
    berth.copy(torch.zeros(2), view)
with pytest.raises(ValueError, match="dst has no memory"):
    berth.copy(torch.zeros(2, device="meta"), torch.zeros(2))
with pytest.raises(ValueError, match="src is a conjugate or a negative that nothing has computed yet"):
    berth.copy(torch.zeros(2, dtype=torch.complex64), torch.zeros(2, dtype=torch.complex64).conj())
del tensor
gc.collect()
assert kind(address) == 1 and view.sum() == 14
del view
gc.collect()
assert kind(address) == 0
assert type(berth.empty(4, by="gpu0", allowed=None)) is numpy.ndarray
""")


@pytest.mark.skipif("FRAMEWORKS" not in os.environ, reason="PyTorch is for make check-frameworks")
@pytest.mark.parametrize("has_daemon", (True, False))
def test_load(h100x2, tmp_path, monkeypatch, has_daemon):
    """Small pieces, each buffer used many times. Without a gpu the copies are the processor's."""
    import torch
    from berth import _load
    monkeypatch.setenv("BERTH_SOCKET", h100x2.socket if has_daemon else str(tmp_path / "none"))
    monkeypatch.setenv("BERTH_LIBRARY", str(LIBRARY))
    monkeypatch.setattr(_load, "PIECE", 1024)
    weight, rotated = torch.randn(33, 77), torch.randn(3, dtype=torch.complex64)
    state = {"a": weight, "tied": weight, "turned": torch.randn(40, 30).T, "steps": 5,
             "none": torch.empty(0), "one": torch.tensor(3), "bits": torch.ones(500, dtype=torch.bool),
             "complex": rotated, "conjugate": rotated.conj(), "negative": rotated.conj().imag,
             "grown": torch.nn.Parameter(torch.ones(3)), "half": torch.randn(9, 200).half()}
    found = berth.load(state, "cpu")
    assert list(found) == list(state) and found["a"] is found["tied"]
    for name, value in state.items():
        assert torch.equal(found[name], value) if name != "steps" else found[name] == value, name
        assert name == "steps" or value.numel() == 0 or found[name].data_ptr() != value.data_ptr()
    sparse = berth.load({"sparse": torch.eye(4).to_sparse()}, "cpu")["sparse"]
    assert torch.equal(sparse.to_dense(), torch.eye(4))
    torch.save({"a": weight}, tmp_path / "model.pt")
    assert torch.equal(berth.load(tmp_path / "model.pt", "cpu")["a"], weight)
    torch.save([weight], tmp_path / "list.pt")
    with pytest.raises(berth.Error, match="has a list, not a state dict"):
        berth.load(tmp_path / "list.pt", "cpu")


@pytest.mark.parametrize("pci, name", (("0000:41:00.0", "gpu0"), ("0:41:0.0", "gpu0"), ("0000:42:00.0", None),
                                       ("somewhere", None), ("", None), (None, None), ("0000:xx:00.0", None)))
def test_a_gpu_by_its_address(monkeypatch, pci, name):
    from berth import _load
    its = types.SimpleNamespace(pci_domain_id=0, pci_bus_id=0x41, pci_device_id=0)
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(get_device_properties=lambda _: its))
    places = [types.SimpleNamespace(kind="gpu", pci=pci, name="gpu0")]
    monkeypatch.setattr(_load, "node", lambda: types.SimpleNamespace(places=places))
    assert _load.gpu_of(torch, types.SimpleNamespace(type="cuda")) == name


@pytest.mark.skipif("FRAMEWORKS" not in os.environ, reason="PyTorch is for make check-frameworks")
def test_load_waits_before_it_fills_a_buffer_again(monkeypatch):
    import torch
    from berth import _load
    monkeypatch.setenv("BERTH_LIBRARY", "/none")
    monkeypatch.setattr(_load, "PIECE", 1024)
    told = []

    class Stream:
        def record_event(self):
            number = len(told)
            told.append(number)
            return types.SimpleNamespace(synchronize=lambda: told.append(("waited", number)))
    stage = _load._Stage(torch, torch.device("cpu"))
    stage.stream = Stream()
    starts = [buffer.data_ptr() for buffer in stage.buffers]
    given = [stage.room(size).data_ptr() for size in (100, 700, 400, 1024, 1, 1024)]
    assert given == [starts[0], starts[0] + 256, starts[1], starts[0], starts[1], starts[0]]
    assert told == [0, 1, ("waited", 0), 3, ("waited", 1), 5, ("waited", 3)], told
