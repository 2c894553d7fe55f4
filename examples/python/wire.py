"""Frames as bytes: the schema, protobuf, JSON and the connection. § numbers are of proto/SPEC.md.

Frames are dicts in their JSON form (§1.3) whatever the codec, with 64-bit numbers as ints, and
SkeinErrors where an Error stands.
"""
import asyncio, base64, io, json, pathlib, re, time
import websockets

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto" / "skein" / "v1"
LOST = OSError, EOFError, websockets.WebSocketException  # a connection ended, or never began

MESSAGES, ENUMS = {}, {}  # name: {number: (field, type, repeated)}; name: {number: value}
SCHEMA = "".join(path.read_text("utf-8") for path in PROTO.glob("*.proto"))
BLOCK = r"(message|enum) (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}"
for kind, name, body in re.findall(BLOCK, re.sub("//.*", "", SCHEMA)):
    if kind == "enum":
        ENUMS[name] = {int(n): value for value, n in re.findall(r"(\w+) = (\d+);", body)}
    else:
        body = re.sub(r"_(\w)", lambda m: m[1].upper(), body)  # to the names in JSON
        fields = re.findall(r"(repeated )?([\w.]+) (\w+) = (\d+);", body)
        MESSAGES[name] = {int(n): (field, type_, repeated) for repeated, type_, field, n in fields}
NUMBERS = {value: n for values in ENUMS.values() for n, value in values.items()}
FIELDS = {field: rest for fields in MESSAGES.values() for field, *rest in fields.values()}
INT64 = {field for field, (type_, _) in FIELDS.items() if type_ in ("uint64", "int64")}

class SkeinError(Exception):
    """An Error of the server; `action` is what to do: retry, reconnect, login, stop or fix."""
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.retry_after = error["code"], error["retryAfterMs"] / 1000
        self.about = error["conversation"], error["frame"]  # what it answers
        actions = "retry", "reconnect", "login", "stop", "fix"
        self.action = actions[(error["codeNumber"] - 4000) // 200]  # §10

class Message(dict):
    """A message in its JSON form; fields that are absent have their default value (§1.4)."""
    def __missing__(self, field):
        type_, repeated = FIELDS[field]
        empty = "" if type_ in ("string", "bytes") else Message() if type_ in MESSAGES else 0
        return [] if repeated else empty

def from_json(fields):
    message = Message((k, int(v) if k in INT64 else v) for k, v in fields.items())
    return SkeinError(message) if "codeNumber" in message else message

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
    for number, (field, type_, repeated) in MESSAGES[kind].items():
        for item in () if field not in value else value[field] if repeated else [value[field]]:
            wire_type, data = encode(type_, item)
            length = varint(len(data)) if wire_type == 2 else b""
            out += varint(number << 3 | wire_type) + length + data
    return 2, out

def decode(kind, value):
    """A value of this type from a number or bytes."""
    if kind in ("string", "bytes"):
        return value.decode() if kind == "string" else base64.b64encode(value).decode()
    if kind not in MESSAGES:
        return ENUMS.get(kind, {}).get(value, value)
    message, stream = Message(), io.BytesIO(value)
    while tag := read_varint(stream):
        n = {1: 8, 5: 4}.get(tag & 7) or read_varint(stream)  # a number, or how many bytes
        field, type_, repeated = MESSAGES[kind].get(tag >> 3, ("", "", ""))
        item = decode(type_, stream.read(n) if tag & 7 else n)
        message[field] = message[field] + [item] if repeated else item
    message.pop("", None)  # of a later version: §1.4
    return SkeinError(message) if kind == "Error" else message

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
        if self.pb and kind == "call":
            self.methods[message["number"]] = name = message["method"].split("/")[1]
            told["body"] = base64.b64encode(encode(name + "Request", told.pop("json"))[1])
        self.queue.put_nowait({kind: told})

    async def write(self):
        while True:
            frame = await self.queue.get()
            await self.put(encode("ClientFrame", frame)[1] if self.pb else json.dumps(frame))

    async def receive(self):
        data = await self.get()
        frame = decode("ServerFrame", data) if self.pb else json.loads(data, object_hook=from_json)
        kind, message = next(iter(frame.items()), ("", Message()))  # "" is of a later version
        if self.pb and kind == "result":
            name = self.methods.pop(message["number"])
            message["json"] = decode(name + "Response", base64.b64decode(message["body"]))
        return kind, message
