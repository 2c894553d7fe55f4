"""Frames as bytes: the schema, protobuf, JSON and the connection. § numbers are of proto/SPEC.md.

Frames are dicts in their JSON form (§1.3) whatever the codec, with 64-bit numbers as ints, and
SkeinErrors where an Error stands.
"""
import asyncio, base64, functools, io, json, pathlib, re, time
import websockets

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto" / "skein" / "v1"
LOST = OSError, EOFError, websockets.WebSocketException  # a connection ended, or never began

SCHEMA = "".join(path.read_text("utf-8") for path in PROTO.glob("*.proto"))
SCHEMA = re.sub("_([a-z])", lambda m: m[1].upper(), re.sub("//.*", "", SCHEMA))  # names as in JSON
BLOCK = r" (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}"
# {name: {number: value}} and {name: {number: [repeated, type, field]}}
ENUMS = {name: {int(n): value for value, n in re.findall(r"(\w+) = (\d+);", body)}
         for name, body in re.findall("enum" + BLOCK, SCHEMA)}
MESSAGES = {name: {int(n): f for *f, n in re.findall(r"(repeated )?([\w.]+) (\w+) = (\d+);", body)}
            for name, body in re.findall("message" + BLOCK, SCHEMA)}
NUMBERS = {value: n for values in ENUMS.values() for n, value in values.items()}

class SkeinError(Exception):
    """An Error of the server; `action` is what to do: retry, reconnect, login, stop or fix."""
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.retry_after = error["code"], error["retryAfterMs"] / 1000
        self.about = error["conversation"], error["frame"]  # what it answers
        actions = "retry", "reconnect", "login", "stop", "fix"
        self.action = actions[(error["codeNumber"] - 4000) // 200]  # §10

class Message(dict):
    """A message of this kind from its JSON form, in which 64-bit numbers may be text. Fields that
    are absent have their default value; those that the kind does not have are left out (§1.4)."""
    def __init__(self, kind, fields=()):
        self.readers = READERS[kind]
        self.update((f, self.readers[f](fields[f])) for f in self.readers.keys() & fields)

    def __missing__(self, field):
        return self.readers[field]()

def reader(repeated, kind):
    """What makes a value of this type from its JSON form, or from nothing its default."""
    read = TYPES.get(kind, lambda value=0: value)
    return (lambda items=(): [read(item) for item in items]) if repeated else read

TYPES = {name: functools.partial(Message, name) for name in MESSAGES}
TYPES |= {"string": str, "bytes": str, "uint64": int, "int64": int, "google.protobuf.Struct": dict}
TYPES["Error"] = lambda error=None: error and SkeinError(Message("Error", error))
# By message and field: the same name has another type in another message.
READERS = {name: {f: reader(*type_) for *type_, f in m.values()} for name, m in MESSAGES.items()}

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

def read_varint(stream):  # 0 at the end
    byte = int.from_bytes(stream.read(1))
    return byte if byte < 128 else byte & 127 | read_varint(stream) << 7

def encode(kind, value):
    """A value of this type as (wire type, protobuf)."""
    if kind in ("string", "bytes"):
        return 2, value.encode() if kind == "string" else base64.b64decode(value)
    if kind not in MESSAGES:
        return 0, varint(NUMBERS.get(value, value))
    out = b""
    for number, (repeated, type_, field) in MESSAGES[kind].items():
        for item in () if field not in value else value[field] if repeated else [value[field]]:
            wire, data = encode(type_, item)
            out += varint(number << 3 | wire) + (varint(len(data)) if wire == 2 else b"") + data
    return 2, out

def decode(kind, value):
    """The JSON form of a value of this type from a number or bytes."""
    if kind in ("string", "bytes"):
        return value.decode() if kind == "string" else base64.b64encode(value).decode()
    if kind not in MESSAGES:
        return ENUMS.get(kind, {}).get(value, value)
    message, stream = {}, io.BytesIO(value)
    while tag := read_varint(stream):
        n = {1: 8, 5: 4}.get(tag & 7) or read_varint(stream)  # a number, or how many bytes
        repeated, type_, field = MESSAGES[kind].get(tag >> 3, ("", "", ""))  # "": unknown
        data = stream.read(n) if tag & 7 else n
        packed = type_ == "uint64" and tag & 7 == 2  # several in one; they are seqs, none is 0
        data = iter(functools.partial(read_varint, io.BytesIO(data)), 0) if packed else [data]
        items = [decode(type_, item) for item in data]
        message[field] = message.get(field, []) + items if repeated else items[0]
    return message

class Wire:
    """One connection (§1.1) to ws://host:port/ws, wss://…, tcp://host:port or tls://…"""
    def __init__(self, codec):
        self.pb, self.codec, self.queue = codec == "pb", f"skein.v1.{codec}", asyncio.Queue()
        self.cut, self.sent_at, self.methods = lambda: None, time.monotonic(), {}

    async def open(self, url):
        if url.startswith("ws"):
            socket = await websockets.connect(
                url, subprotocols=[self.codec], ping_interval=None, max_size=None)
            self.get, self.put, self.cut = socket.recv, socket.send, socket.transport.abort
            return
        scheme, host, port = re.fullmatch(r"(tcp|tls)://(.*):(\d+)", url).groups()
        reader, writer = await asyncio.open_connection(host, port, ssl=scheme == "tls" or None)

        async def get():
            return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))

        async def put(data):
            data = data if isinstance(data, bytes) else data.encode()
            writer.write(len(data).to_bytes(4) + data)
            await writer.drain()
        self.get, self.put, self.cut = get, put, writer.transport.abort
        await put(self.codec)

    def send(self, kind, **message):  # never waits: the answers have to be read meanwhile (§5.4)
        self.sent_at, told = time.monotonic(), {k: v for k, v in message.items() if v is not None}
        if kind == "call":
            self.methods[message["number"]] = name = message["method"].split("/")[1]
        if kind == "call" and self.pb:
            told["body"] = base64.b64encode(encode(name + "Request", told.pop("json"))[1])
        self.queue.put_nowait({kind: told})

    async def write(self):
        while True:
            frame = await self.queue.get()
            await self.put(encode("ClientFrame", frame)[1] if self.pb else json.dumps(frame))

    async def receive(self):
        frame = decode("ServerFrame", await self.get()) if self.pb else json.loads(await self.get())
        # Without a kind it is of a later version.
        kind, message = next(iter(Message("ServerFrame", frame).items()), ("", {}))
        if kind == "result":
            name = self.methods.pop(message["number"]) + "Response"
            answer = message["json"] or decode(name, base64.b64decode(message["body"]))
            message["json"] = Message(name, answer)
        return kind, message
