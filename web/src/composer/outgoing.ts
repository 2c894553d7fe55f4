import { useMemo, useSyncExternalStore } from "react"
import { Uploads, errorFrom, useClient, type ChatClient, type UploadAbout, type UploadItem } from "@skein-im/react"
import type { SkeinError } from "@skein-im/client"
import { accessToken } from "../auth/session.js"

/*
 * Files that are on their way, of all conversations: they go on while the user is elsewhere in the app. A file is
 * uploaded, then its message goes into the outbox, in the order in which they were chosen.
 */

export interface Ready {
  blob: Blob
  name: string
  kind: "image" | "video" | "file" | "voice"
  caption: string
  /** An address of this page, to show it by; "" without one. */
  preview: string
  width: number
  height: number
  durationMs: number
  waveform: Uint8Array | undefined
}

export interface Outgoing extends Ready {
  key: number
  conversation: string
  replyTo: number
  thread: number
  silent: boolean
  upload: UploadItem | undefined
  /** The upload is there, and the message could not be put into the outbox. */
  error: SkeinError | undefined
}

interface Job extends Omit<Outgoing, "upload"> {
  uploaded: number
}

class Outgoings {
  private readonly uploads: Uploads
  private jobs: readonly Job[] = []
  private shown: readonly Outgoing[] = []
  private readonly listeners = new Set<() => void>()
  private readonly last = new Map<string, Promise<void>>()

  constructor(private readonly client: ChatClient) {
    this.uploads = new Uploads({ url: new URL("/ws", location.href.replace(/^http/, "ws")).href, getToken: accessToken })
    this.uploads.subscribe(() => this.changed())
  }

  readonly getSnapshot = (): readonly Outgoing[] => this.shown
  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  private changed(): void {
    const items = new Map(this.uploads.getSnapshot().map((u) => [u.key, u]))
    this.shown = this.jobs.map((j) => ({ ...j, upload: items.get(j.uploaded) }))
    for (const f of [...this.listeners]) f()
  }

  add(conversation: string, r: Ready, replyTo: number, silent: boolean, thread = 0): void {
    const about: UploadAbout = { name: r.name }
    if (r.durationMs > 0) about.durationMs = Math.round(r.durationMs)
    if (r.width > 0) Object.assign(about, { width: r.width, height: r.height })
    if (r.waveform !== undefined) about.waveform = r.waveform
    const { key, done } = this.uploads.add(r.blob, about)
    const job: Job = { ...r, key, uploaded: key, conversation, replyTo, thread, silent, error: undefined }
    this.jobs = [...this.jobs, job]
    const before = this.last.get(conversation) ?? Promise.resolve()
    const after = Promise.allSettled([before, this.sent(job, done)]).then(() => undefined)
    this.last.set(conversation, after)
    this.changed()
  }

  private async sent(j: Job, done: Promise<string>): Promise<void> {
    const before = this.last.get(j.conversation)
    try {
      const id = await done
      await before
      await this.post(j, id)
    } catch (e) {
      if (!this.jobs.some((x) => x.key === j.key)) return
      this.jobs = this.jobs.map((x) => (x.key === j.key ? { ...x, error: errorFrom(e) } : x))
      this.changed()
    }
  }

  private async post(j: Job, id: string): Promise<void> {
    const { text, fallback } = bodyFor(j, id)
    const conversation = this.client.conversation(j.conversation)
    const options = { type: j.kind, media: [id], fallback, ...(j.replyTo > 0 ? { replyTo: j.replyTo } : {}), ...(j.thread > 0 ? { thread: j.thread } : {}), ...(j.silent ? { silent: true } : {}) }
    await conversation.post(text, options)
    this.forget(j.key)
  }

  pause(key: number): void {
    this.uploads.pause(key)
  }

  /** Goes on, or tries again; what is sent then is no longer in the order of the others. */
  resume(key: number): void {
    const job = this.jobs.find((j) => j.key === key)
    const upload = this.uploads.getSnapshot().find((u) => u.key === key)
    if (job === undefined || upload === undefined) return
    if (upload.state === "paused" || upload.state === "running") return this.uploads.resume(key)
    this.forget(key)
    this.add(job.conversation, job, job.replyTo, job.silent, job.thread)
  }

  forget(key: number): void {
    const job = this.jobs.find((j) => j.key === key)
    this.jobs = this.jobs.filter((j) => j.key !== key)
    this.uploads.remove(key)
    if (job !== undefined && job.preview !== "" && !this.jobs.some((j) => j.preview === job.preview)) setTimeout(() => URL.revokeObjectURL(job.preview), 10_000) // the timeline may show it yet
    this.changed()
  }
}

const all = new WeakMap<ChatClient, Outgoings>()

/** All files of a client. */
export function outgoingOf(client: ChatClient): Outgoings {
  let found = all.get(client)
  if (found === undefined) all.set(client, (found = new Outgoings(client)))
  return found
}

export function useOutgoing(conversation: string, thread: number): { items: readonly Outgoing[]; all: Outgoings } {
  const client = useClient()
  const one = useMemo(() => outgoingOf(client), [client])
  const items = useSyncExternalStore(one.subscribe, one.getSnapshot)
  return { items: useMemo(() => items.filter((i) => i.conversation === conversation && i.thread === thread), [items, conversation, thread]), all: one }
}

const mimeOf = (r: Ready): string => (r.blob.type === "" ? "application/octet-stream" : r.blob.type.split(";")[0]!)

/** The body of SPEC §11.2, and one line for who does not know it. */
export function bodyFor(r: Ready, media: string): { text: string; fallback: string } {
  const base = { media, mime: mimeOf(r), bytes: r.blob.size }
  const caption = r.caption === "" ? {} : { caption: r.caption }
  const behind = r.caption === "" ? "" : ` ${r.caption.replace(/\s+/g, " ").slice(0, 200)}`
  switch (r.kind) {
    case "image":
      return { text: JSON.stringify({ ...base, width: r.width, height: r.height, ...caption }), fallback: `[picture]${behind}` }
    case "video":
      return { text: JSON.stringify({ ...base, width: r.width, height: r.height, duration_ms: Math.round(r.durationMs), ...caption }), fallback: `[video]${behind}` }
    case "voice":
      return { text: JSON.stringify({ ...base, duration_ms: Math.round(r.durationMs), waveform: [...(r.waveform ?? [])] }), fallback: `[voice message, ${Math.max(1, Math.round(r.durationMs / 1000))} s]` }
    case "file":
      return { text: JSON.stringify({ ...base, name: r.name, ...caption }), fallback: `[file] ${r.name}` }
  }
}
