"""Reads from a binary which symbol versions of the C library it needs. Works on any machine, for any processor."""

import re
import struct

VERNEED = 0x6FFFFFFE  # SHT_GNU_verneed


class NoElf(Exception):
    """The file is not a 64-bit little-endian ELF binary."""


def machine(data):
    """The processor that a binary is for, as the template calls it."""
    _header(data)
    number = struct.unpack_from("<H", data, 18)[0]
    return {0x3E: "x86_64", 0xB7: "arm64"}.get(number, f"machine {number}")


def needed_versions(data):
    """Names such as GLIBC_2.34 of every symbol version that the binary asks of its libraries."""
    offset, size, count = _header(data)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    versions = set()
    for _, kind, _, _, start, _, link, entries, _, _ in sections:
        if kind != VERNEED:
            continue
        strings = sections[link][4]
        for _ in range(entries):
            _, aux_count, _, aux, following = struct.unpack_from("<HHIII", data, start)
            place = start + aux
            for _ in range(aux_count):
                _, _, _, name, next_aux = struct.unpack_from("<IHHII", data, place)
                end = data.index(b"\0", strings + name)
                versions.add(data[strings + name:end].decode())
                place += next_aux
            start += following
    return versions


def newest_glibc(data):
    """The newest version of the C library that the binary needs, as a pair of numbers; `None` if it needs none."""
    found = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version) for version in needed_versions(data)]
    return max(((int(match[1]), int(match[2])) for match in found if match), default=None)


def _header(data):
    if data[:6] != b"\x7fELF\x02\x01":
        raise NoElf("no 64-bit little-endian ELF binary")
    offset, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    return offset, size, count
