import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { test } from "node:test"
import { WebSocket } from "ws"
import { Client, SkeinError, type ClientOptions, type EventMap, type Message, type WebSocketConstructor } from "../src/index.js"

/** Starts bin/skein on a port of its own, and answers where it is. */
async function server(data: string): Promise<{ http: string; stop: () => Promise<void> }> {
  const binary = fileURLToPath(new URL("../../../../bin/skein", import.meta.url))
  assert.ok(existsSync(binary), "bin/skein is not there: make build")
  const p = spawn(binary, ["serve", "--data", data, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] })
  const gone = new Promise<void>((done) => p.once("exit", () => done()))
  let text = ""
  for await (const part of p.stdout) {
    text += String(part)
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0]
    if (url !== undefined) {
      p.stdout.resume()
      return { http: url, stop: () => (p.kill(), gone) }
    }
  }
  throw new Error(`the server ended: ${text}`)
}

async function post<T>(http: string, method: string, body: object): Promise<T> {
  const r = await fetch(`${http}/api/skein.v1.${method}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
  const json = (await r.json()) as T
  assert.equal(r.status, 200, JSON.stringify(json))
  return json
}

async function login(http: string, username: string): Promise<{ user: string; options: ClientOptions }> {
  const device = { id: `device-${username}`, class: "DEVICE_CLASS_WEB" as const }
  const { tokens } = await post<{ tokens: { user: string; accessToken: string } }>(http, "AccountService/Register", { username, password: "correct horse", device })
  const options = { url: `${http.replace("http", "ws")}/ws`, getToken: () => tokens.accessToken, device, WebSocket: WebSocket as unknown as WebSocketConstructor }
  return { user: tokens.user, options }
}

/** The next event of that name that fits. */
function next<K extends keyof EventMap>(c: Client, name: K, fits: (e: EventMap[K]) => boolean = () => true): Promise<EventMap[K]> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no ${name} in time`)), 10_000)
    const off = c.on(name, (e) => {
      if (!fits(e)) return
      clearTimeout(late)
      off()
      resolve(e)
    })
  })
}

test("two clients and a server: messages, marks, amendments, calls", { timeout: 60_000 }, async () => {
  const data = mkdtempSync(join(tmpdir(), "skein-ts-"))
  const s = await server(data)
  const clients: Client[] = []
  try {
    const [a, b] = await Promise.all([login(s.http, "ann"), login(s.http, "bob")])
    const ann = new Client(a.options)
    const bob = new Client(b.options)
    clients.push(ann, bob)
    await Promise.all([ann.connected(), bob.connected()])
    const { group } = await ann.call("skein.v1.GroupService/CreateGroup", { name: "Tea", members: [b.user] })
    const id = group?.conversation ?? ""
    const there = ann.conversation(id)
    if (bob.conversation(id).summary.getSnapshot() === undefined) await next(bob, "group", (e) => e.conversation === id)

    const seen: string[] = []
    const off = there.messages.subscribe(() => seen.push(there.messages.getSnapshot().map((m) => m.status).join()))
    const heard = next(bob, "message")
    const sent = await there.send("hello")
    assert.equal(sent.status, "sent")
    assert.ok(seen.some((x) => x.includes("pending")), "it is shown at once")
    off()
    const got = await heard
    assert.equal(got.text, "hello")
    assert.equal(got.sender, a.user)
    assert.equal(bob.conversation(id).summary.getSnapshot()?.unread, 1)
    await bob.conversation(id).markRead()
    assert.equal(bob.conversation(id).summary.getSnapshot()?.unread, 0)

    const edited = next(bob, "changed", (m) => m.edits === 1)
    await there.edit(sent.seq, "hello, Bob")
    assert.equal((await edited).text, "hello, Bob")
    const reacted = next(ann, "changed", (m: Message) => m.reactions.length === 1)
    await bob.conversation(id).react(sent.seq, "👍")
    assert.deepEqual((await reacted).reactions.map((r) => [r.reaction, r.mine]), [["👍", false]])
    const recalled = next(bob, "recalled")
    await there.recall(sent.seq)
    assert.equal((await recalled).seq, sent.seq)

    await assert.rejects(ann.conversation("grp:none").send("x"), (e) => e instanceof SkeinError && e.code === "not_found" && e.action === "fix")
    assert.equal(ann.outbox.getSnapshot()[0]?.status, "failed")
    await assert.rejects(ann.call("skein.v1.GroupService/GetGroup", { conversation: "grp:none" }), (e) => e instanceof SkeinError && e.code === "not_found")
  } finally {
    await Promise.all(clients.map((c) => c.close()))
    await s.stop()
    rmSync(data, { recursive: true, force: true })
  }
})
