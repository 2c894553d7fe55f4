"""A chat in the terminal, against `make run`:

    python3 chat.py ann 'a long password' bob [--register] [--url ws://127.0.0.1:8080/ws] [--codec json]
"""
import argparse, asyncio, sys
from skein import LOST, Client, SkeinError

async def main():
    parser = argparse.ArgumentParser()
    for name in ("username", "password", "peer"):
        parser.add_argument(name)
    parser.add_argument("--register", action="store_true", help="make a new account")
    parser.add_argument("--url", default="ws://127.0.0.1:8080/ws", help="or tcp://host:port")
    parser.add_argument("--codec", default="json", choices=("json", "pb"))
    args = parser.parse_args()

    def show(entry):
        if entry["conversation"].startswith("dm:") and entry.get("kind") == "ENTRY_KIND_MESSAGE":
            who = "me" if entry["sender"] == client.user else names.get(entry["sender"], entry["sender"])
            print(f"{who}: {entry.get('content', {}).get('text', '(recalled)')}", flush=True)

    names, client = {}, Client(args.url, args.codec, device=f"python-{args.username}", on_entry=show)
    client.login(args.username, args.password, args.register)
    running = asyncio.ensure_future(client.run())
    while not client.synced and not running.done():
        await asyncio.sleep(0.05)
    peer = None
    while not peer and not running.done():
        try:
            peer = (await client.call("UserService/FindUser", {"username": args.peer}))["user"]["id"]
            names[peer] = args.peer
            # Who asks somebody who has asked already becomes their contact: then both may write.
            await client.call("ContactService/RequestContact", {"user": peer})
        except SkeinError as e:
            print(f"{args.peer}: {e}; again in 3 seconds", flush=True)
            await asyncio.sleep(3)
        except LOST:
            await asyncio.sleep(1)  # run() connects again
    print(f"Type to {args.peer}; end with Ctrl-D.", flush=True)

    def told(sent):
        if not sent.cancelled() and sent.exception():
            print("not sent:", sent.exception(), flush=True)

    dm, loop = "dm:" + ":".join(sorted((client.user or "", peer or ""))), asyncio.get_running_loop()
    while not running.done():
        typed = asyncio.ensure_future(loop.run_in_executor(None, sys.stdin.readline))
        await asyncio.wait((typed, running), return_when=asyncio.FIRST_COMPLETED)
        if not typed.done() or not typed.result():
            break
        if typed.result().strip():
            client.send(dm, typed.result().strip()).add_done_callback(told)
    while client.outbox and not running.done():
        await asyncio.sleep(0.05)
    if running.done():
        await running  # raises why it ended

if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (SkeinError, KeyboardInterrupt) as e:
        sys.exit(f"chat: {e}")
