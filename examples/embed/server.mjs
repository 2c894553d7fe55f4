// A shop with a chat on its page: SKEIN=https://chat.example ADMIN_KEY=skk_… AGENT=<user id> node server.mjs
// The page of a visitor gets a token for that visitor, and for nothing else. The admin key never leaves this program.
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"

const { SKEIN = "http://127.0.0.1:8080", ADMIN_KEY = "", AGENT = "", PORT = "3000" } = process.env
const file = (name) => readFileSync(new URL(`shop/${name}`, import.meta.url), "utf8")
const policy = `default-src 'self'; script-src 'self' ${SKEIN}; connect-src 'self' ${SKEIN} ${SKEIN.replace("http", "ws")}; img-src 'self' blob:`

async function admin(method, request) {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" }
  const r = await fetch(`${SKEIN}/api/skein.v1.AdminService/${method}`, { method: "POST", headers, body: JSON.stringify(request) })
  const answer = await r.json()
  if (!r.ok && answer.code !== "already_exists") throw new Error(`${method}: ${JSON.stringify(answer)}`)
  return answer
}

/** Whose page it is. A shop knows its customers by their login; this one gives each browser a number of its own. */
const visitorOf = (request) => /(?:^|; )visitor=([0-9a-f-]{36})/.exec(request.headers.cookie ?? "")?.[1]

createServer(async (request, response) => {
  const visitor = visitorOf(request)
  const answer = (status, type, body, headers = {}) => response.writeHead(status, { "content-type": `${type}; charset=utf-8`, ...headers }).end(body)
  try {
    if (request.method === "POST" && request.url === "/chat-token") {
      if (visitor === undefined) return answer(403, "application/json", "{}")
      const { tokens } = await admin("MintToken", { user: `visitor-${visitor}`, displayName: "A visitor", lifetimeMs: "3600000" })
      await admin("CreateGroupFor", { id: `shop-${visitor}`, name: "Question from the shop", owner: AGENT, members: [`visitor-${visitor}`] })
      return answer(200, "application/json", JSON.stringify({ token: tokens.accessToken }), { "cache-control": "no-store" })
    }
    if (request.url === "/shop.css") return answer(200, "text/css", file("shop.css"))
    const id = visitor ?? randomUUID()
    const page = file("index.html").replaceAll("{{skein}}", SKEIN).replaceAll("{{conversation}}", `grp:shop-${id}`)
    answer(200, "text/html", page, { "set-cookie": `visitor=${id}; HttpOnly; SameSite=Lax; Path=/`, "content-security-policy": policy })
  } catch (e) {
    console.error(e)
    answer(502, "text/plain", "the chat is not there now")
  }
}).listen(Number(PORT), "127.0.0.1", function () {
  console.log(`http://127.0.0.1:${this.address().port}`)
})
