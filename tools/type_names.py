"""*.pb-c.h -> types.h: PROTO_TYPES(X), which applies X to the descriptor of each message. The first argument
is where the headers are included from."""
import os
import re
import sys


def main(root, target, headers):
    lines = ["/* Made by tools/type_names.py. */", "#pragma once"]
    found = []
    for header in headers:
        lines.append(f'#include "{os.path.relpath(header, root)}"')
        with open(header, encoding="utf-8") as f:
            found += re.findall(r"^extern const ProtobufCMessageDescriptor (\w+);", f.read(), re.M)
    lines.append("#define PROTO_TYPES(X) \\")
    lines += [f"    X({name}) \\" for name in sorted(found)]
    with open(target, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
