import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { WebSocket } from "ws"
import { IdSource } from "../src/ids.js"
import { Client, type ClientOptions, type EventMap, type Message, type WebSocketConstructor } from "../src/index.js"

/** Starts bin/skein on a port of its own, and answers where it is. */
async function server(data: string): Promise<{ http: string; stop: () => Promise<void> }> {
  const binary = fileURLToPath(new URL("../../../../bin/skein", import.meta.url))
  assert.ok(existsSync(binary), "bin/skein is not there: make build")
  const p = spawn(binary, ["serve", "--data", data, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] })
  const gone = new Promise<void>((done) => p.once("exit", () => done()))
  let text = ""
  // The stream stays open behind the loop: a server that writes to one that is closed is ended by that.
  for await (const part of p.stdout.iterator({ destroyOnReturn: false })) {
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

export async function login(http: string, username: string): Promise<{ user: string; options: ClientOptions }> {
  const device = { id: `device-${username}`, class: "DEVICE_CLASS_WEB" as const }
  const { tokens } = await post<{ tokens: { user: string; accessToken: string } }>(http, "AccountService/Register", { username, password: "correct horse", device })
  const options = { url: `${http.replace("http", "ws")}/ws`, getToken: () => tokens.accessToken, device, WebSocket: WebSocket as unknown as WebSocketConstructor }
  return { user: tokens.user, options }
}

export const ids = new IdSource(Date.now)

/** A server and clients for one test; they end with it. */
export async function withServer(f: (s: { http: string }, client: (o: ClientOptions) => Client) => Promise<void>): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), "skein-ts-"))
  const s = await server(data)
  const clients: Client[] = []
  try {
    await f(s, (o) => {
      const c = new Client(o)
      clients.push(c)
      return c
    })
  } finally {
    await Promise.all(clients.map((c) => c.close()))
    await s.stop()
    rmSync(data, { recursive: true, force: true })
  }
}

/** Resolves once what is shown of the conversation fits. */
export function shown(c: Client, id: string, fits: (ms: readonly Message[]) => boolean): Promise<void> {
  const { messages } = c.conversation(id)
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`it is not shown in time, but ${JSON.stringify(messages.getSnapshot().slice(-5))}`)), 20_000)
    const look = (): void => {
      if (!fits(messages.getSnapshot())) return
      clearTimeout(late)
      off()
      resolve()
    }
    const off = messages.subscribe(look)
    look()
  })
}

/** The next event of that name that fits. */
export function next<K extends keyof EventMap>(c: Client, name: K, fits: (e: EventMap[K]) => boolean = () => true): Promise<EventMap[K]> {
  return new Promise((resolve, reject) => {
    const others: EventMap[K][] = []
    const late = setTimeout(() => reject(new Error(`no ${name} in time, but ${JSON.stringify(others.slice(-5))}`)), 20_000)
    const off = c.on(name, (e) => {
      if (!fits(e)) return void others.push(e)
      clearTimeout(late)
      off()
      resolve(e)
    })
  })
}
