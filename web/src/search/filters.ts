import { dayToMs } from "../settings/dates.js"

/** What is looked for, as the address has it: reload, back and a shared link keep it. */
export interface Filters {
  query: string
  conversation: string
  sender: string
  kind: Kind
  /** Days as the browser's fields have them; "": no bound. */
  from: string
  to: string
}

export const kinds = ["any", "pictures", "videos", "files", "links", "voice", "polls"] as const
export type Kind = (typeof kinds)[number]

/** The types of content that a kind is (SPEC §4.32, §11.2). */
export const typesOf: Readonly<Record<Kind, readonly string[]>> = {
  any: [], pictures: ["image"], videos: ["video"], files: ["file"], links: ["link"], voice: ["voice"], polls: ["poll"],
}

const dayForm = /^\d{4}-\d{2}-\d{2}$/

export function readFilters(search: string): Filters {
  const p = new URLSearchParams(search)
  const day = (name: string): string => {
    const v = p.get(name) ?? ""
    return dayForm.test(v) ? v : ""
  }
  return {
    query: (p.get("q") ?? "").slice(0, 200), conversation: p.get("in") ?? "", sender: p.get("by") ?? "",
    kind: kinds.find((k) => k === p.get("kind")) ?? "any", from: day("from"), to: day("to"),
  }
}

export function writeFilters(f: Filters): string {
  const p = new URLSearchParams()
  const put = (name: string, v: string): void => {
    if (v !== "") p.set(name, v)
  }
  put("q", f.query)
  put("in", f.conversation)
  put("by", f.sender)
  put("kind", f.kind === "any" ? "" : f.kind)
  put("from", f.from)
  put("to", f.to)
  return p.toString()
}

/** Some filter but the words is set. */
export function narrowed(f: Filters): boolean {
  return f.conversation !== "" || f.sender !== "" || f.kind !== "any" || f.from !== "" || f.to !== ""
}

/** The question for the server. The last day counts whole. */
export function questionOf(f: Filters) {
  return {
    query: f.query, conversation: f.conversation || undefined, sender: f.sender || undefined, types: typesOf[f.kind],
    afterMs: dayToMs(f.from), beforeMs: dayToMs(f.to, 1),
  }
}
