import { tokenOf } from "./connect.js"
import type { Core } from "./core.js"

/** Keeps the token of the connection fresh, so that it is not cut when the token ends. SPEC §3.9. */

const renewAhead = 25_000
/** Too short to ask again in. */
const leastLeft = 500

export function planRenewal(k: Core, endsMs: number): void {
  k.tokenEndsAt = endsMs === 0 ? 0 : endsMs - k.ahead
  renewLater(k)
}

/** Before the last 25 s, or the last quarter of what is shorter. */
function renewLater(k: Core): void {
  const left = k.tokenEndsAt - k.o.now()
  k.renewAt = k.tokenEndsAt > 0 && left > leastLeft ? k.o.now() + Math.max(left - renewAhead, (left * 3) / 4) : 0
}

export function renew(k: Core): void {
  k.renewAt = 0
  if (k.askingToken) return
  k.askingToken = true
  const link = k.link
  const got = (token: string | undefined): void =>
    k.post([], () => {
      k.askingToken = false
      if (k.link === undefined || k.tokenEndsAt === 0) return
      if (k.link === link && token !== undefined && token !== k.token) {
        k.offered = token
        k.send({ renew: { token } })
      }
      renewLater(k) // unless it is answered
    })
  void tokenOf(k).then(got, () => got(undefined))
}

export function onRenewed(k: Core, endsMs: number): void {
  if (k.offered !== "") {
    k.token = k.offered
    k.offered = ""
  }
  planRenewal(k, endsMs)
}
