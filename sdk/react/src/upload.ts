import { useEffect, useMemo, useState } from "react"
import { Upload, type SkeinError, type UploadOptions, type View } from "@skein-im/client"
import { errorFrom } from "./action.js"
import { Changes, useView } from "./view.js"

/** A file on its way to the server. */
export interface UploadItem {
  /** Names it here. */
  key: number
  name: string
  size: number
  /** So many bytes are safe with the server. */
  sent: number
  state: "running" | "paused" | "done" | "failed"
  /** What a message names in `media`; "" before the server gave it. */
  id: string
  error: SkeinError | undefined
  blob: Blob
}

/** What an upload says of its content, besides its bytes. */
export type UploadAbout = Omit<UploadOptions, "url" | "getToken" | "onProgress" | "fetch">
export type UploadSource = Pick<UploadOptions, "url" | "getToken" | "fetch">

/** Uploads with their states. It outlives components, if it is made outside of them. */
export class Uploads implements View<readonly UploadItem[]> {
  private items: readonly UploadItem[] = []
  private readonly running = new Map<number, Upload>()
  private readonly about = new Map<number, UploadAbout>()
  private readonly changes = new Changes()
  private last = 0

  constructor(private readonly source: UploadSource) {}

  readonly getSnapshot = (): readonly UploadItem[] => this.items
  readonly subscribe = this.changes.subscribe

  /** Begins one; `done` resolves with the id of the upload, and rejects if it fails or is removed. */
  add(blob: Blob, about: UploadAbout = {}): { key: number; done: Promise<string> } {
    const key = ++this.last
    const name = about.name ?? (blob instanceof File ? blob.name : "")
    this.items = [...this.items, { key, name, size: blob.size, sent: 0, state: "running", id: about.id ?? "", error: undefined, blob }]
    this.about.set(key, { ...about, name })
    this.changes.changed()
    return { key, done: this.begin(key, blob) }
  }

  pause(key: number): void {
    if (this.item(key)?.state !== "running") return
    this.running.get(key)?.pause()
    this.set(key, { state: "paused" })
  }

  /** Goes on: of a paused one, of one that waits for the network, and with another try of a failed one. */
  resume(key: number): void {
    const item = this.item(key)
    if (item === undefined || item.state === "done") return
    this.set(key, { state: "running", error: undefined })
    const upload = this.running.get(key)
    if (upload !== undefined) upload.resume()
    else void this.begin(key, item.blob)
  }

  /** Ends it, and forgets it here. What was sent stays with the server for a day. */
  remove(key: number): void {
    this.running.get(key)?.abort()
    this.running.delete(key)
    this.about.delete(key)
    this.items = this.items.filter((i) => i.key !== key)
    this.changes.changed()
  }

  clear(): void {
    for (const { key } of this.items) this.remove(key)
  }

  private item(key: number): UploadItem | undefined {
    return this.items.find((i) => i.key === key)
  }

  private set(key: number, change: Partial<UploadItem>): void {
    this.items = this.items.map((i) => (i.key === key ? { ...i, ...change } : i))
    this.changes.changed()
  }

  private begin(key: number, blob: Blob): Promise<string> {
    const done = this.run(key, blob)
    done.catch(() => undefined) // who does not wait for it sees it in its state
    return done
  }

  private async run(key: number, blob: Blob): Promise<string> {
    let upload: Upload | undefined
    try {
      const id = this.item(key)?.id ?? ""
      const about = { ...this.about.get(key), ...(id === "" ? {} : { id }) }
      upload = new Upload(blob, { ...this.source, ...about, onProgress: (sent) => this.set(key, { sent, id: upload?.id ?? "" }) })
      this.running.set(key, upload)
      const done = await upload.done
      this.set(key, { state: "done", sent: blob.size, id: done })
      return done
    } catch (e) {
      this.set(key, { state: "failed", error: errorFrom(e), id: upload?.id ?? "" })
      throw e
    } finally {
      if (this.running.get(key) === upload) this.running.delete(key)
    }
  }
}

export interface UploadControl {
  uploads: readonly UploadItem[]
  add: (blob: Blob, about?: UploadAbout) => { key: number; done: Promise<string> }
  pause: (key: number) => void
  resume: (key: number) => void
  remove: (key: number) => void
}

/**
 * Uploads with progress, pause and resume. Of a source (`url` and `getToken`, as the client has them) they are the
 * component's, and end with it; an `Uploads` made elsewhere goes on.
 */
export function useUpload(of: UploadSource | Uploads): UploadControl {
  const { url, getToken, fetch } = of instanceof Uploads ? { url: "", getToken: undefined, fetch: undefined } : of
  const given = of instanceof Uploads ? of : undefined
  const [first] = useState(() => ({ getToken, fetch }))
  const own = useMemo(() => {
    if (given !== undefined || first.getToken === undefined) return undefined
    return new Uploads({ url, getToken: first.getToken, ...(first.fetch === undefined ? {} : { fetch: first.fetch }) })
  }, [given, url, first])
  useEffect(() => () => own?.clear(), [own])
  const all = given ?? own
  if (all === undefined) throw new Error("useUpload was given an Uploads first, and then none")
  const uploads = useView(all)
  const control = useMemo(() => {
    return {
      add: (blob: Blob, about?: UploadAbout) => all.add(blob, about),
      pause: (key: number) => all.pause(key),
      resume: (key: number) => all.resume(key),
      remove: (key: number) => all.remove(key),
    }
  }, [all])
  return useMemo(() => ({ uploads, ...control }), [uploads, control])
}
