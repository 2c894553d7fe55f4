// Fills a server with people, groups and an appealing set of conversations, for screenshots and for trying the app:
//   node test/web/fill.mjs http://127.0.0.1:8080 [many]
// With `many` a group "Archive" gets 10,000 messages. Everybody's password is "correct horse"; log in as mira.
import { randomBytes } from "node:crypto"
import { deflateSync } from "node:zlib"

const base = (process.argv[2] ?? "http://127.0.0.1:8080").replace(/\/$/, "")
const many = process.argv.includes("many")
const password = "correct horse"

/** Calls a method, and waits where the server says that it was too often. */
async function call(token, method, request) {
  for (;;) {
    const r = await fetch(`${base}/api/skein.v1.${method}`, {
      method: "POST", headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) }, body: JSON.stringify(request),
    })
    const json = await r.json()
    if (r.ok) return json
    const wait = Number(json.retryAfterMs ?? json.error?.retryAfterMs ?? 0)
    if (r.status !== 429) throw new Error(`${method}: ${JSON.stringify(json)}`)
    await new Promise((done) => setTimeout(done, Math.max(wait, 100)))
  }
}

async function person(username, displayName, about) {
  const r = await call("", "AccountService/Register", { username, password, device: { id: `fill-${username}`, class: "DEVICE_CLASS_OTHER" } })
  const p = { id: r.tokens.user, token: r.tokens.accessToken, username, displayName }
  await call(p.token, "UserService/UpdateProfile", { displayName, about, groupPolicy: "GROUP_POLICY_ANYONE" })
  return p
}

const crcs = Array.from({ length: 256 }, (_, n) => Array.from({ length: 8 }).reduce((c) => (c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1), n) >>> 0)
const crc = (b) => (b.reduce((c, x) => crcs[(c ^ x) & 255] ^ (c >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0

function png(width, height, pixel) {
  const raw = Buffer.alloc((width * 3 + 1) * height)
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) raw.set(pixel(x / width, y / height), y * (width * 3 + 1) + 1 + x * 3)
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const out = Buffer.alloc(body.length + 8)
    out.writeUInt32BE(data.length, 0)
    body.copy(out, 4)
    out.writeUInt32BE(crc(body), body.length + 4)
    return out
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", deflateSync(raw, { level: 6 })), chunk("IEND", Buffer.alloc(0))])
}

const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * Math.max(0, Math.min(1, t))))

const painted = new Map()

/** Hills under a morning sky, other ones for each seed. */
function landscape(width, height, seed) {
  const key = `${width} ${height} ${seed}`
  if (!painted.has(key)) painted.set(key, paint(width, height, seed))
  return painted.get(key)
}

function paint(width, height, seed) {
  const skies = [[[252, 196, 146], [98, 132, 190]], [[250, 226, 180], [126, 190, 214]], [[244, 160, 140], [70, 84, 150]], [[214, 232, 240], [120, 170, 210]]]
  const [low, high] = skies[seed % skies.length]
  const hills = [0.55, 0.66, 0.78].map((h, i) => (x) => h + 0.06 * Math.sin(x * (4 + seed + i * 2.3) + seed * 1.7 + i) + 0.025 * Math.sin(x * (17 + i * 5) + seed))
  const greens = [[112, 134, 150], [78, 108, 112], [40, 70, 72]]
  return png(width, height, (x, y) => {
    for (let i = 2; i >= 0; i--) if (y > hills[i](x)) return mix(greens[i], [20, 40, 46], (y - hills[i](x)) * 2)
    const d = Math.hypot((x - 0.68) * (width / height), y - 0.4)
    return d < 0.07 ? [255, 238, 206] : mix(mix(high, low, y * 1.6), [255, 236, 200], 0.5 - d * 1.4)
  })
}

async function upload(p, bytes, name, more = {}) {
  const meta = Object.entries({ filename: name, ...more }).map(([k, v]) => `${k} ${Buffer.isBuffer(v) ? v.toString("base64") : Buffer.from(String(v)).toString("base64")}`).join(",")
  const headers = { authorization: `Bearer ${p.token}`, "tus-resumable": "1.0.0" }
  const made = await fetch(`${base}/media/uploads`, { method: "POST", headers: { ...headers, "upload-length": String(bytes.length), "upload-metadata": meta } })
  if (made.status !== 201) throw new Error(`upload: ${made.status} ${await made.text()}`)
  const at = made.headers.get("location")
  const sent = await fetch(base + at, { method: "PATCH", headers: { ...headers, "upload-offset": "0", "content-type": "application/offset+octet-stream" }, body: bytes })
  if (!sent.ok) throw new Error(`upload: ${sent.status} ${await sent.text()}`)
  return at.split("/").pop()
}

/** A second of a quiet tone as WAV. */
function tone(seconds) {
  const rate = 8000
  const n = rate * seconds
  const b = Buffer.alloc(44 + n * 2)
  b.write("RIFF", 0); b.writeUInt32LE(36 + n * 2, 4); b.write("WAVEfmt ", 8); b.writeUInt32LE(16, 16); b.writeUInt16LE(1, 20); b.writeUInt16LE(1, 22)
  b.writeUInt32LE(rate, 24); b.writeUInt32LE(rate * 2, 28); b.writeUInt16LE(2, 32); b.writeUInt16LE(16, 34); b.write("data", 36); b.writeUInt32LE(n * 2, 40)
  for (let i = 0; i < n; i++) b.writeInt16LE(Math.round(4000 * Math.sin(i / 6) * Math.abs(Math.sin(i / 2600))), 44 + i * 2)
  return b
}

const dm = (a, b) => (a.id <= b.id ? `dm:${a.id}:${b.id}` : `dm:${b.id}:${a.id}`)

async function send(p, conversation, text, more = {}) {
  const content = typeof text === "string" ? { type: "text", text } : text
  const r = await call(p.token, "MessageService/SendMessage", { conversation, content, ...more })
  return Number(r.seq)
}

async function picture(p, conversation, seed, caption = "", width = 1280, height = 853, more = {}) {
  const bytes = landscape(width, height, seed)
  const media = await upload(p, bytes, `dawn-${seed}.png`)
  const body = { media, mime: "image/png", bytes: bytes.length, width, height, ...(caption ? { caption } : {}) }
  return send(p, conversation, { type: "image", text: JSON.stringify(body), fallback: `[picture] ${caption}`.trim() }, { media: [media], ...more })
}

async function voice(p, conversation, seconds) {
  const bytes = tone(seconds)
  const waveform = Array.from({ length: 60 }, (_, i) => Math.round(20 + 70 * Math.abs(Math.sin(i / 3) * Math.cos(i / 7))))
  const media = await upload(p, bytes, "voice.wav", { duration_ms: seconds * 1000, waveform: Buffer.from(waveform) })
  return send(p, conversation, { type: "voice", text: JSON.stringify({ media, mime: "audio/wav", bytes: bytes.length, duration_ms: seconds * 1000, waveform }), fallback: `[voice message, ${seconds} s]` }, { media: [media] })
}

async function file(p, conversation, name, text, caption = "") {
  const bytes = Buffer.from(text)
  const media = await upload(p, bytes, name)
  return send(p, conversation, { type: "file", text: JSON.stringify({ media, mime: "text/plain", bytes: bytes.length, name, ...(caption ? { caption } : {}) }), fallback: `[file] ${name}` }, { media: [media] })
}

async function poll(p, conversation, question, texts, more = {}) {
  const options = texts.map((text, i) => ({ id: String(i + 1), text }))
  return send(p, conversation, { type: "poll", text: JSON.stringify({ question, options, ...more }), fallback: `[poll] ${question}` }, { poll: { options: options.map(({ id }) => ({ id })), ...more } })
}

const react = (p, conversation, seq, reaction) => call(p.token, "MessageService/ReactToMessage", { conversation, seq: String(seq), reaction })
const vote = (p, conversation, seq, ...options) => call(p.token, "MessageService/VoteInPoll", { conversation, seq: String(seq), options })

async function contacts(me, others) {
  for (const o of others) {
    await call(me.token, "ContactService/RequestContact", { user: o.id, text: "hi" })
    await call(o.token, "ContactService/AcceptContact", { user: me.id })
  }
}

async function group(owner, name, members, description) {
  const { group: g } = await call(owner.token, "GroupService/CreateGroup", { name, members: members.map((m) => m.id), requestId: randomBytes(8).toString("hex") })
  if (description) await call(owner.token, "GroupService/UpdateGroup", { conversation: g.conversation, description })
  return g.conversation
}

async function hike(c, [mira, jonas, priya, tomas, fang]) {
  await send(priya, c, "Morning! Who is in for **Saturday**? The forecast is clear until four.")
  const plan = await send(priya, c, "Plan:\n1. Train at 7:12, platform 4\n2. Coffee at the hut\n3. Ridge before noon\n4. Soup, obviously 🍲")
  for (const p of [mira, jonas, tomas, fang]) await react(p, c, plan, "👍")
  await react(jonas, c, plan, "🍵")
  await react(fang, c, plan, "🎉")
  await send(jonas, c, "I'm in. Is the ridge path open again?")
  const photo = await picture(tomas, c, 0, "From the same spot last year, six in the morning")
  for (const p of [mira, priya, jonas]) await react(p, c, photo, "❤️")
  await react(mira, c, photo, "😮")
  await send(mira, c, "Oh that light. Count me in, I'll bring the stove.", { replyTo: String(photo) })
  const q = await poll(priya, c, "Where do we eat?", ["Hut at the lake", "Picnic on the ridge", "Back in town"])
  await vote(jonas, c, q, "2")
  await vote(fang, c, q, "2")
  await vote(tomas, c, q, "1")
  await vote(mira, c, q, "2")
  await send(fang, c, "我带茶和水果 🍎 See https://www.openstreetmap.org/ for the path, the east side is shorter.")
  await file(jonas, c, "packing-list.txt", "boots\nrain jacket\nwater\nstove (Mira)\ntea (Fang)\n".repeat(40), "As of last time")
  await voice(tomas, c, 7)
  await send(mira, c, `@${fang.displayName} the one past the chapel?`, { mentions: [fang.id] })
  const late = await send(fang, c, `@${mira.displayName} yes, exactly`, { mentions: [mira.id] })
  await react(mira, c, late, "👍")
  await call(priya.token, "MessageService/PinMessage", { conversation: c, seq: String(plan) })
}

async function work(c, [mira, jonas, priya, tomas]) {
  await send(jonas, c, "The staging build is green. `make check` takes *4 minutes* now, it was eleven.")
  await send(jonas, c, "```go\nfunc (s *Server) Close() error {\n\ts.cancel()\n\treturn s.group.Wait()\n}\n```")
  const t = await send(tomas, c, "> takes 4 minutes now\n\nHow? What did you throw out?")
  await send(jonas, c, "~~Half of the tests~~ The second container. Details are [in the notes](https://example.org/notes).", { replyTo: String(t) })
  const r = await send(mira, c, "Ship it 🚀")
  for (const p of [jonas, priya, tomas]) await react(p, c, r, "🚀")
  await send(priya, c, "Before that: can somebody look at the *release notes*?\n- wording of the second paragraph\n- the screenshot is of the old version\n- do we mention the migration?")
  const e = await send(mira, c, "I'll do it after lunch.")
  await call(mira.token, "MessageService/EditMessage", { conversation: c, seq: String(e), content: { type: "text", text: "I'll do it now, before lunch." } })
  const gone = await send(tomas, c, "wrong window, sorry")
  await call(tomas.token, "MessageService/RecallMessage", { conversation: c, seq: String(gone) })
  await send(priya, c, "Thanks!")
}

async function talk(c, mira, jonas) {
  await send(jonas, c, "Did you see the geese this morning? A skein of at least sixty, right over the river.")
  await send(mira, c, "No! I was still asleep 😴")
  await picture(jonas, c, 2, "", 900, 1200)
  const nice = await send(jonas, c, "Best I could do with a phone")
  await react(mira, c, nice, "😍")
  await send(mira, c, "That is beautiful. Send me the original?")
  await send(jonas, c, { type: "location", text: JSON.stringify({ latitude: 47.3769, longitude: 8.5417, name: "The bridge by the old mill", address: "Limmatquai 15" }), fallback: "[place] The bridge by the old mill" })
  await send(jonas, c, "They stop here around six. Tomorrow?")
  await send(mira, c, "👍")
  await send(jonas, c, "☕ is on me")
}

async function archive(c, people) {
  const words = "the light over the river was grey and the geese went south again while we had tea and talked about nothing much until it was time to go home".split(" ")
  for (let n = 0; n < 10_000; n += 40) {
    await Promise.all(Array.from({ length: 40 }, (_, i) => {
      const k = n + i
      const p = people[Math.floor(k / 3) % people.length]
      const text = Array.from({ length: 3 + ((k * 7919) % 40) }, (_, j) => words[(k * 31 + j * 17) % words.length]).join(" ")
      return k % 50 === 7 ? picture(p, c, k % 4, `picture ${k}`, 640, 427) : send(p, c, `${k}: ${text}`)
    }))
  }
}

async function main() {
  const people = []
  for (const [username, name, about] of [
    ["mira", "Mira Sommer", "Mostly outdoors."], ["jonas", "Jonas Weber", "Go, geese, coffee."], ["priya", "Priya Nair", "Plans things."], ["tomas", "Tomás Ruiz", ""], ["fang", "王芳", "茶"], ["lena", "Lena Novak", ""], ["omar", "عمر حداد", ""],
  ]) people.push(await person(username, name, about))
  const [mira, jonas, priya, tomas, fang, lena, omar] = people
  await contacts(mira, [jonas, priya, tomas, fang, lena, omar])
  const c1 = await group(priya, "Saturday hike", [mira, jonas, tomas, fang], "Every second Saturday, whatever the weather says.")
  const c2 = await group(mira, "Release 1.0", [jonas, priya, tomas])
  await hike(c1, people)
  await work(c2, people)
  await talk(dm(mira, jonas), mira, jonas)
  await send(lena, dm(mira, lena), "Are you coming on Thursday?")
  await send(omar, dm(mira, omar), "مرحبا! هل رأيت الصور من الرحلة؟")
  await send(mira, dm(mira, omar), "نعم، رائعة 😍")
  const news = await group(lena, "Announcements", [mira, jonas, priya])
  await send(lena, news, "The office is closed on Monday.")
  await call(lena.token, "GroupService/UpdateGroup", { conversation: news, whoMayPost: "GROUP_POWER_ADMINS" })
  if (many) await archive(await group(tomas, "Archive", [mira, jonas, priya]), [mira, jonas, priya, tomas])
  console.log(JSON.stringify({ login: "mira", password, conversations: { hike: c1, work: c2, talk: dm(mira, jonas) } }))
}

await main()
