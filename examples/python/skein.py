"""A Skein client, written from proto/SPEC.md alone; § numbers are its sections.

What comes is kept in memory; a client that outlives its process has it, and the outbox, in a store (§7.5).
"""
import asyncio, base64, random, time
from wire import LOST, Message, SkeinError, Wire, mix

class Conversation:
    def __init__(self, name):
        self.name, self.outbox, self.jobs = name, [], {}  # (Send, future), in order, until answered; tasks by name
        self.forget()

    def forget(self):  # after a reset: §7.3
        self.entries, self.cursor, self.head, self.synced = {}, 0, 0, 0
        self.marks, self.told = {}, {}  # (received, read) by user; what the server was told

    def mark(self, user, received, read):  # never goes back: §6.3
        old = self.marks.get(user, (0, 0))
        self.marks[user] = max(old[0], received, read), max(old[1], read)

class Client:
    """run() stays connected. on_entry(entry) is called for each entry, in order, and again when it was amended."""

    def __init__(self, url, codec="json", device="python", on_entry=lambda entry: None):
        self.url, self.codec, self.on_entry = url, codec, on_entry
        self.device = {"id": device, "class": "DEVICE_CLASS_DESKTOP", "name": "Python example"}
        self.conversations, self.answers = {}, {}  # answers: futures, by number of the request or id of the message
        self.wire = self.user = self.auth = self.sync = None  # sync: the task, from the Welcome to the answer
        self.tokens, self.synced, self.number, self.skew, self.last_id = Message(), False, 0, 0, 0
        self.forget()

    def forget(self):
        self.position = self.timeline = None
        self.newest, self.changed, self.changed_since_ping = Message(), set(), set()
        for c in self.conversations.values():
            c.forget()

    def conversation(self, name):
        return self.conversations.setdefault(name, Conversation(name))

    def login(self, username, password, register=False):  # a Call before the Hello: §3.1
        self.auth = ("AccountService/Register" if register else "AccountService/Login",
                     {"username": username, "password": password, "device": self.device, "stayLoggedIn": True})

    def send(self, conversation, text):
        """Into the outbox; the future has its seq, or the SkeinError with which it was refused for good."""
        self.last_id = max(self.last_id + 1, (time.time_ns() // 10**6 + self.skew) << 12)  # UUIDv7: §2
        uuid = self.last_id >> 12 << 80 | 7 << 76 | self.last_id % 4096 << 64 | 2 << 62 | random.getrandbits(62)
        message = {"conversation": conversation, "id": base64.b64encode(uuid.to_bytes(16, "big")).decode(),
                   "content": {"type": "text", "text": text}}
        future, c = asyncio.get_running_loop().create_future(), self.conversation(conversation)
        c.outbox.append((message, future))
        self.start(self.pump, c)
        return future

    def read(self, conversation):
        self.conversation(conversation).mark(self.user, 0, self.conversation(conversation).cursor)

    async def call(self, method, request):  # ConnectionError: carried out or not (§8)
        if not self.user:
            raise ConnectionError("not connected")
        return (await self.ask("call", method=method, json=request))["json"]

    async def run(self):
        """Connects again after each cut (§9.3); raises the SkeinError after which somebody has to act."""
        attempt = 0
        while True:
            errors = []
            try:
                await self.connection()
            except* LOST:
                pass
            except* SkeinError as group:
                errors = group.exceptions
            for e in errors:
                if e.action == "login" and self.tokens["refreshToken"] and not self.auth:
                    self.auth = "AccountService/Refresh", {"refreshToken": self.tokens["refreshToken"]}
                elif e.action not in ("retry", "reconnect"):
                    raise e
            attempt = 0 if self.synced else attempt + 1
            wait = max([random.uniform(0, min(20, 0.5 * 2**attempt)), *(e.retry_after for e in errors)])
            await asyncio.sleep(self.go_away or wait)

    async def connection(self):
        self.wire, self.synced, self.ending, self.go_away, self.dead = Wire(self.codec), False, False, 0, 60
        try:
            await asyncio.wait_for(self.wire.open(self.url), 10)
            async with asyncio.TaskGroup() as self.tasks:  # they end with the connection, and it with what they raise
                for job in self.wire.write, self.receive, self.hello, self.tick:
                    self.spawn(job)
        finally:
            self.wire.cut()
            self.wire = self.user = self.sync = None
            for future in self.answers.values():
                future.done() or future.set_exception(ConnectionError("the connection ended"))
            self.answers.clear()

    def spawn(self, job, *args):
        async def run():
            try:
                await job(*args)
            except Exception:
                self.ending = True  # the group takes no further tasks
                raise
        return self.tasks.create_task(run())

    async def receive(self):
        while True:
            self.heard_at = time.monotonic()
            self.handle(*await asyncio.wait_for(self.wire.receive(), self.dead))

    async def hello(self):
        if self.auth:
            answer = await self.ask("call", method=self.auth[0], json=self.auth[1])
            self.tokens, self.auth = answer["json"]["tokens"], None
        self.wire.send("hello", versionMin=1, versionMax=1, token=self.tokens["accessToken"], device=self.device,
                       client="skein-python-example")

    async def tick(self):
        while True:
            await asyncio.sleep(0.2)
            for c in list(self.conversations.values()) if self.user and not self.sync else ():
                read = c.marks.get(self.user, (0, 0))[1]
                for kind, seq in ("received", c.cursor), ("read", min(read, c.cursor)):  # §6.2
                    if seq > c.told.get(kind, 0):
                        c.told[kind] = seq
                        self.wire.send(kind, conversation=c.name, seq=seq)
            if self.user and time.monotonic() - min(self.wire.sent_at, self.heard_at) > self.idle:
                self.ping()

    def handle(self, kind, frame):
        match kind:
            case "welcome":
                self.user, self.skew = frame["user"], frame["serverTimeMs"] - time.time_ns() // 10**6
                self.idle, self.dead = frame["heartbeat"]["idleMs"] / 1000, frame["heartbeat"]["deadMs"] / 1000
                self.resync()
                for c in self.conversations.values():
                    c.told = {}  # §6.3
                    self.start(self.pump, c)
            case "push":
                for entry in frame["entries"]:  # an amendment is pulled: a Range tells its outcome (§4.7)
                    self.push(entry, later=entry["target"])
            case "heads":
                for head in frame["heads"]:
                    self.push(head, later=True)
            case "sendAck":  # counts as a Push: §5.5
                outbox = self.conversation(frame["conversation"]).outbox
                message = next(message for message, _ in outbox if message["id"] == frame["id"])
                self.push(Message({**message, **frame, "sender": self.user, "kind": "ENTRY_KIND_MESSAGE"}))
            case "receipt":
                self.conversation(frame["conversation"]).mark(frame["user"], frame["received"], frame["read"])
            case "ping":
                self.wire.send("pong")
            case "resync" | "pong" if kind == "resync" or frame["resync"]:
                self.resync()
            case "pong" if frame["position"] and not self.sync:
                self.position = frame["position"]
                self.changed = self.changed_since_ping
            case "goAway":  # everything goes on until the server closes: §3.8
                self.go_away = random.uniform(0, frame["retryAfterMs"] / 1000)
            case "kick":
                raise SkeinError(frame["error"])
            case "error":
                e = SkeinError(frame)
                if not self.user or e.action not in ("retry", "fix"):
                    raise e
                if e.action == "retry" and frame["frame"] in ("received", "read"):
                    told = self.conversation(frame["conversation"]).told
                    asyncio.get_running_loop().call_later(e.retry_after, told.clear)
        answer = self.answers.pop(frame.get("id") or frame.get("number"), None)
        if answer and not answer.done():
            answer.set_result(frame)
        if kind in ("welcome", "renewed") and self.tokens["refreshToken"]:
            self.spawn(self.renew, (frame["tokenExpiresAtMs"] - self.skew) / 1000 - time.time())

    async def renew(self, seconds):  # another token in good time: §3.9
        await asyncio.sleep(0.8 * seconds)
        answer = await self.call("AccountService/Refresh", {"refreshToken": self.tokens["refreshToken"]})
        self.tokens = answer["tokens"]
        self.wire.send("renew", token=self.tokens["accessToken"])

    def ping(self):  # §9.1, with a digest (§7.4) where nothing is missing
        digest = sum(mix(f"{name}:{self.conversations[name].cursor}") for name in self.changed) % 2**64
        whole = not self.sync and all(c.head <= c.cursor for c in self.conversations.values())
        self.wire.send("ping", **({"position": self.position, "digest": digest} if whole else {}))
        self.changed_since_ping, self.heard_at = set(), time.monotonic()  # the next one not before idle is over

    def expect(self, key):
        self.answers[key] = asyncio.get_running_loop().create_future()
        return self.answers[key]

    async def ask(self, kind, **request):
        """The answer of a Sync, Pull or Call. What is refused for now is asked again, later."""
        while True:
            self.number += 1
            self.wire.send(kind, number=self.number, **request)
            answer = await asyncio.wait_for(self.expect(self.number), 60)
            if "error" not in answer:
                return answer
            e = SkeinError(answer["error"])
            if e.action != "retry":
                raise e
            await asyncio.sleep(e.retry_after + random.random())

    def start(self, job, c):  # pump or pull: one of each for a conversation, and none without a connection
        if self.user and not self.ending and (job.__name__ not in c.jobs or c.jobs[job.__name__].done()):
            c.jobs[job.__name__] = self.spawn(job, c)

    async def pump(self, c):
        """Sends the outbox in order, some messages at a time; those refused for now come again (§5.9)."""
        window = 64
        while c.outbox:
            batch, wait = c.outbox[:window], 0
            answers = [self.expect(message["id"]) for message, _ in batch]
            for message, _ in batch:
                self.wire.send("send", **message)
            for item, answer in zip(batch, await asyncio.gather(*answers)):
                e = SkeinError(answer["error"]) if "error" in answer else None
                if e and e.action != "fix":
                    wait, window = max(wait, e.retry_after), 1  # one at a time after that: it is the rate that counts
                    continue
                c.outbox.remove(item)
                item[1].set_exception(e) if e else item[1].set_result(answer["seq"])
            await asyncio.sleep(wait)
            window = min(64, 2 * window)

    def resync(self):
        if self.sync:
            self.sync.cancel()
        self.sync = self.spawn(self.synchronize)

    async def synchronize(self):
        """What changed since the position, page by page: §7.1, §7.2."""
        cursor = listed = reset = None
        while cursor != "":
            try:
                delta = await self.ask("sync", position=self.position, timeline=self.timeline, cursor=cursor,
                                       newest=self.newest or None)
            except SkeinError as e:
                if e.action != "fix" or not (cursor or self.position):
                    raise
                cursor = self.forget()  # from the beginning: §7.6
                continue
            if delta["reset"]:
                self.forget()
                reset = True
            for state in delta["conversations"]:
                self.state(self.conversation(state["conversation"]), state)
            self.timeline, listed, cursor = delta["timeline"], listed or delta["position"], delta["next"]
        self.position = listed  # of a cold list's first page, of a resume's last
        self.synced, self.sync, self.changed = True, None, set()
        if reset:  # what was pushed before that is not known any more: §7.8
            self.resync()
        for c in self.conversations.values():
            self.start(self.pull, c)

    def state(self, c, state):
        first, seq, peer = state["fromSeq"], state["seq"], "".join(set(c.name.split(":")[1:]) - {self.user})
        c.synced, c.head = seq, max(c.head, seq, state["untilSeq"])
        c.mark(self.user, 0, state["readSeq"])
        c.mark(peer, state["peerReceived"], state["peerRead"])
        fresh = not self.position and not c.cursor
        if fresh:  # cold: what lies before is not this device's
            c.cursor = first - 1 if first else seq
        if first and (fresh or self.position):  # else what the stretch touched was not told (§7.2): it is pulled
            self.stretch(c, first, seq, state)

    def push(self, entry, later=False):
        c, seq = self.conversation(entry["conversation"]), entry["seq"]
        self.stretch(c, seq, seq, Message(entries=[entry]), later or self.sync)

    def stretch(self, c, first, last, told, later=False):
        """Applies the entries first … last (§6.8); behind a hole (§6.1), or before a Sync's answer, they are pulled."""
        for e in (*told["entries"], told["last"]):
            if e["pos"] > self.newest["pos"]:
                self.newest = Message((k, e[k]) for k in ("conversation", "seq", "id", "storedAtMs", "pos"))  # §7.8
        c.head = max(c.head, last)
        if later or first > c.cursor + 1:
            return self.start(self.pull, c)
        for entry in told["entries"] + told["touched"]:
            seq, kept, event = entry["seq"], c.entries.get(entry["seq"]), entry["event"]
            if seq > c.cursor or kept and entry["amended"] > kept["amended"]:
                c.entries[seq] = entry
                self.on_entry(entry)
            if entry["kind"] == "ENTRY_KIND_MESSAGE":  # sending is reading: §4.2
                c.mark(entry["sender"], seq, seq)
            if event["type"] == "EVENT_TYPE_MEMBER_ADDED" and self.user in event["users"] and seq > c.cursor > 0:
                self.sync or self.resync()  # added again: §4.3
        if last > max(c.cursor, c.synced):
            self.changed.add(c.name)
            self.changed_since_ping.add(c.name)
        c.cursor = max(c.cursor, last)

    async def pull(self, c):
        while c.head > c.cursor and not self.sync:
            first = c.cursor + 1
            try:
                told = await self.ask("pull", conversation=c.name, limit=50, **{"from": first})
            except SkeinError:
                told = Message()
            if told["lastSeq"] and not self.sync:  # else it may be of a history that is gone
                self.stretch(c, first, told["lastSeq"], told)
            elif not self.sync:  # nothing there is the user's to read
                c.head = c.cursor
