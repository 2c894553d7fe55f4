import type { Response } from "@skein-im/client"

export type Health = NonNullable<Response<"skein.v1.AdminService/GetHealth">["health"]>

export type Tone = "success" | "warning" | "danger"

/** How full something is that has an end, and whether somebody should look at it; undefined: it has none, or it is not known. */
export function fillOf(now: number, most: number): { share: number; tone: Tone } | undefined {
  if (most <= 0) return undefined
  const share = Math.min(1, Math.max(0, now / most))
  return { share, tone: share >= 0.9 ? "danger" : share >= 0.7 ? "warning" : "success" }
}

/** So long a queue may be behind before it is worth a look, and before it is trouble. */
const lateMs = 60_000
const troubleMs = 10 * 60_000

export function latenessOf(behindMs: number): Tone {
  return behindMs >= troubleMs ? "danger" : behindMs >= lateMs ? "warning" : "success"
}

const day = 86_400_000

/** A certificate that ends soon should have been renewed. */
export function certificateTone(notAfterMs: number, trouble: string, nowMs: number): Tone {
  const left = notAfterMs - nowMs
  return left < 3 * day ? "danger" : left < 14 * day || trouble !== "" ? "warning" : "success"
}

/** All in one word: what is worst of what this node knows. */
export function stateOf(h: Health, nowMs: number): Tone {
  if (h.ready !== true || (h.stores ?? []).some((s) => (s.trouble ?? "") !== "") || (h.nodes ?? []).some((n) => n.ready !== true && n.self !== true)) return "danger"
  const tones: Tone[] = [
    ...(h.followers ?? []).map((f) => latenessOf(Number(f.behindMs ?? 0))), ...(h.certificates ?? []).map((c) => certificateTone(Number(c.notAfterMs ?? 0), c.trouble ?? "", nowMs)),
    fillOf(h.sendsWaiting ?? 0, h.sendsMost ?? 0)?.tone ?? "success", fillOf(h.openFiles ?? 0, h.openFilesMost ?? 0)?.tone ?? "success",
  ]
  return tones.includes("danger") ? "danger" : tones.includes("warning") || (h.warnings ?? []).length > 0 ? "warning" : "success"
}
