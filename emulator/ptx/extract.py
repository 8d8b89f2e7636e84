"""The PTX that nvcc embedded in an object file."""
import struct

try:
    from compression import zstd
except ImportError:                                        # before Python 3.14
    import zstandard as zstd

# A fatbin is a header and entries one after the other; an entry is a header and its payload.
FATBIN_MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, 16)          # with its version and the bytes of the header
FATBIN_HEADER = struct.Struct("<8xQ")                          # bytes of all entries
ENTRY_HEADER = struct.Struct("<HxxIQ24xQ")                     # kind, bytes of the header, bytes of the payload, flags
KIND_PTX = 1
IS_ZSTD, IS_LZ4 = 0x8000, 0x2000


class NoPtx(Exception):
    """The object has no PTX that can be read; the message says how to make it have some."""


def ptx_modules(data, path):
    """Texts of all PTX modules in an object file, `data` being its bytes and `path` its name for messages."""
    modules = []
    at = data.find(FATBIN_MAGIC)
    while at >= 0:
        begin = at + FATBIN_HEADER.size
        end = begin + FATBIN_HEADER.unpack_from(data, at)[0]
        modules += _modules_of_fatbin(data[begin:end], path)
        at = data.find(FATBIN_MAGIC, end)
    if not modules:
        raise NoPtx(f"{path}: there is no PTX in this object; compile it with -gencode=arch=compute_80,code=[sm_80,compute_80]")
    return modules


def _modules_of_fatbin(entries, path):
    at = 0
    while at + ENTRY_HEADER.size <= len(entries):
        kind, header_bytes, payload_bytes, flags = ENTRY_HEADER.unpack_from(entries, at)
        payload = entries[at + header_bytes:at + header_bytes + payload_bytes]
        if kind == KIND_PTX:
            if flags & IS_ZSTD:
                payload = _decompressed(payload, path)
            if flags & IS_LZ4 or b".version" not in payload:
                raise NoPtx(f"{path}: the PTX in this object is compressed in a way that is not known here; compile it with --compress-mode=size")
            yield payload.split(b"\0", 1)[0].decode()
        at += header_bytes + payload_bytes


def _decompressed(payload, path):
    """One frame; what follows it is padding."""
    decompressor = zstd.ZstdDecompressor()
    try:
        return (decompressor.decompressobj() if hasattr(decompressor, "decompressobj") else decompressor).decompress(payload)
    except zstd.ZstdError as error:
        raise NoPtx(f"{path}: the PTX in this object cannot be decompressed: {error}") from None
