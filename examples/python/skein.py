"""A Skein client in one file, written from proto/SPEC.md alone; § numbers are its sections.

Frames are dicts in their JSON form (§1.3) whatever the codec: 64-bit numbers are ints here, bytes are base64.
What is received is kept in memory; a client that outlives its process has it, and the outbox, in a store (§7.5).
"""
import asyncio, base64, json, os, pathlib, random, re, struct, time
import websockets

PROTO = pathlib.Path(os.environ.get("SKEIN_PROTO") or pathlib.Path(__file__).resolve().parents[2] / "proto")
LOST = (OSError, EOFError, asyncio.TimeoutError, websockets.WebSocketException)  # a connection ended, or never began
MESSAGES, ENUMS = {}, {}  # {message: {number: (field, type, repeated)}}, {enum: {number: value}}
ACTIONS = {}  # {code: what to do}

def read_schema():
    text = "".join((PROTO / f"skein/v1/{name}.proto").read_text("utf-8") for name in ("entry", "frames", "services"))
    text = re.sub(r"//.*", "", text)
    for kind, name, body in re.findall(r"(message|enum) (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}", text):
        if kind == "enum":
            ENUMS[name] = {int(number): value for value, number in re.findall(r"(\w+) = (\d+);", body)}
            continue
        MESSAGES[name] = {}
        for repeated, type_, field, number in re.findall(r"(repeated )?([\w.]+) (\w+) = (\d+);", body):
            if not (repeated and type_ == "uint64"):  # recalled_seqs: it is for who counts what is unread (§4.3)
                field = re.sub(r"_(\w)", lambda m: m[1].upper(), field)
                MESSAGES[name][int(number)] = (field, type_, bool(repeated))
    codes = json.loads((PROTO / "codes.json").read_text("utf-8"))
    for span in codes["ranges"]:
        ACTIONS.update((c["name"], span["action"]) for c in codes["codes"] if span["from"] <= c["number"] <= span["to"])

read_schema()
NUMBERS = {value: number for values in ENUMS.values() for number, value in values.items()}
INT64 = {f[0] for fields in MESSAGES.values() for f in fields.values() if f[1] in ("uint64", "int64", "fixed64")}

class SkeinError(Exception):
    """An Error of the server. `action` is what to do (CODES.md): retry, reconnect, login, stop or fix."""
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error.get('message', '')}")
        self.code, self.action = error["code"], ACTIONS.get(error["code"], "fix")
        self.retry_after = error.get("retryAfterMs", 0) / 1000

# ---- The two codecs: §1.2, §1.3 ----

def varint(n):
    n, out = n & 2**64 - 1, b""
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
                data = value.encode() if kind == "string" else \
                    base64.b64decode(value) if kind == "bytes" else encode(kind, value)
                out += varint(number << 3 | 2) + varint(len(data)) + data
            else:
                out += varint(number << 3) + varint(NUMBERS[value] if kind in ENUMS else int(value))
    return out

def decode(message_type, data):
    message, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        value, next_ = read_varint(data, at) if tag & 7 in (0, 2) else (0, at + (8 if tag & 7 == 1 else 4))
        if tag & 7 == 2:
            value, next_ = data[next_:next_ + value], next_ + value
        at = next_
        field, kind, repeated = MESSAGES[message_type].get(tag >> 3, ("", "", False))
        if kind in MESSAGES:
            value = decode(kind, value)
        elif kind in ("string", "bytes"):
            value = value.decode() if kind == "string" else base64.b64encode(value).decode()
        elif kind in ENUMS:
            value = ENUMS[kind].get(value, value)
        if repeated:
            message.setdefault(field, []).append(value)
        elif field:  # else it is of a later version: §1.4
            message[field] = value
    return message

def integers(message):
    return {k: int(v) if k in INT64 else v for k, v in message.items()}

# ---- One connection: §1.1 ----

class Wire:
    async def open(self, url, codec):
        """url: ws://host:port/ws, wss://…, tcp://host:port or tls://…; codec: json or pb."""
        self.pb, self.websocket, self.queue, self.active = codec == "pb", None, asyncio.Queue(), time.monotonic()
        name = "skein.v1." + codec
        if url.startswith("ws"):
            self.websocket = await websockets.connect(
                url, subprotocols=[name], ping_interval=None, max_size=None, open_timeout=10, close_timeout=1)
        else:
            scheme, host, port = re.fullmatch(r"(tcp|tls)://(.*):(\d+)", url).groups()
            opening = asyncio.open_connection(host, port, ssl=scheme == "tls" or None)
            self.reader, self.writer = await asyncio.wait_for(opening, 10)
            self.writer.write(struct.pack(">I", len(name)) + name.encode())
        self.task = asyncio.create_task(self.write())
        return self

    def send(self, kind, **message):  # never waits: the answers have to be read meanwhile (§5.4)
        self.active = time.monotonic()
        self.queue.put_nowait({kind: message})

    async def write(self):
        try:
            while True:
                frame = await self.queue.get()
                data = encode("ClientFrame", frame) if self.pb else json.dumps(frame)
                if self.websocket:
                    await self.websocket.send(data)
                else:
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

    def call(self, number, method, request):  # a Call of, for example, AccountService/Login: §8
        body = base64.b64encode(encode(method.split("/")[1] + "Request", request)).decode()
        form = {"body": body} if self.pb else {"json": request}
        self.send("call", number=number, method="skein.v1." + method, **form)

    def result(self, method, result):
        if "error" in result:
            raise SkeinError(result["error"])
        body = base64.b64decode(result.get("body", ""))
        return decode(method.split("/")[1] + "Response", body) if self.pb else result.get("json", {})

    def cut(self):
        self.task.cancel()
        (self.websocket or self.writer).transport.abort()

# ---- The client ----

def mix(text):  # one summand of the digest: §7.4
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor % 2**64
    return h ^ h >> 33

class Conversation:
    def __init__(self, name):
        self.name, self.outbox, self.window = name, [], 64  # outbox: (Send, future) in order, until answered
        self.forget()
        self.connected()

    def forget(self):  # with a reset: §7.3. `waiting` are stretches behind a hole: (first, last, entries, touched)
        self.entries, self.cursor, self.head, self.synced, self.waiting = {}, 0, 0, 0, []
        self.read, self.peer = 0, {"received": 0, "read": 0}  # the user's mark; those of the other one of a dm

    def connected(self):  # a new connection: nothing is under way or refused (§5.9), marks are repeated (§6.3)
        self.pull, self.unanswered, self.refused, self.resume_at = None, set(), False, 0
        self.told = {"received": 0, "read": 0}

class Client:
    """run() stays connected. on_entry(entry) is called for each entry, in order, and again when it was amended."""
    def __init__(self, url, codec="json", device="python", on_entry=lambda entry: None):
        self.url, self.codec, self.on_entry, self.conversations, self.calls = url, codec, on_entry, {}, {}
        self.device = {"id": device, "class": "DEVICE_CLASS_DESKTOP", "name": "Python example"}
        self.auth = self.user = self.wire = None
        self.number = self.skew = self.last_id = 0
        self.tokens, self.synced = {}, False
        self.forget()

    def login(self, username, password, register=False):
        """The next connection makes this Call before its Hello: §3.1."""
        self.auth = ("AccountService/Register" if register else "AccountService/Login",
                     {"username": username, "password": password, "device": self.device, "stayLoggedIn": True})

    def send(self, conversation, text):
        """Into the outbox; the future has its seq, or the SkeinError with which it was refused for good."""
        self.last_id = max(self.last_id + 1, time.time_ns() * 4096 // 10**6 + self.skew * 4096)  # UUIDv7, increasing: §2
        uuid = self.last_id >> 12 << 80 | 7 << 76 | self.last_id % 4096 << 64 | 2 << 62 | random.getrandbits(62)
        message = {"conversation": conversation, "id": base64.b64encode(uuid.to_bytes(16, "big")).decode(),
                   "content": {"type": "text", "text": text}}
        future, c = asyncio.get_running_loop().create_future(), self.conversation(conversation)
        c.outbox.append((message, future))
        self.pump(c)
        return future

    async def call(self, method, request):
        """ConnectionError: it was carried out or not (§8)."""
        if not self.user:
            raise ConnectionError("not connected")
        wire, number, future = self.wire, self.next_number(), asyncio.get_running_loop().create_future()
        self.calls[number] = future
        wire.call(number, method, request)
        return wire.result(method, await asyncio.wait_for(future, 30))

    def read(self, conversation):
        c = self.conversation(conversation)
        c.read = max(c.read, c.cursor)

    def conversation(self, name):
        return self.conversations.setdefault(name, Conversation(name))

    def forget(self):
        self.position = self.timeline = self.newest = self.listed = self.counted_from = None
        self.changed, self.changed_since_ping = set(), set()
        for c in self.conversations.values():
            c.forget()

    def next_number(self):
        self.number += 1
        return self.number

    def later(self, seconds, what, *args):  # unless this connection has ended by then
        wire = self.wire
        asyncio.get_running_loop().call_later(seconds, lambda: self.wire is wire and what(*args))

    async def run(self):
        """Connects anew after each cut (§9.3). Raises the SkeinError after which somebody has to act."""
        attempt = 0
        while True:
            wait = 0
            try:
                await self.connection()
            except LOST:
                pass
            except SkeinError as e:
                if e.action == "login" and "refreshToken" in self.tokens and not self.auth:
                    self.auth = ("AccountService/Refresh", {"refreshToken": self.tokens["refreshToken"]})
                elif e.action not in ("retry", "reconnect"):
                    raise
                wait = e.retry_after
            attempt = 0 if self.synced else attempt + 1
            await asyncio.sleep(self.go_away or max(wait, random.uniform(0, min(20, 0.5 * 2**attempt))))

    async def connection(self):
        self.synced, self.sync, self.held, self.listed, self.go_away, self.dead = False, None, [], None, 0, 60
        self.wire = await Wire().open(self.url, self.codec)
        ticking = asyncio.ensure_future(self.tick())
        try:
            if self.auth:
                self.wire.call(1, *self.auth)
                _, result = await asyncio.wait_for(self.wire.receive(), 30)
                self.tokens, self.auth = self.wire.result(self.auth[0], result)["tokens"], None
            for c in self.conversations.values():
                c.connected()
            self.wire.send("hello", versionMin=1, versionMax=1, token=self.tokens["accessToken"], device=self.device,
                           client="skein-python-example", sync=self.new_sync())
            while True:
                self.handle(*await asyncio.wait_for(self.wire.receive(), self.dead))
        finally:
            ticking.cancel()
            self.wire.cut()
            self.wire = self.user = None
            for future in self.calls.values():
                future.done() or future.set_exception(ConnectionError("the connection ended"))
            self.calls = {}

    async def tick(self):
        while True:
            await asyncio.sleep(0.2)
            for c in list(self.conversations.values()) if self.synced and not self.sync else ():
                for kind, seq in (("received", c.cursor), ("read", min(c.read, c.cursor))):  # marks: §6.2
                    if seq > c.told[kind]:
                        c.told[kind] = seq
                        self.wire.send(kind, conversation=c.name, seq=seq)
            if self.synced and time.monotonic() - self.wire.active > self.idle:
                self.ping()

    def handle(self, kind, frame):
        if self.sync and kind in ("push", "heads"):  # what is pushed before the answer to a Sync is applied after it
            self.held.append((kind, frame))
        else:
            getattr(self, "on_" + kind, lambda frame: None)(frame)

    def on_welcome(self, welcome):
        self.user, self.idle = welcome["user"], welcome["heartbeat"]["idleMs"] / 1000
        self.dead = welcome["heartbeat"]["deadMs"] / 1000
        self.skew = welcome["serverTimeMs"] - int(time.time() * 1000)
        self.on_renewed(welcome)
        for c in self.conversations.values():
            self.pump(c)

    def on_renewed(self, renewed):
        left = renewed["tokenExpiresAtMs"] / 1000 - time.time() - self.skew / 1000
        self.later(left * 0.8, lambda: asyncio.ensure_future(self.renew()))

    async def renew(self):
        """A newer token before the time of the old one is over: §3.9. Without it the connection ends, and `run` refreshes."""
        try:
            result = await self.call("AccountService/Refresh", {"refreshToken": self.tokens.get("refreshToken", "")})
            self.tokens = result["tokens"]
            self.wire.send("renew", token=self.tokens["accessToken"])
        except (SkeinError, *LOST):
            pass

    def on_error(self, error):
        e = SkeinError(error)
        if not self.user or e.action not in ("retry", "fix"):
            raise e
        if e.action == "retry" and error.get("frame") in ("received", "read"):
            told = self.conversation(error["conversation"]).told
            self.later(e.retry_after, told.update, {error["frame"]: 0})

    def on_kick(self, kick):
        raise SkeinError(kick["error"])

    def on_goAway(self, frame):  # everything goes on until the server closes: §3.8
        self.go_away = random.uniform(0, frame.get("retryAfterMs", 0) / 1000)

    def on_result(self, result):
        future = self.calls.pop(result["number"], None)
        if future and not future.done():
            future.set_result(result)

    # Sending: §5

    def pump(self, c):
        """Sends the outbox in order, at most `window` messages ahead of the answers."""
        for message, _ in c.outbox[:c.window] if self.user and not c.refused else ():
            if message["id"] not in c.unanswered:
                c.unanswered.add(message["id"])
                self.wire.send("send", **message)

    def answered(self, id):
        c = next(c for c in self.conversations.values() if id in c.unanswered)
        c.unanswered.remove(id)
        return c, next(item for item in c.outbox if item[0]["id"] == id)

    def on_sendAck(self, ack):
        c, item = self.answered(ack["id"])
        c.outbox.remove(item)
        c.window = min(64, 2 * c.window)
        item[1].done() or item[1].set_result(ack["seq"])
        self.handle("push", {"entries": [{**item[0], **ack, "sender": self.user, "kind": "ENTRY_KIND_MESSAGE"}]})
        self.go_on(c)

    def on_sendError(self, refusal):
        (c, item), e = self.answered(refusal["id"]), SkeinError(refusal["error"])
        if e.action == "fix":
            c.outbox.remove(item)
            item[1].done() or item[1].set_exception(e)
        else:
            c.refused, c.window, c.resume_at = True, 1, max(c.resume_at, time.monotonic() + e.retry_after)
        self.go_on(c)

    def go_on(self, c):
        """After a refusal: when all is answered and its time is over, from the refused one on (§5.9)."""
        if c.refused and not c.unanswered:
            self.later(max(0, c.resume_at - time.monotonic()), self.resume, c)
        self.pump(c)

    def resume(self, c):
        c.refused = False
        self.pump(c)

    # Sync: §7

    def new_sync(self, cursor=None):
        self.sync = {"number": self.next_number(), "position": self.position, "timeline": self.timeline,
                     "cursor": cursor, "newest": self.newest}
        self.sync = {field: value for field, value in self.sync.items() if value}
        return self.sync

    def ask_sync(self, cursor=None):
        self.wire.send("sync", **self.new_sync(cursor))

    def on_syncDelta(self, delta):
        if not self.sync or delta.get("number") != self.sync["number"]:
            return
        cursor = self.sync.get("cursor")
        if "error" in delta:
            e = SkeinError(delta["error"])
            if e.action == "fix" and not self.position and not cursor:
                raise e
            if e.action == "fix":  # begin again, without a position: §7.6
                cursor = self.forget()
            return self.later(e.retry_after + random.random(), self.ask_sync, cursor)
        if delta.get("reset"):
            self.forget()
        for state in delta.get("conversations", ()):
            self.on_state(state)
        self.timeline, self.listed = delta.get("timeline"), self.listed or delta.get("position")
        if delta.get("next"):
            return self.ask_sync(delta["next"])
        self.position = self.counted_from = self.listed  # cold: of the first page; resume: of the last one
        self.synced, self.sync, self.listed, self.changed, held, self.held = True, None, None, set(), self.held, []
        for kind, frame in held:
            self.handle(kind, frame)
        for c in self.conversations.values():
            self.drain(c)

    def on_state(self, state):
        c, seq, first = self.conversation(state["conversation"]), state.get("seq", 0), state.get("fromSeq", 0)
        if not self.position and not c.cursor:  # cold: what lies before is read on demand, by a Pull backward
            c.cursor = first - 1 if first else seq
        elif not self.position:
            first = 0  # cold, and something is kept: pulled (§7.2)
        c.synced, c.head = seq, max(c.head, seq, state.get("untilSeq", 0))
        self.mark(c.name, self.user, 0, state.get("readSeq", 0))
        self.mark(c.name, None, state.get("peerReceived", 0), state.get("peerRead", 0))
        if first:
            self.stretch(c, first, seq, state.get("entries", []), state.get("touched", []), state.get("last"))

    def on_resync(self, _):  # what is held may be of a history that is gone: §7.8
        self.held, self.listed = [], None
        self.ask_sync()

    def ping(self):
        """§9.1, with the digest of §7.4 where nothing is missing."""
        whole = self.counted_from and not self.sync and all(c.cursor >= c.head for c in self.conversations.values())
        digest = sum(mix(f"{name}:{self.conversations[name].cursor}") for name in self.changed) % 2**64
        self.changed_since_ping = set()
        self.wire.send("ping", **{"position": self.counted_from, "digest": str(digest)} if whole else {})

    def on_ping(self, _):
        self.wire.send("pong")

    def on_pong(self, pong):
        if pong.get("resync") and not self.sync:
            self.ask_sync()
        elif pong.get("position") and not self.sync:
            self.position = self.counted_from = pong["position"]
            self.changed, self.changed_since_ping = self.changed_since_ping, set()

    # Receiving: §6

    def on_push(self, push):
        for entry in push.get("entries", ()):
            c = self.conversation(entry["conversation"])
            if entry.get("target"):  # an amendment: a Pull tells what it made of its target (§4.7)
                c.head = max(c.head, entry["seq"])
                self.drain(c)
            else:
                self.stretch(c, entry["seq"], entry["seq"], [entry])

    def on_heads(self, heads):
        for head in heads.get("heads", ()):
            c = self.conversation(head["conversation"])
            c.head = max(c.head, head["seq"])
            self.drain(c)

    def on_receipt(self, receipt):
        self.mark(receipt["conversation"], receipt["user"], receipt.get("received", 0), receipt.get("read", 0))

    def mark(self, conversation, user, received, read):  # marks never go back: §6.3
        c = self.conversation(conversation)
        if user == self.user:
            c.read = max(c.read, read)
        else:
            c.peer = {"received": max(c.peer["received"], received), "read": max(c.peer["read"], read)}

    def stretch(self, c, first, last, entries, touched=(), newest=None):
        """What `first` to `last` comes to (§6.8); it waits until what lies before is there."""
        for e in (*entries, newest):  # named in Sync.newest: §7.8
            if e and e.get("pos", 0) > (self.newest or {}).get("pos", 0):
                self.newest = {k: e[k] for k in ("conversation", "seq", "id", "storedAtMs", "pos") if k in e}
        c.head = max(c.head, last)
        c.waiting.append((first, last, entries, touched))
        self.drain(c)

    def drain(self, c):
        c.waiting.sort(key=lambda waiting: waiting[:2])
        while c.waiting and c.waiting[0][0] <= c.cursor + 1:
            self.apply(c, *c.waiting.pop(0))
        if c.head > c.cursor and not c.pull and not self.sync:  # a hole: §6.1
            c.pull = (self.next_number(), c.cursor + 1)
            self.wire.send("pull", number=c.pull[0], conversation=c.name, limit=50, **{"from": c.pull[1]})

    def apply(self, c, first, last, entries, touched):
        for entry in (*entries, *touched):
            seq, kept = entry["seq"], c.entries.get(entry["seq"])
            if seq > c.cursor or kept and entry.get("amended", 0) > kept.get("amended", 0):
                c.entries[seq] = entry
                self.on_entry(entry)
            if entry.get("kind") == "ENTRY_KIND_MESSAGE":  # sending is reading: §4.2
                self.mark(c.name, entry["sender"], seq, seq)
            event = entry.get("event", {})
            if event.get("type") == "EVENT_TYPE_MEMBER_ADDED" and self.user in event["users"] and seq > c.cursor > 0:
                self.sync or self.ask_sync()  # added again: §4.3
        if last > max(c.cursor, c.synced):
            self.changed.add(c.name)
            self.changed_since_ping.add(c.name)
        c.cursor = max(c.cursor, last)

    def on_range(self, answer):
        c = self.conversation(answer["conversation"])
        if not c.pull or c.pull[0] != answer.get("number"):
            return
        e = SkeinError(answer["error"]) if "error" in answer else None
        if e and e.action != "fix":
            return self.later(e.retry_after + random.random(), self.pull_again, c)
        if e or not answer.get("lastSeq"):  # nothing there is the user's to read
            c.pull, c.waiting, c.head = None, [], c.cursor
            return
        first, c.pull = c.pull[1], None
        self.stretch(c, first, answer["lastSeq"], answer.get("entries", []), answer.get("touched", []), answer.get("last"))

    def pull_again(self, c):
        c.pull = None
        self.drain(c)
