import type { Response } from "@skein-im/client"
import { bodyOf } from "@skein-im/client/content"

export type Report = NonNullable<Response<"skein.v1.AdminService/ListReports">["reports"]>[number]
export type Around = NonNullable<Response<"skein.v1.AdminService/GetReport">["entries"]>[number]

export const states = ["open", "resolved", "dismissed", "all"] as const
export type State = (typeof states)[number]

export const stateOf = (text: string): State => states.find((s) => s === text) ?? "open"

/** What is asked for a state. */
export function askedState(s: State): NonNullable<Report["state"]> {
  switch (s) {
    case "open":
      return "REPORT_STATE_OPEN"
    case "resolved":
      return "REPORT_STATE_RESOLVED"
    case "dismissed":
      return "REPORT_STATE_DISMISSED"
    case "all":
      return "REPORT_STATE_UNSPECIFIED"
  }
}

export type Said =
  | { t: "text"; text: string }
  /** A picture, a file and so on: its type, and what stands beside it. */
  | { t: "thing"; type: string; text: string }
  | { t: "recalled" }
  /** Somebody came or went, or something else of the group was changed. */
  | { t: "event"; what: "joined" | "left" | "removed" | "other"; users: readonly string[] }

const moves: Readonly<Record<string, "joined" | "left" | "removed">> = { EVENT_TYPE_MEMBER_ADDED: "joined", EVENT_TYPE_MEMBER_LEFT: "left", EVENT_TYPE_MEMBER_REMOVED: "removed" }

/** What an entry says to a moderator; undefined: nothing of its own (an edit, a reaction, a vote). */
export function saidIn(e: Around): Said | undefined {
  if (e.kind === "ENTRY_KIND_EVENT") return { t: "event", what: moves[e.event?.type ?? ""] ?? "other", users: e.event?.users ?? [] }
  if (e.kind !== "ENTRY_KIND_MESSAGE" && e.kind !== "ENTRY_KIND_THREAD_REPLY") return undefined
  if (e.recalled === true || e.content === undefined) return { t: "recalled" }
  const body = bodyOf({ type: e.content.type ?? "", text: e.content.text ?? "", fallback: e.content.fallback ?? "", media: [] })
  switch (body.t) {
    case "text":
      return { t: "text", text: body.text }
    case "image":
    case "video":
    case "voice":
    case "file":
      return { t: "thing", type: body.t, text: [body.about.name, body.about.caption].filter((x) => x !== "").join(" · ") }
    case "location":
      return { t: "thing", type: "location", text: [body.place.name, body.place.address].filter((x) => x !== "").join(" · ") }
    case "card":
      return { t: "thing", type: "card", text: body.name }
    case "poll":
      return { t: "thing", type: "poll", text: [body.poll.question, ...body.poll.options.map((o) => `– ${o.text}`)].join("\n") }
    case "merged":
      return { t: "thing", type: "merged", text: body.merged.entries.map((x) => `${x.name}: ${x.text || x.fallback}`).join("\n") }
    case "sticker":
      return { t: "thing", type: "sticker", text: body.alt }
    case "unknown":
      return { t: "text", text: body.fallback }
  }
}
