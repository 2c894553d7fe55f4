// What an authenticator app does: the six digits of RFC 6238, now or some steps of 30 s away.
import { createHmac } from "node:crypto"

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

export function authenticator(secret, steps = 0) {
  let bits = ""
  for (const c of secret.replace(/[\s=]/g, "").toUpperCase()) bits += digits.indexOf(c).toString(2).padStart(5, "0")
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps))
  const mac = createHmac("sha1", key).update(counter).digest()
  const at = mac.at(-1) & 15
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0")
}
