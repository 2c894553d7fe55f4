// The shop of examples/embed, as its README starts it: a page of another origin, and a backend with the admin key.
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { until } from "./server.mjs"

const program = fileURLToPath(new URL("../../examples/embed/server.mjs", import.meta.url))

export class Shop {
  /** A shop of that server, whose questions this agent answers. */
  static async open(server, agent, port = 0) {
    const s = new Shop()
    const key = readFileSync(join(server.data, "keys", "admin.key"), "utf8").trim()
    s.process = spawn(process.execPath, [program], { env: { ...process.env, SKEIN: server.url, ADMIN_KEY: key, AGENT: agent, PORT: String(port) }, stdio: ["ignore", "pipe", "inherit"] })
    let said = ""
    s.process.stdout.on("data", (part) => (said += String(part)))
    s.url = await until("the shop says where it is", () => /http:\/\/\S+/.exec(said)?.[0])
    s.key = key
    return s
  }

  close() {
    this.process.kill("SIGTERM")
    return new Promise((done) => this.process.once("exit", done))
  }
}

/** A page of an origin of its own: what its host, hostile or not, writes around the widget. */
export async function host(html, headers = {}) {
  const listener = createServer((request, response) => {
    if (request.url !== "/") return response.writeHead(404).end()
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...headers }).end(typeof html === "function" ? html() : html)
  })
  await new Promise((done) => listener.listen(0, "127.0.0.1", done))
  return { url: `http://127.0.0.1:${listener.address().port}`, close: () => new Promise((done) => (listener.closeAllConnections(), listener.close(done))) }
}

/** What a visitor sees of the conversation. */
export const chat = (page) => page.locator("skein-conversation")
export const area = (page) => chat(page).getByLabel("Write a message")
export const said = (page, text) => chat(page).locator("article[data-seq]").filter({ hasText: text })

/** The widget is open: what is written goes out at once. */
export const opened = (page) => chat(page).locator(".below[data-state=open]").waitFor({ state: "attached" })
