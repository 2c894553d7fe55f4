"""A Skein client, written from proto/SPEC.md alone; § numbers are its sections.

What comes is kept in memory; a client that outlives its process has it, and the outbox, in a store (§7.5).
"""
import asyncio, base64, random, time
from wire import LOST, SkeinError, Wire, mix

class Conversation:
    def __init__(self, name):
        self.name, self.outbox, self.window = name, [], 64  # (Send, future), in order, until answered
        self.forget()
        self.connected()
    def forget(self):  # after a reset (§7.3); `waiting` behind a hole: (first, last, entries, touched)
        self.entries, self.cursor, self.head, self.synced, self.waiting = {}, 0, 0, 0, []
        self.read, self.peer = 0, (0, 0)  # marks: the user's; what the other one of a dm received and read
    def connected(self):  # a new connection: nothing is under way or refused (§5.9), marks are repeated (§6.3)
        self.pull, self.unanswered, self.refused, self.resume_at, self.told = None, {}, False, 0, {}
        self.first = None  # SendError.first: what the server waits for
    def mark(self, mine, received, read):  # never goes back: §6.3
        if mine:
            self.read = max(self.read, read)
        else:
            self.peer = max(self.peer[0], received, read), max(self.peer[1], read)

class Client:
    """run() stays connected. on_entry(entry) is called for each entry, in order, and again when it was amended."""
    def __init__(self, url, codec="json", device="python", on_entry=lambda entry: None):
        self.url, self.codec, self.on_entry, self.conversations, self.calls = url, codec, on_entry, {}, {}
        self.device = {"id": device, "class": "DEVICE_CLASS_DESKTOP", "name": "Python example"}
        self.auth = self.user = None
        self.tokens, self.synced, self.number, self.skew, self.last_id = {}, False, 0, 0, 0
        self.forget()
    def forget(self):
        self.position = self.timeline = self.newest = self.listed = self.counted_from = None
        self.changed, self.changed_since_ping = set(), set()
        for c in self.conversations.values():
            c.forget()
    def conversation(self, name):
        return self.conversations.setdefault(name, Conversation(name))
    def login(self, username, password, register=False):  # a Call before the Hello: §3.1
        self.auth = ("AccountService/Register" if register else "AccountService/Login",
                     {"username": username, "password": password, "device": self.device, "stayLoggedIn": True})
    def send(self, conversation, text):
        """Into the outbox; the future has its seq, or the SkeinError with which it was refused for good."""
        self.last_id = max(self.last_id + 1, time.time_ns() * 4096 // 10**6 + self.skew * 4096)  # UUIDv7: §2
        uuid = self.last_id >> 12 << 80 | 7 << 76 | self.last_id % 4096 << 64 | 2 << 62 | random.getrandbits(62)
        message = {"conversation": conversation, "id": base64.b64encode(uuid.to_bytes(16, "big")).decode(),
                   "content": {"type": "text", "text": text}}
        future, c = asyncio.get_running_loop().create_future(), self.conversation(conversation)
        c.outbox.append((message, future))
        self.pump(c)
        return future
    def read(self, conversation):
        self.conversation(conversation).mark(True, 0, self.conversation(conversation).cursor)
    async def call(self, method, request):  # ConnectionError: carried out or not (§8)
        if not self.user:
            raise ConnectionError("not connected")
        wire, self.number, future = self.wire, self.number + 1, asyncio.get_running_loop().create_future()
        self.calls[self.number] = future
        wire.call(self.number, method, request)
        return wire.result(method, await asyncio.wait_for(future, 30))
    def later(self, seconds, what, *args):  # unless this connection has ended by then
        wire = self.wire
        asyncio.get_running_loop().call_later(seconds, lambda: self.wire is wire and what(*args))

    async def run(self):
        """Connects again after each cut (§9.3); raises the SkeinError after which somebody has to act."""
        attempt = 0
        while True:
            wait = self.go_away = 0
            try:
                await self.connection()
            except LOST:
                pass
            except SkeinError as e:
                if e.action == "login" and self.tokens.get("refreshToken") and not self.auth:
                    self.auth = "AccountService/Refresh", {"refreshToken": self.tokens["refreshToken"]}
                elif e.action not in ("retry", "reconnect"):
                    raise
                wait = e.retry_after
            attempt = 0 if self.synced else attempt + 1
            await asyncio.sleep(self.go_away or max(wait, random.uniform(0, min(20, 0.5 * 2**attempt))))
    async def connection(self):
        self.synced, self.held, self.listed, self.dead, self.heard_at = False, [], None, 60, 0
        self.wire = await Wire().open(self.url, self.codec)
        ticking = asyncio.ensure_future(self.tick())
        try:
            if self.auth:
                self.wire.call(0, *self.auth)
                _, answer = await asyncio.wait_for(self.wire.receive(), 30)
                self.tokens, self.auth = self.wire.result(self.auth[0], answer)["tokens"], None
            for c in self.conversations.values():
                c.connected()
            self.wire.send("hello", versionMin=1, versionMax=1, token=self.tokens["accessToken"], device=self.device,
                           client="skein-python-example", sync=self.new_sync())
            while True:
                self.heard_at = time.monotonic()
                self.handle(*await asyncio.wait_for(self.wire.receive(), self.dead))
        finally:
            ticking.cancel()
            self.wire.cut()
            self.wire, self.user, calls, self.calls = None, None, self.calls, {}
            for future in calls.values():
                future.done() or future.set_exception(ConnectionError("the connection ended"))
    async def tick(self):
        while True:
            await asyncio.sleep(0.2)
            for c in list(self.conversations.values()) if self.synced else ():
                for kind, seq in ("received", c.cursor), ("read", min(c.read, c.cursor)):  # §6.2
                    if seq > c.told.get(kind, 0):
                        c.told[kind] = seq
                        self.wire.send(kind, conversation=c.name, seq=seq)
            if self.synced and time.monotonic() - min(self.wire.sent_at, self.heard_at) > self.idle:
                self.ping()
    def handle(self, kind, frame):
        if self.sync and kind in ("push", "heads"):  # applied after the answer to the Sync
            return self.held.append((kind, frame))
        match kind:
            case "welcome":
                self.user, self.idle = frame["user"], frame["heartbeat"]["idleMs"] / 1000
                self.dead = frame["heartbeat"]["deadMs"] / 1000
                self.skew = frame["serverTimeMs"] - time.time_ns() // 10**6
                for c in self.conversations.values():
                    self.pump(c)
            case "push":
                for entry in frame.get("entries", ()):
                    self.push(self.conversation(entry["conversation"]), entry)
            case "heads":
                for head in frame.get("heads", ()):
                    c = self.conversation(head["conversation"])
                    c.head = max(c.head, head["seq"])
                    self.drain(c)
            case "sendAck" | "sendError":
                self.answered(next(c for c in self.conversations.values() if frame["id"] in c.unanswered), frame)
            case "syncDelta" if self.sync and frame.get("number") == self.sync["number"]:
                self.delta(frame)
            case "range":
                self.range(self.conversation(frame["conversation"]), frame)
            case "receipt":
                mine = frame["user"] == self.user
                self.conversation(frame["conversation"]).mark(mine, frame.get("received", 0), frame.get("read", 0))
            case "resync":  # what is held may be of a history that is gone: §7.8
                self.held = []
                self.ask_sync()
            case "ping":
                self.wire.send("pong")
            case "pong" if frame.get("resync") and not self.sync:
                self.ask_sync()
            case "pong" if frame.get("position") and not self.sync:
                self.position = self.counted_from = frame["position"]
                self.changed = self.changed_since_ping
            case "result" if frame["number"] in self.calls:
                self.calls.pop(frame["number"]).set_result(frame)
            case "goAway":  # everything goes on until the server closes: §3.8
                self.go_away = random.uniform(0, frame["retryAfterMs"] / 1000)
            case "kick":
                raise SkeinError(frame["error"])
            case "error":
                e = SkeinError(frame)
                if not self.user or e.action not in ("retry", "fix"):
                    raise e
                if e.action == "retry" and frame.get("frame") in ("received", "read"):
                    self.later(e.retry_after, self.conversation(frame["conversation"]).told.clear)
        if kind in ("welcome", "renewed"):  # another token in good time: §3.9
            self.later((frame["tokenExpiresAtMs"] - self.skew) / 1000 * 0.8 - time.time() * 0.8, self.renew)
    def renew(self):
        async def renew():
            try:
                refresh = {"refreshToken": self.tokens.get("refreshToken", "")}
                self.tokens = (await self.call("AccountService/Refresh", refresh))["tokens"]
                self.wire.send("renew", token=self.tokens["accessToken"])
            except (SkeinError, *LOST):
                pass  # then the connection ends with token_expired, and run() refreshes
        asyncio.ensure_future(renew())
    def ping(self):  # §9.1, with a digest (§7.4) where nothing is missing
        whole = self.counted_from and not self.sync and all(c.head <= c.cursor for c in self.conversations.values())
        digest = sum(mix(f"{name}:{self.conversations[name].cursor}") for name in self.changed) % 2**64
        self.changed_since_ping, self.heard_at = set(), time.monotonic()  # the next one not before idle is over
        if self.user:
            self.wire.send("ping", **{"position": self.counted_from, "digest": str(digest)} if whole else {})

    def pump(self, c):
        """Sends the outbox in order (§5.9), at most `window` messages ahead of the answers."""
        for message, future in c.outbox[:c.window] if self.user and not c.refused else ():
            if message["id"] not in c.unanswered:
                c.unanswered[message["id"]] = message, future
                given_up = c.first and c.first not in (m["id"] for m, _ in c.outbox)  # refused for good in the end
                self.wire.send("send", **message, **{"insteadOf": c.first} if given_up else {})
    def answered(self, c, frame):
        message, future = item = c.unanswered.pop(frame["id"])
        e = SkeinError(frame["error"]) if "error" in frame else None
        if e and e.action != "fix":  # one at a time after that: it is the rate that counts
            c.refused, c.window, c.resume_at = True, 1, max(c.resume_at, time.monotonic() + e.retry_after)
            c.first = frame.get("first")
        else:
            c.outbox.remove(item)
            c.window, c.first = min(64, 2 * c.window), None if not e else c.first
            if e:
                future.set_exception(e)
            else:
                future.set_result(frame["seq"])
                entry = {**message, **frame, "sender": self.user, "kind": "ENTRY_KIND_MESSAGE"}
                self.handle("push", {"entries": [entry]})
        if c.refused and not c.unanswered:  # again from the refused one on, when its time is over
            self.later(max(0, c.resume_at - time.monotonic()), self.resume, c)
        self.pump(c)
    def resume(self, c):
        c.refused = False
        self.pump(c)

    def new_sync(self, cursor=None):
        self.number += 1
        sync = {"number": self.number, "position": self.position, "timeline": self.timeline, "newest": self.newest,
                "cursor": cursor}
        self.sync = {field: value for field, value in sync.items() if value}
        return self.sync
    def ask_sync(self, cursor=None):
        self.wire.send("sync", **self.new_sync(cursor))
    def delta(self, delta):
        """The answer to a Sync: §7.1, §7.2; errors: §7.6."""
        e, cursor = SkeinError(delta["error"]) if "error" in delta else None, self.sync.get("cursor")
        if e and e.action == "fix" and not self.position and not cursor:
            raise e
        if delta.get("reset") or e and e.action == "fix":
            cursor = self.forget()
        if e:
            return self.later(e.retry_after + random.random(), self.ask_sync, cursor)
        for state in delta.get("conversations", ()):
            c, seq, first = self.conversation(state["conversation"]), state.get("seq", 0), state.get("fromSeq", 0)
            c.synced, c.head = seq, max(c.head, seq, state.get("untilSeq", 0))
            c.mark(True, 0, state.get("readSeq", 0))
            c.mark(False, state.get("peerReceived", 0), state.get("peerRead", 0))
            fresh = not self.position and not c.cursor
            if fresh:  # cold: what lies before is not this device's
                c.cursor = first - 1 if first else seq
            if first and (fresh or self.position):
                self.stretch(c, first, seq, state.get("entries", []), state.get("touched", []), state.get("last"))
        self.timeline, self.listed = delta["timeline"], self.listed or delta.get("position")
        if delta.get("next"):
            return self.ask_sync(delta["next"])
        self.position = self.counted_from = self.listed  # of a cold list's first page, of a resume's last
        self.synced, self.sync, self.listed, self.changed, held, self.held = True, None, None, set(), self.held, []
        for kind, frame in held:
            self.handle(kind, frame)
        for c in list(self.conversations.values()):
            self.drain(c)

    def push(self, c, entry):
        c.head = max(c.head, entry["seq"])
        if entry.get("target"):  # an amendment is pulled: the Range tells what it made of its target (§4.7)
            self.drain(c)
        else:
            self.stretch(c, entry["seq"], entry["seq"], [entry])
    def stretch(self, c, first, last, entries, touched=(), named=None):
        """What the entries first … last come to (§6.8); it waits behind a hole."""
        for e in (*entries, named):
            if e and e.get("pos", 0) > (self.newest or {}).get("pos", 0):  # §7.8
                self.newest = {k: e[k] for k in ("conversation", "seq", "id", "storedAtMs", "pos") if k in e}
        c.waiting.append((first, last, entries, touched))
        c.head = max(c.head, last)
        self.drain(c)
    def drain(self, c):
        c.waiting.sort(key=lambda stretch: stretch[:2])
        while c.waiting and c.waiting[0][0] <= c.cursor + 1:
            self.apply(c, *c.waiting.pop(0))
        if c.head > c.cursor and not c.pull and not self.sync:  # a hole: §6.1
            self.number += 1
            c.pull = self.number, c.cursor + 1
            self.wire.send("pull", number=self.number, conversation=c.name, limit=50, **{"from": c.cursor + 1})
    def apply(self, c, first, last, entries, touched):
        for entry in (*entries, *touched):
            seq, kept, event = entry["seq"], c.entries.get(entry["seq"]), entry.get("event", {})
            if seq > c.cursor or kept and entry.get("amended", 0) > kept.get("amended", 0):
                c.entries[seq] = entry
                self.on_entry(entry)
            if entry.get("kind") == "ENTRY_KIND_MESSAGE":  # sending is reading: §4.2
                c.mark(entry["sender"] == self.user, seq, seq)
            if event.get("type") == "EVENT_TYPE_MEMBER_ADDED" and self.user in event["users"] and seq > c.cursor > 0:
                self.sync or self.ask_sync()  # added again: §4.3
        if last > max(c.cursor, c.synced):
            self.changed.add(c.name)
            self.changed_since_ping.add(c.name)
        c.cursor = max(c.cursor, last)
    def range(self, c, answer):
        if not c.pull or c.pull[0] != answer.get("number"):
            return
        (_, first), e = c.pull, SkeinError(answer["error"]) if "error" in answer else None
        if e and e.action != "fix":
            return self.later(e.retry_after + random.random(), self.pull_again, c)
        c.pull = None
        if e or not answer.get("lastSeq"):  # nothing there is the user's to read
            c.waiting, c.head = [], c.cursor
        else:
            self.stretch(c, first, answer["lastSeq"], answer.get("entries", []), answer.get("touched", []),
                         answer.get("last"))
    def pull_again(self, c):
        c.pull = None
        self.drain(c)
