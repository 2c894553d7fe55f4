"""Frames as bytes: the schema (proto/skein/v1), protobuf, JSON and the connection. § numbers are of proto/SPEC.md.

Frames are dicts in their JSON form (§1.3) whatever the codec, with 64-bit numbers as ints and bytes as base64.
"""
import asyncio, base64, io, json, pathlib, re, struct, time
import websockets

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
LOST = OSError, EOFError, websockets.WebSocketException  # a connection ended or never began; a timeout is an OSError

MESSAGES, ENUMS = {}, {}  # name: {number: (field, type, repeated)}; name: {number: value}
SCHEMA = "".join((PROTO / f"skein/v1/{name}.proto").read_text("utf-8") for name in ("entry", "frames", "services"))
for kind, name, body in re.findall(r"(message|enum) (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}", re.sub("//.*", "", SCHEMA)):
    if kind == "enum":
        ENUMS[name] = {int(number): value for value, number in re.findall(r"(\w+) = (\d+);", body)}
    else:
        fields = re.findall(r"(repeated )?([\w.]+) (\w+) = (\d+);", re.sub(r"_(\w)", lambda m: m[1].upper(), body))
        MESSAGES[name] = {int(number): (field, type_, repeated) for repeated, type_, field, number in fields}
NUMBERS = {value: number for values in ENUMS.values() for number, value in values.items()}
FIELDS = {field: (type_, repeated) for fields in MESSAGES.values() for field, type_, repeated in fields.values()}
INT64 = {field for field, (type_, _) in FIELDS.items() if type_ in ("uint64", "int64", "fixed64")}

class SkeinError(Exception):
    """An Error of the server; `action` is what to do: retry, reconnect, login, stop or fix (CODES.md)."""
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.retry_after = error["code"], error["retryAfterMs"] / 1000
        self.action = ("retry", "reconnect", "login", "stop", "fix")[(error["codeNumber"] - 4000) // 200]

class Message(dict):
    """A message in its JSON form; fields that are absent have their default value (§1.4)."""
    def __missing__(self, field):
        type_, repeated = FIELDS[field]
        return [] if repeated else "" if type_ in ("string", "bytes") else Message() if type_ in MESSAGES else 0

def from_json(message):
    return Message((k, int(v) if k in INT64 and isinstance(v, str) else v) for k, v in message.items())

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

def read_varint(stream):  # None at the end
    n = shift = 0
    while byte := stream.read(1):
        n, shift = n | (byte[0] & 127) << shift, shift + 7
        if byte[0] < 128:
            return n

def encode(kind, value):
    """A value of this type as (wire type, protobuf)."""
    if kind == "fixed64":
        return 1, struct.pack("<Q", value)
    if kind in ("string", "bytes"):
        return 2, value.encode() if kind == "string" else base64.b64decode(value)
    if kind not in MESSAGES:
        return 0, varint(NUMBERS.get(value, value))
    out = b""
    for number, (field, kind, repeated) in MESSAGES[kind].items():
        for item in () if field not in value else value[field] if repeated else (value[field],):
            wire_type, data = encode(kind, item)
            out += varint(number << 3 | wire_type) + (varint(len(data)) if wire_type == 2 else b"") + data
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
        field, item, repeated = MESSAGES[kind].get(tag >> 3, ("", "", False))  # "" is of a later version: §1.4
        value = decode(item, stream.read(n) if tag & 7 else n)
        message[field] = message[field] + [value] if repeated else value
    message.pop("", None)
    return message

class Wire:
    """One connection (§1.1) to ws://host:port/ws, wss://…, tcp://host:port or tls://…; the codec is json or pb."""
    def __init__(self, codec):
        self.pb, self.name, self.queue, self.methods = codec == "pb", f"skein.v1.{codec}", asyncio.Queue(), {}
        self.cut, self.sent_at = lambda: None, time.monotonic()

    async def open(self, url):
        if url.startswith("ws"):
            socket = await websockets.connect(url, subprotocols=[self.name], ping_interval=None, max_size=None)
            self.get, self.put, self.cut = socket.recv, socket.send, socket.transport.abort
            return
        scheme, host, port = re.fullmatch(r"(tcp|tls)://(.*):(\d+)", url).groups()
        reader, writer = await asyncio.open_connection(host, port, ssl=scheme == "tls" or None)

        async def get():
            return await reader.readexactly(*struct.unpack(">I", await reader.readexactly(4)))

        async def put(data):
            data = data if isinstance(data, bytes) else data.encode()
            writer.write(struct.pack(">I", len(data)) + data)
            await writer.drain()
        self.get, self.put, self.cut = get, put, writer.transport.abort
        await put(self.name)

    def send(self, kind, **message):  # never waits: the answers have to be read meanwhile (§5.4)
        message, self.sent_at = {k: v for k, v in message.items() if v is not None}, time.monotonic()
        if kind == "call":  # of a method as in AccountService/Login: §8
            self.methods[message["number"]] = method = message["method"]
            message["method"] = "skein.v1." + method
            if self.pb:
                message["body"] = base64.b64encode(encode(method.split("/")[1] + "Request", message.pop("json"))[1])
        self.queue.put_nowait({kind: message})

    async def write(self):
        while True:
            frame = await self.queue.get()
            await self.put(encode("ClientFrame", frame)[1] if self.pb else json.dumps(frame))

    async def receive(self):
        data = await self.get()
        frame = decode("ServerFrame", data) if self.pb else json.loads(data, object_hook=from_json)
        kind, message = next(iter(frame.items()), ("", Message()))  # "" is of a later version
        if "body" in message:
            method = self.methods.pop(message["number"]).split("/")[1]
            message["json"] = decode(method + "Response", base64.b64decode(message["body"]))
        return kind, message

def mix(text):  # one summand of the digest: §7.4
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor % 2**64
    return h ^ h >> 33
