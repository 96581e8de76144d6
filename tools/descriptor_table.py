"""descriptors.bin, descriptors.h -> a table of the files in protoc's FileDescriptorSet: name, package, descriptor.

What only our compiler reads is left out: the option that names the C package, and its import. Each descriptor is
compressed by itself, because a client asks for few of them."""
import gzip
import sys

# Field numbers of FileDescriptorSet and FileDescriptorProto.
FILE = 1
NAME, PACKAGE, DEPENDENCY, OPTIONS = 1, 2, 3, 8
COMPILER_FILES = {"protobuf-c/protobuf-c.proto", "google/protobuf/descriptor.proto"}
LENGTH_DELIMITED, VARINT = 2, 0


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, content, bytes as they stand) of each field; the content of a number is None."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = read_varint(data, at)
        if tag & 7 == LENGTH_DELIMITED:
            length, at = read_varint(data, at)
            at += length
            yield tag >> 3, data[at - length:at], data[begin:at]
        elif tag & 7 == VARINT:
            _, at = read_varint(data, at)
            yield tag >> 3, None, data[begin:at]
        else:
            sys.exit(f"descriptor_table.py: a field of wire type {tag & 7}")


def clean(descriptor):
    """name, package, and the descriptor without what only our compiler reads."""
    texts = {NAME: "", PACKAGE: ""}
    kept = b""
    for number, content, raw in fields(descriptor):
        if number in texts:
            texts[number] = content.decode()
        if number == OPTIONS or (number == DEPENDENCY and content.decode() in COMPILER_FILES):
            continue
        kept += raw
    return texts[NAME], texts[PACKAGE], kept


def c_bytes(data):
    return "".join(f"\\{byte:03o}" for byte in data)


def main(source, out):
    lines = ["/* Made by tools/descriptor_table.py. DESCRIPTOR_FILE(name, package, bytes, descriptor with gzip) */"]
    with open(source, "rb") as f:
        for number, descriptor, _ in fields(f.read()):
            name, package, kept = clean(descriptor)
            if number == FILE and name not in COMPILER_FILES:
                packed = gzip.compress(kept, compresslevel=9, mtime=0)
                lines.append(f'DESCRIPTOR_FILE("{name}", "{package}", {len(kept)}, "{c_bytes(packed)}")')
    with open(out, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")


main(*sys.argv[1:])
