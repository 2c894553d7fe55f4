"""Frames as bytes: the schema (proto/skein/v1), protobuf, JSON and the connection. § numbers are of proto/SPEC.md.

Frames are dicts in their JSON form (§1.3) whatever the codec, with 64-bit numbers as ints and bytes as base64.
"""
import asyncio, base64, json, pathlib, re, struct, time
import websockets

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
LOST = (OSError, EOFError, asyncio.TimeoutError, websockets.WebSocketException)  # a connection ended, or never began
MESSAGES, ENUMS, ACTIONS = {}, {}, {}  # name: {number: (field, type, repeated)}; name: {number: value}; code: action

SCHEMA = "".join((PROTO / f"skein/v1/{name}.proto").read_text("utf-8") for name in ("entry", "frames", "services"))
for kind, name, body in re.findall(r"(message|enum) (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}", re.sub("//.*", "", SCHEMA)):
    if kind == "enum":
        ENUMS[name] = {int(number): value for value, number in re.findall(r"(\w+) = (\d+);", body)}
    else:
        fields = re.findall(r"(repeated )?([\w.]+) (\w+) = (\d+);", body)
        MESSAGES[name] = {int(number): (re.sub(r"_(\w)", lambda m: m[1].upper(), field), type_, bool(repeated))
                          for repeated, type_, field, number in fields}
CODES = json.loads((PROTO / "codes.json").read_text("utf-8"))
for span in CODES["ranges"]:
    ACTIONS.update((c["name"], span["action"]) for c in CODES["codes"] if span["from"] <= c["number"] <= span["to"])
NUMBERS = {value: number for values in ENUMS.values() for number, value in values.items()}
INT64 = {f[0] for fields in MESSAGES.values() for f in fields.values() if f[1] in ("uint64", "int64", "fixed64")}

class SkeinError(Exception):
    """An Error of the server; `action` is what to do: retry, reconnect, login, stop or fix (CODES.md)."""
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error.get('message', '')}")
        self.code, self.action = error["code"], ACTIONS.get(error["code"], "fix")
        self.retry_after = error.get("retryAfterMs", 0) / 1000

# ---- Protobuf and JSON: §1.2, §1.3 ----

def varint(n):
    out = b""
    while n > 127:
        n, out = n >> 7, out + bytes([n & 127 | 128])
    return out + bytes([n])

def read_varint(data, at):
    n = shift = 0
    while True:
        n, shift, at = n | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return n, at

def encode(message_type, message):
    out = b""
    for number, (field, kind, repeated) in MESSAGES[message_type].items():
        for value in () if field not in message else message[field] if repeated else (message[field],):
            if kind == "fixed64":
                out += varint(number << 3 | 1) + struct.pack("<Q", int(value))
            elif kind in MESSAGES or kind in ("string", "bytes"):
                data = encode(kind, value) if kind in MESSAGES else \
                    base64.b64decode(value) if kind == "bytes" else value.encode()
                out += varint(number << 3 | 2) + varint(len(data)) + data
            else:
                out += varint(number << 3) + varint(NUMBERS[value] if kind in ENUMS else int(value))
    return out

def decode(message_type, data):
    message, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        value, at = read_varint(data, at) if tag & 7 in (0, 2) else (8 if tag & 7 == 1 else 4, at)
        if tag & 7:  # not a number, but so many bytes
            value, at = data[at:at + value], at + value
        field, kind, repeated = MESSAGES[message_type].get(tag >> 3, ("", "", False))
        if kind in MESSAGES:
            value = decode(kind, value)
        elif kind in ("string", "bytes"):
            value = value.decode() if kind == "string" else base64.b64encode(value).decode()
        elif kind in ENUMS:
            value = ENUMS[kind].get(value, value)
        if repeated:
            message.setdefault(field, []).append(value)
        elif field:  # others are of a later version: §1.4
            message[field] = value
    return message

def integers(message):
    return {k: int(v) if k in INT64 and isinstance(v, str) else v for k, v in message.items()}

class Wire:
    """One connection (§1.1) to ws://host:port/ws, wss://…, tcp://host:port or tls://…; the codec is json or pb."""
    async def open(self, url, codec):
        self.pb, self.websocket, self.queue, self.sent_at = codec == "pb", None, asyncio.Queue(), time.monotonic()
        name = "skein.v1." + codec
        if url.startswith("ws"):
            self.websocket = await websockets.connect(
                url, subprotocols=[name], ping_interval=None, max_size=None, open_timeout=10, close_timeout=1)
        else:
            scheme, host, port = re.fullmatch(r"(tcp|tls)://(.*):(\d+)", url).groups()
            opening = asyncio.open_connection(host, port, ssl=scheme == "tls" or None)
            self.reader, self.writer = await asyncio.wait_for(opening, 10)
            self.writer.write(struct.pack(">I", len(name)) + name.encode())
        self.writing = asyncio.ensure_future(self.write())
        return self

    def send(self, kind, **message):  # never waits: the answers have to be read meanwhile (§5.4)
        self.sent_at = time.monotonic()
        self.queue.put_nowait({kind: message})

    async def write(self):
        try:
            while True:
                frame = await self.queue.get()
                data = encode("ClientFrame", frame) if self.pb else json.dumps(frame)
                if self.websocket:
                    await self.websocket.send(data)
                    continue
                data = data if self.pb else data.encode()
                self.writer.write(struct.pack(">I", len(data)) + data)
                await self.writer.drain()
        except LOST:
            self.cut()

    async def receive(self):
        if self.websocket:
            data = await self.websocket.recv()
        else:
            data = await self.reader.readexactly(struct.unpack(">I", await self.reader.readexactly(4))[0])
        frame = decode("ServerFrame", data) if self.pb else json.loads(data, object_hook=integers)
        return next(iter(frame.items()), ("", {}))

    def call(self, number, method, request):  # §8; `method` as in AccountService/Login
        body = base64.b64encode(encode(method.split("/")[1] + "Request", request)).decode()
        form = {"body": body} if self.pb else {"json": request}
        self.send("call", number=number, method="skein.v1." + method, **form)

    def result(self, method, answer):
        if "error" in answer:
            raise SkeinError(answer["error"])
        body = base64.b64decode(answer.get("body", ""))
        return decode(method.split("/")[1] + "Response", body) if self.pb else answer.get("json", {})

    def cut(self):
        self.writing.cancel()
        (self.websocket or self.writer).transport.abort()

def mix(text):  # one summand of the digest: §7.4
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor % 2**64
    return h ^ h >> 33

