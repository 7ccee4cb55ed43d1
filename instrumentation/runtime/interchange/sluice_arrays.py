"""The runtime's arrays in Python. They are exchanged with CuPy, PyTorch, Numba and others without a copy, through
DLPack or the CUDA array interface.

    import sluice_arrays
    a = sluice_arrays.from_dlpack(torch.arange(12, dtype=torch.int32, device="cuda"))   # the tensor's own memory
    b = cupy.from_dlpack(sluice_arrays.empty((3, 4), "int32"))                          # Sluice's memory, in CuPy

This module needs libsluice_interchange.so. The library is beside this file's folder, beside the program, or named by
SLUICE_INTERCHANGE_LIBRARY. It is not compiled against Python: PyCapsules are handled through ctypes.pythonapi.
"""
import ctypes
import os

_HERE = os.path.dirname(os.path.abspath(__file__))
# Where to look for the library: in this file's folder, in the parent folder, and where pip installs it.
_FOLDERS = [_HERE, os.path.dirname(_HERE), os.path.join(_HERE, "sluice", "lib", "sluice")]

_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}
_NAMES = {code: name for name, code in _CODES.items()}
_LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
# A capsule stores only a pointer to its name, so the names must live as long as the module.
_UNVERSIONED, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED_UNVERSIONED, _USED_VERSIONED = b"used_dltensor", b"used_dltensor_versioned"


class _Info(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("code", ctypes.c_int32), ("bits", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("read_only", ctypes.c_int32), ("extents", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("device_type", ctypes.c_int32), ("device", ctypes.c_int32)]


def _load():
    name = "libsluice_interchange.so"
    named = os.environ.get("SLUICE_INTERCHANGE_LIBRARY")
    for path in [named] if named else [os.path.join(folder, name) for folder in _FOLDERS]:
        if os.path.exists(path):
            library = ctypes.CDLL(path)
            break
    else:
        raise ImportError(f"{name} is in none of {_FOLDERS}; name it in SLUICE_INTERCHANGE_LIBRARY")
    i32, i64, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
    extents = ctypes.POINTER(i64)
    for function, result, arguments in [
            ("sluice_interchange_error", ctypes.c_char_p, []),
            ("sluice_array_empty", pointer, [extents, i32, i32, i32, i32]),
            ("sluice_array_release", None, [pointer]),
            ("sluice_array_describe", ctypes.c_int, [pointer, ctypes.POINTER(_Info)]),
            ("sluice_array_from_dlpack", pointer, [pointer, i32]),
            ("sluice_array_to_dlpack", pointer, [pointer, i32]),
            ("sluice_array_from_cai", pointer, [ctypes.c_size_t, extents, extents, i32, ctypes.c_char_p, i32, i32, i32, i64, i32,
                                               pointer, pointer]),
            ("sluice_array_order", ctypes.c_int, [pointer, i64]),
            ("sluice_array_affine", ctypes.c_int, [pointer, ctypes.c_uint32, ctypes.c_uint32]),
            ("sluice_interchange_synchronize", ctypes.c_int, [])]:
        bound = getattr(library, function)
        bound.restype, bound.argtypes = result, arguments
    return library


_library = _load()
_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.restype = ctypes.c_int
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.Py_IncRef.restype, _python.Py_IncRef.argtypes = None, [ctypes.py_object]
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def _check(result):
    if result is None or (isinstance(result, int) and result == 1 and _library.sluice_interchange_error()):
        raise ValueError(_library.sluice_interchange_error().decode())
    return result


class Array:
    """One of the runtime's arrays, with shared ownership of its memory. empty(), from_dlpack() and from_cai() make
    arrays."""

    def __init__(self, handle):
        self._handle = handle
        info = _Info()
        _check(_library.sluice_array_describe(handle, ctypes.byref(info)))
        self.data = info.data or 0
        self.shape = tuple(info.extents[i] for i in range(info.rank))
        self.strides = tuple(info.strides[i] for i in range(info.rank))  # in elements
        self.read_only = bool(info.read_only)
        self._code, self._bits = info.code, info.bits
        self._device = (info.device_type, info.device)

    def __del__(self):
        if getattr(self, "_handle", None):
            _library.sluice_array_release(self._handle)
            self._handle = None

    def release(self):
        """Gives up this array's share of the memory now. The array cannot be used afterwards."""
        self.__del__()

    @property
    def dtype(self):
        return "bool" if self._code == _CODES["bool"] else f"{_NAMES[self._code]}{self._bits}"

    def affine(self, multiplier, increment):
        """Computes x -> multiplier * x + increment on the device, for 32-bit integers."""
        _check(_library.sluice_array_affine(self._handle, multiplier, increment))

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("sluice_arrays: arrays are exported without a copy; do not pass copy=True")
        if dl_device is not None and tuple(dl_device) != self._device:
            raise BufferError(f"sluice_arrays: the array is on device {self._device}, not {tuple(dl_device)}")
        if stream != -1:  # -1: the consumer needs no ordering; None: the legacy default stream
            _check(_library.sluice_array_order(self._handle, 1 if stream is None else stream))
        versioned = max_version is not None and max_version[0] >= 1
        managed = _check(_library.sluice_array_to_dlpack(self._handle, versioned))
        destructor = ctypes.cast(_library.sluice_dlpack_capsule_destructor, ctypes.c_void_p)
        return _python.PyCapsule_New(managed, _VERSIONED if versioned else _UNVERSIONED, destructor)

    @property
    def __cuda_array_interface__(self):
        if self._code not in _LETTERS:
            raise AttributeError(f"sluice_arrays: the CUDA array interface has no {self.dtype}; use DLPack")
        size = self._bits // 8
        return {"shape": self.shape, "typestr": f"{'|' if size == 1 else '<'}{_LETTERS[self._code]}{size}", "data": (self.data, self.read_only),
                "strides": tuple(size * stride for stride in self.strides), "stream": 1, "version": 3}


def empty(shape, dtype, order="C"):
    """Allocates an array with undefined contents. `dtype` is a name such as "float32"."""
    name = dtype.rstrip("0123456789")
    if name not in _CODES:
        raise ValueError(f"sluice_arrays: unknown element type {dtype!r}")
    bits = int(dtype[len(name):] or 8)
    extents = (ctypes.c_int64 * len(shape))(*shape)
    return Array(_check(_library.sluice_array_empty(extents, len(shape), _CODES[name], bits, order == "F")))


def from_dlpack(source):
    """Returns an array in the memory of `source`, an object with __dlpack__. It is ready for work on the legacy default
    stream."""
    try:
        capsule = source.__dlpack__(stream=1, max_version=(1, 0))
    except TypeError:  # the source supports only versions before DLPack 1.0
        capsule = source.__dlpack__(stream=1)
    return from_capsule(capsule)


def from_capsule(capsule):
    """Like `from_dlpack`, for a capsule, which becomes a used capsule. A refused capsule still owns its tensor and
    deletes it."""
    versioned = bool(_python.PyCapsule_IsValid(capsule, _VERSIONED))
    if not versioned and not _python.PyCapsule_IsValid(capsule, _UNVERSIONED):
        raise ValueError("sluice_arrays: not a DLPack capsule, or a capsule that has been used")
    managed = _python.PyCapsule_GetPointer(capsule, _VERSIONED if versioned else _UNVERSIONED)
    handle = _check(_library.sluice_array_from_dlpack(managed, versioned))
    _python.PyCapsule_SetName(capsule, _USED_VERSIONED if versioned else _USED_UNVERSIONED)
    return Array(handle)


def has_cai(source):
    return hasattr(source, "__cuda_array_interface__")


def from_cai(source):
    """Returns an array in the memory of `source`, an object with __cuda_array_interface__. The array, and every object
    made from it, keeps `source` alive."""
    what = source.__cuda_array_interface__
    rank = len(what["shape"])
    extents = (ctypes.c_int64 * rank)(*what["shape"])
    strides = what.get("strides")
    stream = what.get("stream")
    described = (what["data"][0] or 0, extents, None if strides is None else (ctypes.c_int64 * rank)(*strides), rank, what["typestr"].encode(),
                 bool(what["data"][1]), what.get("mask") is not None, stream is not None, stream or 0, what["version"])
    release = ctypes.cast(_library.sluice_python_release, ctypes.c_void_p)
    _python.Py_IncRef(source)  # the library always drops this reference, even on failure
    return Array(_check(_library.sluice_array_from_cai(*described, release, id(source))))


def synchronize():
    _check(_library.sluice_interchange_synchronize())
