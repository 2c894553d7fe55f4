// A server of a test's own: the real binary, on a scratch directory and a free port of loopback.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const binary = fileURLToPath(new URL("../../bin/skein", import.meta.url))

/** Runs the server until stop(). kill() ends it as a crash does; start() starts it again on the same data and port. */
export class Server {
  /**
   * @param settings KEY=VALUE, as `serve --set` takes them, or what gives them for the server's address
   * @param env what its environment has besides
   */
  static async open(settings = [], env = {}) {
    assert.ok(existsSync(binary), "bin/skein is not there: make build")
    const s = new Server()
    s.env = env
    s.data = mkdtempSync(join(tmpdir(), "skein-web-"))
    s.address = `127.0.0.1:${await freePort()}`
    s.url = `http://${s.address}`
    s.settings = typeof settings === "function" ? Object.entries(settings(s.url)).map((kv) => kv.join("=")) : settings
    await s.start()
    return s
  }

  async start() {
    const sets = this.settings.flatMap((kv) => ["--set", kv])
    const p = spawn(binary, ["serve", "--data", this.data, "--http", this.address, "--admin", "127.0.0.1:0", ...sets], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...this.env } })
    this.process = p
    this.ended = new Promise((done) => p.once("exit", done))
    let said = ""
    for (const stream of [p.stdout, p.stderr]) stream.on("data", (part) => (said += String(part)))
    const claim = () => /\S+\/claim\?code=\S+/.exec(said)?.[0]
    await until(`the server answers (${this.url})`, async () => {
      assert.equal(p.exitCode, null, `the server ended: ${said}`)
      return await fetch(`${this.url}/api/openapi.json`).then((r) => r.ok, () => false)
    }, 20_000)
    this.claimURL ??= claim()
  }

  /** kill -9. */
  async kill() {
    this.process.kill("SIGKILL")
    await this.ended
  }

  async stop() {
    this.process.kill("SIGTERM")
    const late = setTimeout(() => this.process.kill("SIGKILL"), 10_000)
    await this.ended
    clearTimeout(late)
    rmSync(this.data, { recursive: true, force: true })
  }

  /** One call of the API over HTTP, `AccountService/Register`, with a token or without. */
  async call(method, body, token) {
    const r = await fetch(`${this.url}/api/skein.v1.${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
    })
    const json = await r.json()
    assert.equal(r.status, 200, `${method}: ${JSON.stringify(json)}`)
    return json
  }

  /** Registers a user over HTTP: { user, token }. */
  async register(username, name = username) {
    const device = { id: `http-${username}`, class: "DEVICE_CLASS_OTHER" }
    const { tokens } = await this.call("AccountService/Register", { username, password, device })
    await this.call("UserService/UpdateProfile", { displayName: name }, tokens.accessToken)
    return { user: tokens.user, token: tokens.accessToken }
  }

  /** Logs a user in over HTTP beside what is open in a browser: { user, token }. */
  async login(username) {
    const device = { id: `http-${username}`, class: "DEVICE_CLASS_OTHER" }
    const { tokens } = await this.call("AccountService/Login", { username, password, device })
    return { user: tokens.user, token: tokens.accessToken }
  }

  /** All messages of a conversation as the server stores them, oldest first. */
  async stored(conversation, token) {
    const all = []
    for (let from = 1; ; ) {
      const { entries = [] } = await this.call("MessageService/ListEntries", { conversation, from: String(from), limit: 200 }, token)
      if (entries.length === 0) return all
      all.push(...entries)
      from = Number(entries.at(-1).seq) + 1
    }
  }
}

/** A way to the server that can be cut, as a tunnel does: browsers that came by it lose their connections. */
export class Link {
  static async open(server) {
    const l = new Link()
    const { hostname, port } = new URL(server.url)
    l.sockets = new Set()
    l.whole = true
    /** Bytes that came from the browsers. */
    l.sent = 0
    l.most = Infinity
    l.listener = createServer((near) => {
      if (!l.whole) return near.destroy()
      const far = connect(Number(port), hostname)
      near.on("data", (part) => {
        l.sent += part.length
        if (l.sent > l.most) l.cut()
      })
      for (const [from, to] of [[near, far], [far, near]]) {
        l.sockets.add(from)
        from.on("error", () => undefined)
        from.on("close", () => (l.sockets.delete(from), to.destroy()))
        from.pipe(to)
      }
    })
    await new Promise((done) => l.listener.listen(0, "127.0.0.1", done))
    l.url = `http://127.0.0.1:${l.listener.address().port}`
    return l
  }

  cut() {
    this.whole = false
    for (const s of this.sockets) s.destroy()
  }

  /** Cuts it once so many bytes more came from the browsers. */
  cutAfter(bytes) {
    this.most = this.sent + bytes
  }

  mend() {
    this.most = Infinity
    this.whole = true
  }

  close() {
    this.cut()
    return new Promise((done) => this.listener.close(done))
  }
}

/** The password of everybody in these tests. */
export const password = "correct horse battery"

/** How long anything that must come may take, in milliseconds: a busy machine once took ten seconds for a click. */
export const patience = 30_000

/** Resolves once f answers something true, which it resolves with; looks every 50 ms. */
export async function until(what, f, ms = patience) {
  const end = Date.now() + ms
  for (;;) {
    const v = await f()
    if (v) return v
    if (Date.now() > end) throw new Error(`not in ${ms} ms: ${what}`)
    await new Promise((r) => setTimeout(r, 50))
  }
}

/** A port that is free, of those that the system gives to nobody by itself: otherwise any connection of a browser may take it while the server is down. */
function freePort(tries = 100) {
  return new Promise((resolve, reject) => {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    const s = createServer()
    s.once("error", (e) => (tries > 1 ? freePort(tries - 1).then(resolve, reject) : reject(e)))
    s.listen(port, "127.0.0.1", () => s.close(() => resolve(port)))
  })
}
