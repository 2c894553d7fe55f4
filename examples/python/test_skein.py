"""Two users over every transport and codec, cut off again and again: at the end both have the same, each once.

    python3 test_skein.py ws://127.0.0.1:8080/ws tcp://127.0.0.1:7000

The server must have short-lived tokens and a small send rate, as python_test.go gives it.
"""
import asyncio, random, sys
from skein import Client, SkeinError

MESSAGES = 60  # of each user: more than the server takes at once
DEADLINE = 400  # seconds for everything

class Counting(Client):
    """Counts what came and, on purpose, loses some of the pushes."""
    lose = lose_next = synced_once = False

    def __init__(self, *args, **kwargs):
        self.log, self.counts, self.peer_read = [], {}, {}  # by conversation: the other's read mark
        super().__init__(*args, on_entry=self.log.append, **kwargs)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def mark(self, conversation, read):
        self.peer_read[conversation] = max(read, self.peer_read.get(conversation, 0))

    def handle(self, kind, frame):
        self.count(kind)
        if kind == "syncDelta" and self.synced_once and not self.position:
            self.count("cold")
        if kind in ("sendError", "kick", "error"):
            self.count((frame["error"] if kind != "error" else frame).code)
        if kind == "receipt" and frame["user"] != self.user:
            self.mark(frame["conversation"], frame["read"])
        for state in frame["conversations"] if kind == "syncDelta" else ():
            self.mark(state["conversation"], state["peerRead"])
        if kind == "push" and self.lose and self.counts["push"] % 4 == 0:
            return self.count("lost")
        if kind == "push" and self.lose_next:
            self.lose_next = False
            return self.count("lost")
        super().handle(kind, frame)
        self.synced_once = self.synced_once or self.synced

async def until(what, condition):
    for _ in range(20 * 30):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("still not after 30 s: " + what)

async def cuts(client, times):
    for _ in range(times):
        await asyncio.sleep(random.uniform(0.05, 0.6))
        if client.wire:
            client.count("cuts")
            client.wire.cut()

def check(me, peer, conversation, sent):
    """`sent`: what each sent, in order, with the seqs they were acknowledged with."""
    texts = {me.user: [], peer.user: []}
    log = [e for e in me.log if e["conversation"] == conversation]
    assert [e["seq"] for e in log] == list(range(1, len(log) + 1)), f"seqs {[e['seq'] for e in log]}"
    for entry in log:
        texts[entry["sender"]].append((entry["seq"], entry["content"]["text"]))
    for client in (me, peer):
        assert texts[client.user] == sent[client.user], f"{client.user}: {texts[client.user]} != {sent[client.user]}"

async def scenario(number, mine, theirs):
    """One user on the transport and codec `mine`, another on `theirs`."""
    clients, running = [], []
    for name, (url, codec) in (("ann", mine), ("bob", theirs)):
        client = Counting(url, codec, device=f"{name}-{number}")
        client.login(f"{name}{number}", "a long password", register=True)
        clients.append(client)
        running.append(asyncio.ensure_future(client.run()))
    ann, bob = clients
    try:
        await until("both are connected", lambda: ann.synced and bob.synced)
        dm = "dm:" + ":".join(sorted((ann.user, bob.user), key=str.encode))
        users = {ann: ann.user, bob: bob.user}
        futures = {client: [] for client in clients}

        async def talk(client, first, times):
            for n in range(first, first + times):
                futures[client].append((n, client.send(dm, f"{users[client]} {n} ✓")))
                if n % 10 == 0:
                    await asyncio.sleep(random.uniform(0, 0.2))

        # A quiet beginning: what is not cut off comes as pushes, refusals are answered in order.
        await asyncio.gather(talk(ann, 0, MESSAGES), talk(bob, 0, MESSAGES))
        await until("all is answered", lambda: all(f.done() for c in clients for _, f in futures[c]))
        for client in clients:
            assert client.counts.get("rate_limited"), f"nothing was refused: {client.counts}"
        # Refused for now at first and for good when it comes again: what comes behind it goes on.
        before = ann.counts["sendError"]
        await asyncio.gather(talk(ann, 70, 40))
        long = ann.send(dm, "x" * 70000)
        futures[ann].append((110, ann.send(dm, f"{users[ann]} 110 ✓")))
        await until("all is answered", lambda: all(f.done() for _, f in futures[ann]))
        assert any(c.counts.get("out_of_order") for c in clients), f"nothing was out of order: {ann.counts} {bob.counts}"
        assert isinstance(long.exception(), SkeinError) and long.exception().code == "too_large", long
        assert ann.counts["sendError"] - before < 300, f"sends in circles: {ann.counts}"
        # Cut off and robbed of pushes, with messages under way.
        ann.lose = bob.lose = True
        await asyncio.gather(talk(ann, 200, MESSAGES), talk(bob, 200, MESSAGES), cuts(ann, 5), cuts(bob, 5))
        await until("all is answered", lambda: all(f.done() for c in clients for _, f in futures[c]))
        ann.lose = bob.lose = False
        # An access token that is no good any more, on a new connection.
        await until("ann is connected", lambda: ann.user)
        ann.tokens["accessToken"], refused = "ska_of-yesterday", ann.counts.get("token_invalid", 0)
        ann.wire.cut()
        await until("ann is refused", lambda: ann.counts.get("token_invalid", 0) > refused)
        # One whose time is over ends a connection; the next one has another token.
        for client in clients:
            token = client.tokens["accessToken"]
            await until("its time is over", lambda: client.counts.get("token_expired"))
            await until("it has another token", lambda: client.tokens["accessToken"] != token)
        await until("both are connected", lambda: ann.synced and bob.synced)
        # A hole: a push is lost for certain, and the next one shows it, unless the connection ends just then.
        for client, other in ((ann, bob), (bob, ann)):
            pulled = client.counts.get("range", 0)
            for n in range(300, 306, 2):
                client.lose_next = True
                for text in (f"{users[other]} {n} ✓", f"{users[other]} {n + 1} ✓"):
                    seq = other.send(dm, text)
                    futures[other].append((int(text.split()[1]), seq))
                    await until("it is answered", seq.done)
                await until("it is there", lambda: client.conversations[dm].cursor >= seq.result())
                if client.counts.get("range", 0) > pulled:
                    break
            else:
                raise AssertionError(f"no hole was pulled: {client.counts}")
        # The end: who hears nothing asks what was lost last, and what one read the other is told.
        total = sum(len(f) for f in futures.values())
        for client in clients:
            client.idle = 0.5
        await until("both have everything", lambda: all(c.conversations[dm].cursor == total for c in clients))
        bob.read(dm, total)  # Ann's message is the last one: she has read all (§4.2)
        await until("Bob's mark", lambda: ann.peer_read.get(dm) == total)
        sent = {users[c]: [(f.result(), f"{users[c]} {n} ✓") for n, f in futures[c]] for c in clients}
        check(ann, bob, dm, sent)
        check(bob, ann, dm, sent)
        for client in clients:
            assert client.counts.get("range"), f"no hole was pulled: {client.counts}"
            assert not client.counts.get("cold"), f"it began anew instead of resuming: {client.counts}"
        return {name: {**client.counts} for name, client in (("ann", ann), ("bob", bob))}
    finally:
        for task in running:
            task.cancel()
        for result in await asyncio.gather(*running, return_exceptions=True):
            if not isinstance(result, asyncio.CancelledError):
                print("run() ended:", repr(result), file=sys.stderr)

async def main(websocket, tcp):
    ways = [(websocket, "json"), (tcp, "pb"), (websocket, "pb"), (tcp, "json")]
    jobs = [scenario(n, ways[n], ways[(n + 1) % 4]) for n in range(4)]
    for (_, codec), counts in zip(ways, await asyncio.wait_for(asyncio.gather(*jobs), DEADLINE)):
        print(counts)
    print("ok")

asyncio.run(main(*sys.argv[1:]))
