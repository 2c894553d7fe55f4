// A push service of a test's own, and a browser that is subscribed to it, from RFC 8030, 8188, 8291 and 8292 alone. A private
// window of Chromium cannot subscribe, and a real service is elsewhere: the page is given this subscription in the place of
// one, and what the server pushes to it is decrypted here, as a browser does it.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"

export class PushService {
  static async open() {
    const s = new PushService()
    s.dir = mkdtempSync(join(tmpdir(), "skein-push-"))
    /** For the server's SSL_CERT_FILE. */
    s.certificate = join(s.dir, "cert.pem")
    const key = join(s.dir, "key.pem")
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/CN=push", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", s.certificate], { stdio: "pipe", timeout: 20_000 })
    /** What was pushed and decrypted, the oldest first. */
    s.told = []
    /** Why a push was refused. */
    s.wrong = []
    s.browser = createECDH("prime256v1")
    s.browser.generateKeys()
    s.auth = randomBytes(16)
    s.listener = createServer({ key: readFileSync(key), cert: readFileSync(s.certificate) }, (req, res) => s.take(req, res))
    await new Promise((done) => s.listener.listen(0, "127.0.0.1", done))
    s.endpoint = `https://127.0.0.1:${s.listener.address().port}/${randomBytes(8).toString("hex")}`
    return s
  }

  /** What a page of this browser is given as its subscription: an argument of the script `subscribed`. */
  get subscription() {
    return { endpoint: this.endpoint, p256dh: [...this.browser.getPublicKey()], auth: [...this.auth] }
  }

  async take(req, res) {
    try {
      const body = Buffer.concat(await req.toArray())
      assert.equal(req.method, "POST")
      assert.equal(new URL(this.endpoint).pathname, req.url)
      assert.equal(req.headers["content-encoding"], "aes128gcm")
      const { key } = /^vapid t=\S+, k=(?<key>[\w-]+)$/.exec(req.headers.authorization ?? "").groups
      this.told.push({ key, text: this.decrypt(body) })
      res.writeHead(201).end()
    } catch (e) {
      this.wrong.push(e)
      res.writeHead(400).end()
    }
  }

  /** RFC 8291: one record of aes128gcm. */
  decrypt(body) {
    const [salt, length] = [body.subarray(0, 16), body[20]]
    const [sender, sealed] = [body.subarray(21, 21 + length), body.subarray(21 + length)]
    const derive = (secret, salt, info, n) => Buffer.from(hkdfSync("sha256", secret, salt, info, n))
    const info = Buffer.concat([Buffer.from("WebPush: info\0"), this.browser.getPublicKey(), sender])
    const ikm = derive(this.browser.computeSecret(sender), this.auth, info, 32)
    const cipher = createDecipheriv("aes-128-gcm", derive(ikm, salt, "Content-Encoding: aes128gcm\0", 16), derive(ikm, salt, "Content-Encoding: nonce\0", 12))
    cipher.setAuthTag(sealed.subarray(-16))
    const plain = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()])
    const end = plain.findLastIndex((b) => b !== 0) // padding
    assert.equal(plain[end], 2, "the delimiter of the last record")
    return plain.subarray(0, end).toString()
  }

  async close() {
    this.listener.closeAllConnections()
    await new Promise((done) => this.listener.close(done))
    rmSync(this.dir, { recursive: true, force: true })
  }
}

/** Runs in pages before their scripts: this browser subscribes to that. `pushKey` is the key for which it did. */
export function subscribed({ endpoint, p256dh, auth }) {
  let now = null
  const bytes = { p256dh: Uint8Array.from(p256dh).buffer, auth: Uint8Array.from(auth).buffer }
  PushManager.prototype.getSubscription = async () => now
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new DOMException("no silent pushes", "NotAllowedError")
    globalThis.pushKey = btoa(String.fromCharCode(...new Uint8Array(applicationServerKey))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")
    now = { endpoint, options: { userVisibleOnly, applicationServerKey: Uint8Array.from(applicationServerKey).buffer }, getKey: (name) => bytes[name], unsubscribe: async () => ((now = null), true) }
    return now
  }
}
