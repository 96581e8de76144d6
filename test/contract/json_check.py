"""Our JSON mapping against Google's, in both directions, for random messages of every type in proto/.

    json_check.py PROTO_DIR JSON_LINES

JSON_LINES is the program of json_lines.c. What we print, Google's json_format must read as the same message; what it
prints, in each of its styles, we must read as the same message. protoc must be on the path."""
import os
import random
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

ROUNDS = 6
DEPTH_MAX = 4
TEXTS = ["", "a", "Ünïcode €😀", 'quote " and \\', "line\nend\t\x01", "x" * 50]
PATHS = ["a", "retry_policy", "task_queue.name"]
WHOLE = {
    FieldDescriptor.TYPE_INT32: (-2**31, 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (-2**63, 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
}


DESCRIPTOR_ONLY = {"reflection_alpha.proto"}  # the server reads and writes the same messages of reflection.proto


def load_pool(proto_dir):
    """Every type of proto/, by its full name, as a Python class."""
    names = sorted(n for n in os.listdir(proto_dir) if n.endswith(".proto") and n not in DESCRIPTOR_ONLY)
    with tempfile.NamedTemporaryFile() as out:
        command = ["protoc", "-I" + proto_dir, "-I/usr/include", "--include_imports", "-o" + out.name]
        subprocess.run(command + names, check=True, cwd=proto_dir)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    found = {}

    def visit(descriptor):
        if not descriptor.GetOptions().map_entry:
            found[descriptor.full_name] = factory.GetPrototype(descriptor)
        for nested in descriptor.nested_types:
            visit(nested)

    for file in files.file:
        if file.name in names or file.name.endswith(("wrappers.proto", "timestamp.proto", "duration.proto")):
            for descriptor in pool.FindFileByName(file.name).message_types_by_name.values():
                visit(descriptor)
    return pool, found


class Maker:
    """Fills messages by their descriptors."""

    def __init__(self, seed, classes):
        self.rng = random.Random(seed)
        self.classes = classes

    def scalar(self, field):
        rng = self.rng
        if field.type in WHOLE:
            low, high = WHOLE[field.type]
            return rng.choice([low, high, 0, 1, rng.randint(low, high)])
        if field.type == FieldDescriptor.TYPE_BOOL:
            return rng.random() < 0.5
        if field.type == FieldDescriptor.TYPE_ENUM:
            return rng.choice(field.enum_type.values).number
        if field.type == FieldDescriptor.TYPE_STRING:
            return rng.choice(TEXTS)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return rng.randbytes(rng.randrange(8))
        if field.type == FieldDescriptor.TYPE_FLOAT:
            return rng.choice([0.5, -1e10, 3.0, float("inf")])
        if field.type == FieldDescriptor.TYPE_DOUBLE:
            return rng.choice([0.1, -1e300, 1 / 3, float("-inf"), rng.random()])
        raise AssertionError(f"{field.full_name}: type {field.type}")

    def special(self, message):
        """Types whose fields are not free; False for all others."""
        rng, name = self.rng, message.DESCRIPTOR.full_name
        if name == "google.protobuf.Timestamp":
            message.seconds = rng.randint(-62135596800, 253402300799)
            message.nanos = rng.choice([0, 250000000, 1000, 999999999])
        elif name == "google.protobuf.Duration":
            message.seconds = rng.randint(-10**6, 10**6)
            message.nanos = (1 if message.seconds >= 0 else -1) * rng.choice([0, 500000000, 1])
        elif name == "google.protobuf.FieldMask":
            message.paths.extend(rng.sample(PATHS, rng.randrange(3)))
        elif name == "google.protobuf.Any":
            inner = self.make(rng.choice(sorted(n for n in self.classes if n.startswith("temporal."))), DEPTH_MAX)
            message.Pack(inner)
        else:
            return False
        return True

    def map(self, target, field, depth):
        entry = field.message_type.fields_by_name
        for _ in range(self.rng.randrange(3)):
            key = self.scalar(entry["key"])
            if entry["value"].message_type:
                self.fill(target[key], depth + 1)
            else:
                target[key] = self.scalar(entry["value"])

    def field(self, message, field, depth):
        target = getattr(message, field.name)
        if field.message_type and field.message_type.GetOptions().map_entry:
            self.map(target, field, depth)
        elif field.label == FieldDescriptor.LABEL_REPEATED:
            for _ in range(self.rng.randrange(3)):
                if field.message_type:
                    self.fill(target.add(), depth + 1)
                else:
                    target.append(self.scalar(field))
        elif field.message_type:
            target.SetInParent()
            self.fill(target, depth + 1)
        else:
            setattr(message, field.name, self.scalar(field))

    def fill(self, message, depth):
        if self.special(message):
            return
        for field in message.DESCRIPTOR.fields:
            is_taken = field.containing_oneof and message.WhichOneof(field.containing_oneof.name)
            is_deep = field.message_type and depth >= DEPTH_MAX
            if not is_taken and not is_deep and self.rng.random() < 0.6:
                self.field(message, field, depth)

    def make(self, name, depth=0):
        message = self.classes[name]()
        self.fill(message, depth)
        return message


class Ours:
    def __init__(self, program):
        self.proc = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                     encoding="utf-8")

    def ask(self, name, verb, rest):
        self.proc.stdin.write(f"{name} {verb} {rest}\n")
        self.proc.stdin.flush()
        answer = self.proc.stdout.readline().rstrip("\n")
        if answer.startswith("!"):
            raise ValueError(answer[1:])
        return answer

    def print(self, message):
        return self.ask(message.DESCRIPTOR.full_name, "print", message.SerializeToString().hex())

    def parse(self, message, text):
        cls = type(message)
        return cls.FromString(bytes.fromhex(self.ask(message.DESCRIPTOR.full_name, "parse", text)))


def check(ours, pool, message):
    """The difference, or None."""
    styles = [{}, {"including_default_value_fields": True}, {"preserving_proto_field_name": True},
              {"use_integers_for_enums": True}]
    try:
        text = ours.print(message)
        theirs = json_format.Parse(text, type(message)(), descriptor_pool=pool)
        if theirs != message:
            return f"they read our text as another message: {text}"
        for style in styles:
            text = json_format.MessageToJson(message, indent=None, descriptor_pool=pool, **style)
            if ours.parse(message, text) != message:
                return f"we read their text as another message ({style}): {text}"
    except (ValueError, json_format.ParseError) as e:
        return f"{e}: {text if 'text' in locals() else message}"
    return None


def main(proto_dir, program):
    pool, classes = load_pool(os.path.abspath(proto_dir))
    maker = Maker(20260301, classes)
    ours = Ours(program)
    differences = count = 0
    for name in sorted(classes):
        for _ in range(ROUNDS):
            count += 1
            message = maker.make(name)
            difference = check(ours, pool, message)
            if difference:
                differences += 1
                print(f"{name}: {difference}"[:2000], file=sys.stderr)
                break
    ours.proc.stdin.close()
    status = ours.proc.wait()
    print(f"compared {count} messages of {len(classes)} types: {differences} differences")
    return 1 if differences or status or len(classes) < 600 else 0


sys.exit(main(sys.argv[1], sys.argv[2]))
