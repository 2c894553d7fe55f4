/** Bytes of text, as base64 and back; nothing of Node's or the browser's alone. */
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

export function toBase64(b: Uint8Array): string {
  let out = ""
  for (let i = 0; i < b.length; i += 3) {
    const n = (b[i]! << 16) | ((b[i + 1] ?? 0) << 8) | (b[i + 2] ?? 0)
    out += digits[n >> 18]! + digits[(n >> 12) & 63]! + (i + 1 < b.length ? digits[(n >> 6) & 63]! : "=") + (i + 2 < b.length ? digits[n & 63]! : "=")
  }
  return out
}

export function fromBase64(text: string): Uint8Array {
  const plain = text.replace(/=+$/, "").replace(/-/g, "+").replace(/_/g, "/")
  const out = new Uint8Array((plain.length * 3) >> 2)
  let bits = 0
  let n = 0
  let at = 0
  for (const c of plain) {
    const d = digits.indexOf(c)
    if (d < 0) throw new RangeError("no base64")
    n = ((n << 6) | d) & 0xffffff
    if ((bits += 6) >= 8) {
      bits -= 8
      out[at++] = (n >> bits) & 255
    }
  }
  return out
}

/** A message's id, base64 on the wire, as the text of a UUID. */
export function toUuid(id: string): string {
  const hex = Array.from(fromBase64(id), (b) => b.toString(16).padStart(2, "0")).join("")
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}

/** The wire's form of an id that is given as a UUID or already in that form. */
export function fromUuid(id: string): string {
  const hex = id.replace(/-/g, "")
  if (!/^[0-9a-fA-F]{32}$/.test(hex)) return id
  return toBase64(Uint8Array.from(hex.match(/../g)!, (h) => parseInt(h, 16)))
}

/** How far ahead of the server's clock an id may be: it refuses 24 hours. */
const maxAhead = 23 * 3600_000

/** Makes ids of messages: UUIDv7 by the server's clock, each greater than the one before. SPEC §2. */
export class IdSource {
  private offset = 0
  private ms = 0
  private count = 0

  constructor(private readonly now: () => number) {}

  /** Corrects it by the server's clock. Ids that were too far ahead are not gone on from. */
  setServerTime(ms: number): void {
    this.offset = ms - this.now()
    if (this.ms > ms + maxAhead) {
      this.ms = 0
      this.count = 0
    }
  }

  /** An id as the wire has it. */
  next(): string {
    const id = crypto.getRandomValues(new Uint8Array(16))
    const ms = this.now() + this.offset
    if (ms > this.ms) {
      this.ms = ms
      this.count = ((id[6]! << 8) | id[7]!) & 0x7ff // the top bit stays 0: at least 2,048 fit in the millisecond
    } else if (this.count < 0xfff) {
      this.count++
    } else {
      this.ms++
      this.count = 0
    }
    for (let i = 5, rest = this.ms; i >= 0; i--, rest = Math.floor(rest / 256)) id[i] = rest % 256
    id[6] = 0x70 | (this.count >> 8)
    id[7] = this.count & 255
    id[8] = (id[8]! & 0x3f) | 0x80
    return toBase64(id)
  }
}

/** An idempotency key, or the id of a device: random, [A-Za-z0-9_-]{32}. */
export function randomKey(): string {
  return toBase64(crypto.getRandomValues(new Uint8Array(24))).replace(/\+/g, "-").replace(/\//g, "_")
}
