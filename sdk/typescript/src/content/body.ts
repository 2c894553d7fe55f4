import type { Message } from "../message.js"
import type { Media } from "../wire.js"

/*
 * The bodies of SPEC §11.2, read with care: what is not as the table says has no body, and its fallback is shown.
 */

type Json = Record<string, unknown>

export interface Picture {
  media: string
  mime: string
  bytes: number
  width: number
  height: number
  blurhash: string
  caption: string
  durationMs: number
  name: string
  waveform: number[]
}

export interface Place {
  latitude: number
  longitude: number
  name: string
  address: string
}

export interface PollBody {
  question: string
  options: { id: string; text: string }[]
}

export interface MergedBody {
  title: string
  entries: { sender: string; name: string; atMs: number; type: string; text: string; fallback: string }[]
}

export type Body =
  | { t: "text"; text: string }
  | { t: "image" | "video" | "voice" | "file"; about: Picture }
  | { t: "location"; place: Place }
  | { t: "card"; user: string; name: string }
  | { t: "merged"; merged: MergedBody }
  | { t: "poll"; poll: PollBody }
  | { t: "sticker"; alt: string; pack: string; name: string }
  | { t: "unknown"; fallback: string }

const isText = (v: unknown): v is string => typeof v === "string"
const isNumber = (v: unknown): v is number => typeof v === "number" && Number.isFinite(v)
const text = (v: unknown): string => (isText(v) ? v : "")
const number = (v: unknown): number => (isNumber(v) && v >= 0 ? v : 0)
const object = (v: unknown): Json | undefined => (typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Json) : undefined)

function json(m: Pick<Message, "text">): Json | undefined {
  try {
    return object(JSON.parse(m.text))
  } catch {
    return undefined
  }
}

export function bodyOf(m: Pick<Message, "type" | "text" | "fallback" | "media">): Body {
  return read(m) ?? { t: "unknown", fallback: m.fallback || m.type }
}

function read(m: Pick<Message, "type" | "text" | "fallback" | "media">): Body | undefined {
  if (m.type === "text") return { t: "text", text: m.text }
  const o = json(m)
  if (o === undefined) return undefined
  switch (m.type) {
    case "image":
    case "video":
    case "voice":
    case "file":
      return isText(o["media"]) && isText(o["mime"]) ? { t: m.type, about: about(o, m.media) } : undefined
    case "location":
      return place(o)
    case "card":
      return isText(o["user"]) && isText(o["name"]) ? { t: "card", user: o["user"], name: o["name"] } : undefined
    case "merged":
      return merged(o)
    case "poll":
      return poll(o)
    case "sticker":
      return { t: "sticker", alt: m.fallback, pack: text(o["pack"]), name: text(o["name"]) }
    default:
      return undefined
  }
}

/** What the server measured is said in the entry, and is the truth; of an address elsewhere the body says it alone. */
function about(o: Json, media: readonly Media[]): Picture {
  const own = media.find((m) => m.id === o["media"])
  const wave = Array.isArray(o["waveform"]) ? o["waveform"].filter(isNumber).slice(0, 100) : []
  return {
    media: text(o["media"]), mime: own?.mime ?? text(o["mime"]), bytes: own?.bytes ?? number(o["bytes"]), width: own?.width ?? number(o["width"]), height: own?.height ?? number(o["height"]),
    blurhash: own?.blurhash ?? text(o["blurhash"]), caption: text(o["caption"]), durationMs: number(o["duration_ms"]) || (own?.durationMs ?? 0), name: text(o["name"]) || (own?.name ?? ""), waveform: wave,
  }
}

function place(o: Json): Body | undefined {
  const { latitude, longitude } = o
  if (!isNumber(latitude) || !isNumber(longitude) || Math.abs(latitude) > 90 || Math.abs(longitude) > 180) return undefined
  return { t: "location", place: { latitude, longitude, name: text(o["name"]), address: text(o["address"]) } }
}

function poll(o: Json): Body | undefined {
  const options = (Array.isArray(o["options"]) ? o["options"] : []).map(object).filter((x) => x !== undefined && isText(x["id"]) && isText(x["text"]))
  if (!isText(o["question"]) || options.length === 0) return undefined
  return { t: "poll", poll: { question: o["question"], options: options.map((x) => ({ id: text(x?.["id"]), text: text(x?.["text"]) })) } }
}

function merged(o: Json): Body | undefined {
  if (!isText(o["title"]) || !Array.isArray(o["entries"])) return undefined
  const entries = o["entries"].map(object).filter((e) => e !== undefined)
  return {
    t: "merged",
    merged: {
      title: o["title"],
      entries: entries.map((e) => ({ sender: text(e["sender"]), name: text(e["name"]), atMs: number(e["at_ms"]), type: text(e["type"]), text: text(e["text"]), fallback: text(e["fallback"]) })),
    },
  }
}

/** An upload of this server, not an address elsewhere: that is never loaded by itself. */
export function isUpload(media: string): boolean {
  return /^[A-Z2-7]{26}$/.test(media)
}

/** The size at which a picture is shown: as it is, but no larger than the box, and no smaller than can be touched. */
export function shownSize(width: number, height: number, box = { width: 360, height: 400 }): { width: number; height: number } {
  if (width <= 0 || height <= 0) return { width: 240, height: 180 }
  const scale = Math.min(1, box.width / width, box.height / height)
  return { width: Math.max(64, Math.round(width * scale)), height: Math.max(48, Math.round(height * scale)) }
}
