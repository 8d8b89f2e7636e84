# cython: language_level=3, freethreading_compatible=True, auto_pickle=False
"""Devices, descriptions of memory, and allocators that sessions share."""

from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, UINT32_MAX, UINT64_MAX
from libc.string cimport memset, strncpy
from ortcore._capi cimport *
from ortcore._errors cimport check

from ortcore._errors import InvalidType, whole_number
from ortcore.enums import OrtAllocatorType, OrtDeviceMemoryType, OrtMemoryInfoDeviceType, OrtMemType

# Name: (type, vendor). The types are those of OrtMemoryInfoDeviceType, except that DirectML is 4 inside C.OrtDevice.dml().
cdef dict DEVICES = {"cpu": (0, 0), "cuda": (1, 0x10DE), "gpu": (1, 0), "dml": (1, 0x1414), "webgpu": (1, 0), "npu": (3, 0), "cann": (3, 0x19E5)}


cdef object handle_number(object source):
    """The number that a handle of cuda.bindings stands for, a CUdeviceptr or cudaStream_t; anything else as it is."""
    return source if type(source) is int or not hasattr(source, "getPtr") else int(source)


cdef int int16(object number, str what) except? -1:
    return whole_number(number, what, -32768, 32767)


cdef class OrtDevice:
    """A place where memory lies: a kind of device and its number.

    OrtDevice.make("cpu", 0) is how users make one. OrtDevice(type, mem_type, id) and OrtDevice(type, mem_type, vendor, id) take numbers.
    """

    def __init__(self, *numbers):
        if len(numbers) == 1 and isinstance(numbers[0], OrtDevice):
            numbers = (numbers[0]._type, numbers[0]._mem_type, numbers[0]._vendor, numbers[0]._id)
        if len(numbers) not in (3, 4):
            raise ValueError("OrtDevice takes (type, mem_type, id) or (type, mem_type, vendor, id); OrtDevice.make('cpu', 0) makes one by name")
        self._type = int16(numbers[0], "device type")
        self._mem_type = int16(numbers[1], "memory type")
        self._vendor = whole_number(numbers[2], "vendor_id", 0, UINT32_MAX) if len(numbers) == 4 else 0x10DE if self._type == 1 else 0
        self._id = int16(numbers[-1], "device_id")

    @staticmethod
    def make(ort_device_name, device_id, vendor_id=-1):
        """The device of that name ('cpu', 'cuda', 'gpu', 'dml', 'webgpu', 'npu', 'cann') and number. A vendor_id >= 0 replaces the name's own."""
        if not isinstance(ort_device_name, str):
            raise TypeError(f"a device's name is a str such as 'cpu', not {type(ort_device_name).__name__}")
        if ort_device_name not in DEVICES:
            raise RuntimeError(f"Unsupported device type: {ort_device_name}; the names are {', '.join(DEVICES)}")
        kind, vendor = DEVICES[ort_device_name]
        return OrtDevice(kind, 0, vendor if vendor_id < 0 else vendor_id, device_id)

    def device_id(self):
        """Number of the device among those of its kind."""
        return self._id

    def device_type(self):
        """0 CPU, 1 GPU, 2 FPGA, 3 NPU."""
        return self._type

    def device_mem_type(self):
        """0, or 5 for memory of a device that the host can read."""
        return self._mem_type

    def device_vendor_id(self):
        """PCI number of the maker, 0 if that does not matter."""
        return self._vendor

    def mem_type(self):
        """The same as device_mem_type()."""
        return self._mem_type

    def vendor_id(self):
        """The same as device_vendor_id()."""
        return self._vendor

    def _get_c_device(self):
        return self

    @staticmethod
    def cpu():
        return 0

    @staticmethod
    def cuda():
        return 1

    @staticmethod
    def gpu():
        return 1

    @staticmethod
    def webgpu():
        return 1

    @staticmethod
    def fpga():
        return 2

    @staticmethod
    def npu():
        return 3

    @staticmethod
    def cann():
        return 3

    @staticmethod
    def dml():
        return 4

    @staticmethod
    def default_memory():
        return 0

    def __repr__(self):
        return f"OrtDevice(type={self._type}, mem_type={self._mem_type}, vendor_id={self._vendor:#x}, device_id={self._id})"

    cdef void fill(self, ortc_memory_info *info) noexcept:
        cdef const char *name = b"Device"
        if self._type == 0:
            name = b"Cpu"
        elif self._vendor == 0x10DE:
            name = b"Cuda"
        memset(info, 0, sizeof(info[0]))
        strncpy(info.name, name, sizeof(info.name) - 1)
        info.device_type = <ortc_device_type>self._type
        info.device_mem_type = <ortc_device_mem_type>self._mem_type
        info.device_id = self._id
        info.vendor_id = self._vendor


cdef int fill_device(object device_type, object device_id, object vendor_id, ortc_memory_info *info) except -1:
    cdef OrtDevice device
    if type(device_type) is str and <str>device_type == "cpu" and type(device_id) is int and -32768 <= device_id <= 32767:   # by far the most frequent
        memset(info, 0, sizeof(info[0]))
        strncpy(info.name, b"Cpu", sizeof(info.name) - 1)
        info.device_id = device_id
        return 0
    device = device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id, vendor_id)
    device.fill(info)
    return 0


cdef bint is_host(const ortc_memory_info *info) noexcept:
    return info.device_type == ORTC_DEVICE_CPU or info.device_mem_type == ORTC_DEVICE_MEM_HOST_ACCESSIBLE


cdef str device_name_of(const ortc_memory_info *info):
    if info.device_type == ORTC_DEVICE_CPU:
        return "cpu"
    if <int>info.device_type == 1:
        return "cuda" if info.vendor_id == 0x10DE else "dml" if info.vendor_id == 0x1414 else "gpu"
    return "npu"


cdef class OrtMemoryInfo:
    """Describes memory: OrtMemoryInfo(name, allocator_type, device_id, mem_type), with one of the names "Cpu", "Cuda", "CudaPinned", ...

    `create_v2` describes memory that no name stands for. The attributes cannot be changed.
    """

    def __init__(self, name, allocator_type, id, mem_type, /):
        if not isinstance(name, str) or not isinstance(allocator_type, OrtAllocatorType) or not isinstance(mem_type, OrtMemType):
            raise TypeError("OrtMemoryInfo takes (name: str, allocator_type: OrtAllocatorType, id: int, mem_type: OrtMemType)")
        check(ortc_memory_info_init(name.encode(), <ortc_allocator_type>(<int>int(allocator_type)), whole_number(id, "id", INT32_MIN, INT32_MAX),
                                    <ortc_mem_type>(<int>int(mem_type)), &self.info))

    @staticmethod
    def create_v2(name, device_type, vendor_id, device_id, device_mem_type, alignment, allocator_type, /):
        """Any name, device and vendor. `alignment` in bytes, 0: the device's default."""
        cdef ortc_memory_info info
        for given, wanted in ((device_type, OrtMemoryInfoDeviceType), (device_mem_type, OrtDeviceMemoryType), (allocator_type, OrtAllocatorType)):
            if not isinstance(given, wanted):
                raise TypeError(f"expected a member of {wanted.__name__}, not {given!r}")
        memset(&info, 0, sizeof(info))
        strncpy(info.name, name.encode(), sizeof(info.name) - 1)
        info.device_type = <ortc_device_type>(<int>int(device_type))
        info.device_mem_type = <ortc_device_mem_type>(<int>int(device_mem_type))
        info.mem_type = ORTC_MEM_CPU_OUTPUT if info.device_mem_type == ORTC_DEVICE_MEM_HOST_ACCESSIBLE else ORTC_MEM_DEFAULT
        info.allocator_type = <ortc_allocator_type>(<int>int(allocator_type))
        info.device_id = whole_number(device_id, "device_id", INT32_MIN, INT32_MAX)
        info.vendor_id = whole_number(vendor_id, "vendor_id", 0, UINT32_MAX)
        info.alignment = whole_number(alignment, "alignment", 0, UINT64_MAX)
        return wrap_memory_info(&info)

    @property
    def name(self):
        """Name of the allocator."""
        return (<bytes>self.info.name).decode()

    @property
    def device_id(self):
        """Number of the device."""
        return self.info.device_id

    @property
    def mem_type(self):
        """An OrtMemType."""
        return OrtMemType(<int>self.info.mem_type)

    @property
    def allocator_type(self):
        """An OrtAllocatorType."""
        return OrtAllocatorType(<int>self.info.allocator_type)

    @property
    def device_mem_type(self):
        """An OrtDeviceMemoryType."""
        return OrtDeviceMemoryType(<int>self.info.device_mem_type)

    @property
    def device_vendor_id(self):
        """PCI number of the device's maker."""
        return self.info.vendor_id

    def __repr__(self):
        return f"OrtMemoryInfo({self.name!r}, {self.allocator_type!s}, {self.device_id}, {self.mem_type!s})"


cdef OrtMemoryInfo wrap_memory_info(const ortc_memory_info *info):
    cdef OrtMemoryInfo result = OrtMemoryInfo.__new__(OrtMemoryInfo)
    result.info = info[0]
    return result


class OrtArenaCfg:
    """Limits of an arena: OrtArenaCfg(max_mem, arena_extend_strategy, initial_chunk_size_bytes, max_dead_bytes_per_chunk), or one dict.

    max_mem 0 means no limit, -1 anywhere else the default. All are attributes and can be set.
    """

    __slots__ = ("max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk", "initial_growth_chunk_size_bytes",
                 "max_power_of_two_extend_bytes")

    def __init__(self, *args):
        self.max_mem = 0
        for name in OrtArenaCfg.__slots__[1:]:
            setattr(self, name, -1)
        if len(args) == 1 and isinstance(args[0], dict):
            settings = args[0]
        elif len(args) == 4:
            settings = dict(zip(OrtArenaCfg.__slots__, args))
        else:
            raise TypeError(f"OrtArenaCfg takes four ints or a dict, not {len(args)} arguments")
        for name, number in settings.items():
            if name not in OrtArenaCfg.__slots__:
                raise RuntimeError(f"Invalid OrtArenaCfg option: {name}; the options are {', '.join(OrtArenaCfg.__slots__)}")
            setattr(self, name, whole_number(number, f"OrtArenaCfg option {name}", INT64_MIN, INT64_MAX))


# ---- Allocators that sessions share ----------------------------------------------------------------------------------

cdef class Allocator:
    """Keeps an allocator that was registered, for values made in it."""

    cdef ortc_allocator *pointer

    def __dealloc__(self):
        ortc_allocator_release(self.pointer)


cdef dict registered = {}


cdef tuple key_of(OrtMemoryInfo info):
    return (<int>info.info.device_type, info.info.device_id, info.info.vendor_id, <int>info.info.device_mem_type)


def create_and_register_allocator(mem_info, arena_cfg=None):
    """Makes an allocator that sessions with the config entry `session.use_env_allocators` = '1' share; replaces an earlier one for that device."""
    cdef ortc_arena_config config
    cdef Allocator allocator = Allocator()
    cdef ortc_arena_config *arena = NULL
    if not isinstance(mem_info, OrtMemoryInfo):
        raise TypeError(f"mem_info must be an OrtMemoryInfo, not {type(mem_info).__name__}")
    if arena_cfg is not None:
        memset(&config, 0, sizeof(config))
        config.size = sizeof(config)
        config.max_bytes = arena_cfg.max_mem
        config.extend_strategy = arena_cfg.arena_extend_strategy
        config.initial_chunk_bytes = arena_cfg.initial_chunk_size_bytes
        config.max_dead_bytes_per_chunk = arena_cfg.max_dead_bytes_per_chunk
        config.initial_growth_chunk_bytes = arena_cfg.initial_growth_chunk_size_bytes
        config.max_power_of_two_extend_bytes = arena_cfg.max_power_of_two_extend_bytes
        arena = &config
    check(ortc_allocator_create(&(<OrtMemoryInfo>mem_info).info, arena, &allocator.pointer))
    check(ortc_allocator_register(allocator.pointer))
    registered[key_of(mem_info)] = allocator


def create_and_register_allocator_v2(provider_type, mem_info, options=None, arena_cfg=None):
    """As create_and_register_allocator, for a provider by name."""
    names = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}
    if provider_type not in names:
        raise RuntimeError(f"{provider_type} is not implemented: the providers with an allocator to share are {', '.join(names)}")
    if isinstance(mem_info, OrtMemoryInfo) and device_name_of(&(<OrtMemoryInfo>mem_info).info) != names[provider_type]:
        raise RuntimeError(f"{mem_info!r} is no memory of {provider_type}")
    create_and_register_allocator(mem_info, arena_cfg)


cdef ortc_allocator *registered_allocator(object info) except NULL:
    if not isinstance(info, OrtMemoryInfo):
        raise InvalidType(f"memory_info must be an OrtMemoryInfo or None, not {type(info).__name__}")
    cdef Allocator found = registered.get(key_of(info))
    if found is None:
        raise RuntimeError(f"No shared allocator found for {info!r}; make one with create_and_register_allocator()")
    return found.pointer


def inject_allocation_failure(n):
    """The n-th allocation from now on fails (0: off). For tests of what happens when memory runs out."""
    ortc_allocator_inject_failure(n)
