"""A Skein client, written from proto/SPEC.md alone; § numbers are its sections.

What comes is kept in memory; a client that outlives its process has it in a store (§7.5), and
the outbox as well.
"""
import asyncio, base64, contextlib, random, time
from collections import Counter, defaultdict
from wire import LOST, Message, SkeinError, Wire

class Conversation:
    def __init__(self):
        self.entries, self.cursor, self.head, self.read = {}, 0, 0, 0

class Lane:
    """The Sends of a conversation on one connection: the ids of those that are under way, how
    many there may be, and until when they are refused (§5.9)."""
    def __init__(self):
        self.sent, self.window, self.wait = set(), 64, 0

class Client:
    """run() stays connected. on_entry(entry): each entry, in order; again when it was amended."""

    def __init__(self, url, codec="json", device="python", on_entry=lambda entry: None):
        self.url, self.codec, self.on_entry = url, codec, on_entry
        self.device = {"id": device, "class": "DEVICE_CLASS_DESKTOP", "name": "Python example"}
        self.outbox = {}  # (Send, future) by id, in order, until it is answered
        self.auth, self.tokens = None, Message("Tokens")  # the Call that gets tokens; what it got
        self.wire = self.user = self.synced = None  # user: from the Welcome on
        self.attempt = self.number = self.skew = self.last_ms = 0
        self.forget()

    def forget(self):  # at first, and after a reset: §7.3
        self.conversations, self.told = defaultdict(Conversation), Counter()
        self.position, self.timeline, self.newest = None, None, Message("Newest")

    def login(self, username, password, register=False):  # carried out before the Hello: §3.1
        self.auth = "Register" if register else "Login", {
            "username": username, "password": password, "device": self.device, "stayLoggedIn": True}

    def send(self, conversation, text):
        """Into the outbox; the future has its seq, or the SkeinError that refused it for good."""
        self.last_ms = max(self.last_ms + 1, time.time_ns() // 10**6 + self.skew)
        uuid = self.last_ms << 80 | 7 << 76 | 2 << 62 | random.getrandbits(62)  # version 7: §2
        name = base64.b64encode(uuid.to_bytes(16, "big")).decode()
        message = {"conversation": conversation, "id": name,
                   "content": {"type": "text", "text": text}}
        future = asyncio.get_running_loop().create_future()
        self.outbox[name] = message, future
        self.pump()
        return future

    def read(self, conversation, seq):
        self.conversations[conversation].read = seq

    async def call(self, method, request):  # ConnectionError: carried out or not (§8)
        if not self.user:
            raise ConnectionError("not connected")
        return (await self.ask("call", method="skein.v1." + method, json=request))["json"]

    async def run(self):
        """Connects again after each cut (§9.3); raises what somebody has to do something about."""
        while True:
            error = None
            try:
                await self.connection()
            except* LOST:
                pass
            except* SkeinError as group:
                error = group.exceptions[0]
            if error and error.action == "login" and self.tokens["refreshToken"] and not self.auth:
                self.auth = "Refresh", {"refreshToken": self.tokens["refreshToken"]}
            elif error and error.action not in ("retry", "reconnect"):
                raise error
            jitter = random.uniform(0, min(20, 0.5 * 2**self.attempt))
            self.attempt += 1
            await asyncio.sleep(self.go_away or max(jitter, error.retry_after if error else 0))

    async def connection(self):
        self.wire, self.answers, self.lanes = Wire(self.codec), {}, defaultdict(Lane)
        self.told, self.dead, self.go_away = Counter(), 60, 0
        try:
            await asyncio.wait_for(self.wire.open(self.url), 10)
            async with asyncio.TaskGroup() as tasks:  # what one of them raises ends all
                for job in self.wire.write, self.receive, self.work:
                    tasks.create_task(job())
        finally:
            self.wire.cut()
            self.wire = self.user = self.synced = None
            for future in self.answers.values():
                settle(future, None, ConnectionError("the connection ended"))

    async def receive(self):
        while True:
            self.heard_at = time.monotonic()
            self.handle(*await asyncio.wait_for(self.wire.receive(), self.dead))

    async def work(self):  # what has to be asked for, one after the other
        if self.auth:
            method, request = "skein.v1.AccountService/" + self.auth[0], self.auth[1]
            answer = await self.ask("call", method=method, json=request)
            self.tokens, self.auth = answer["json"]["tokens"], None
        self.wire.send("hello", versionMin=1, versionMax=1, token=self.tokens["accessToken"],
                       device=self.device, client="skein-python-example")
        while True:
            await asyncio.sleep(0.05)
            if self.user and not self.synced:
                await self.synchronize()
            for name, c in list(self.conversations.items()):
                while self.synced and c.head > c.cursor:
                    await self.pull(name, c)
                for kind, seq in ("received", c.cursor), ("read", min(c.read, c.cursor)):  # §6.2
                    if self.synced and seq > self.told[name, kind]:
                        self.told[name, kind] = seq
                        self.wire.send(kind, conversation=name, seq=seq)
            self.pump()
            if self.user and time.monotonic() - min(self.wire.sent_at, self.heard_at) > self.idle:
                self.synced = False  # a Sync tells what a Ping's digest (§7.4) tells cheaper

    async def ask(self, kind, **request):
        """The answer of a Sync, Pull or Call. What is refused for now is asked again, later."""
        while True:
            self.number += 1
            answer = self.answers[self.number] = asyncio.get_running_loop().create_future()
            self.wire.send(kind, number=self.number, **request)
            try:
                return await asyncio.wait_for(answer, 60)
            except SkeinError as e:
                if e.action != "retry":
                    raise
                await asyncio.sleep(e.retry_after + random.random())

    def handle(self, kind, frame):
        match kind:
            case "welcome":
                self.user, heartbeat = frame["user"], frame["heartbeat"]
                self.idle, self.dead = heartbeat["idleMs"] / 1000, heartbeat["deadMs"] / 1000
                self.skew = frame["serverTimeMs"] - time.time_ns() // 10**6
                self.pump()
            case "push" | "heads":
                for entry in frame["entries" if kind == "push" else "heads"]:
                    # An amendment is pulled: a Range tells its outcome (§4.7).
                    self.push(entry, later=kind == "heads" or entry["target"])
            case "sendAck" | "sendError":
                self.answered(frame, frame.get("error"))
            case "result" | "range" | "syncDelta":
                settle(self.answers.pop(frame["number"]), frame, frame["error"])
            case "ping":
                self.wire.send("pong")
            case "resync":
                self.synced = False
            case "goAway":  # everything goes on until the server closes: §3.8
                self.go_away = random.uniform(0, frame["retryAfterMs"] / 1000)
            case "kick":
                raise frame["error"]
            case "error":
                if not self.user or frame.action not in ("retry", "fix"):
                    raise frame
                if frame.action == "retry":  # if it is a mark that was refused, it is said again
                    later = asyncio.get_running_loop().call_later
                    later(frame.retry_after, self.told.pop, frame.about, None)

    def pump(self):
        """Sends from the outbox, in order. What was refused waits until all that was under way
        with it is answered: there is one in the window then."""
        for name, (message, _) in self.outbox.items() if self.user else ():
            lane = self.lanes[message["conversation"]]
            free = len(lane.sent) < lane.window and time.monotonic() >= lane.wait
            if free and name not in lane.sent:
                lane.sent.add(name)
                self.wire.send("send", **message)

    def answered(self, frame, error):
        message, future = self.outbox[frame["id"]]
        lane = self.lanes[message["conversation"]]
        lane.sent.remove(frame["id"])
        if error and error.action != "fix":
            lane.wait, lane.window = max(lane.wait, time.monotonic() + error.retry_after), 1
            return
        del self.outbox[frame["id"]]
        lane.window = min(64, lane.window + 1)
        settle(future, frame.get("seq"), error)
        if not error:  # counts as a Push: §5.5
            mine = {"sender": self.user, "kind": "ENTRY_KIND_MESSAGE"}
            self.push(Message("Entry", {**message, **frame, **mine}))
        self.pump()

    async def synchronize(self):
        """What changed since the position, page by page (§7.1, §7.2); then it is pulled."""
        cursor = listed = None
        self.synced = None  # False by the end: there is reason to ask once more
        while cursor != "":
            delta = await self.ask("sync", position=self.position, timeline=self.timeline,
                                   cursor=cursor, newest=self.newest or None)
            if delta["reset"]:  # what was pushed before is not known any more: §7.8
                self.forget()
                self.synced = False
            for state in delta["conversations"]:
                c = self.conversations[state["conversation"]]
                c.head = max(c.head, state["seq"], state["untilSeq"])
                if not self.position and not c.cursor:  # what lies before is not this device's
                    c.cursor = (state["fromSeq"] or state["seq"] + 1) - 1
            self.timeline, cursor = delta["timeline"], delta["next"]
            listed = listed or delta["position"]  # in a cold list's first page, or the last one
        self.position, self.attempt, self.synced = listed, 0, self.synced is None

    def push(self, entry, later=False):
        name, seq = entry["conversation"], entry["seq"]
        self.stretch(name, seq, seq, Message("Range", {"entries": [entry]}), later)

    def stretch(self, name, first, last, told, later=False):
        """Applies the entries first … last (§6.8). What comes behind a hole (§6.1), or before a
        Sync's answer, is pulled."""
        newest = max(self.newest, *told["entries"], told["last"], key=lambda e: e["pos"])  # §7.8
        self.newest = Message("Newest", newest)
        c = self.conversations[name]
        c.head = max(c.head, last)
        if later or not self.synced or first > c.cursor + 1:
            return
        for entry in told["entries"] + told["touched"]:
            seq, kept = entry["seq"], c.entries.get(entry["seq"])
            if seq > c.cursor or kept and entry["amended"] > kept["amended"]:
                c.entries[seq] = entry
                self.on_entry(entry)
        c.cursor = max(c.cursor, last)

    async def pull(self, name, c):
        first, told = c.cursor + 1, Message("Range")
        with contextlib.suppress(SkeinError):
            told = await self.ask("pull", conversation=name, limit=50, **{"from": first})
        if self.synced and told["lastSeq"]:  # else it may be of a history that is gone
            self.stretch(name, first, told["lastSeq"], told)
        elif self.synced:  # nothing there is the user's to read
            c.head = c.cursor

def settle(future, result, error=None):
    if not future.done():
        future.set_exception(error) if error else future.set_result(result)
