"""What our libraries take of the static TLS of threads: dlopen() refuses who finds no room."""

import importlib.machinery
import pathlib
import struct

import crosscut
from crosscut.adapters import torch_build

PT_TLS = 7
MOST = 1000  # glibc keeps 1,664 bytes for whatever dlopen() brings, PyTorch's libraries too


def tls_bytes(path):
    """The size of the TLS segment of an ELF file of 64 bits; 0: it has none."""
    data = path.read_bytes()
    (at,), (size, count) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, at + i * size) for i in range(count)]
    return sum(header[6] for header in headers if header[0] == PT_TLS)


def test_what_one_process_loads_leaves_room_for_others():
    package = pathlib.Path(crosscut.__file__).parent
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    libraries = [package / "lib" / "libcrosscut.so.1", package / "lib" / "libcrosscut_torch.so",
                 *(package / f"{name}{suffix}" for name in ("_record", "_pycalls", "_samples"))]
    shim = torch_build.path()
    libraries += [shim] if shim is not None and shim.exists() else []
    sizes = {path.name: tls_bytes(path) for path in libraries}
    assert 0 < sum(sizes.values()) <= MOST, sizes
