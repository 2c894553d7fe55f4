import { useCallback, useEffect, useState } from "react"
import { SkeinError } from "@skein-im/client"
import { errorFrom, useClient, type ChatClient } from "@skein-im/react"

/*
 * Bytes of uploads. A link is asked for over the connection (LinkMedia, SPEC §13.5) and holds for some minutes; a
 * picture is fetched by it once and kept as a blob, as long as it is shown and, of the last ones, somewhat longer.
 * What never changes need not be asked twice; who may not fetch it any more is not given the link.
 */

export interface MediaPlace {
  id: string
  conversation: string
  /** 0: the user's own, that no message names yet. */
  seq: number
}

interface Kept {
  url: string
  users: number
}

/** How many pictures that nobody shows are kept, and how many are fetched at once. */
const mostIdle = 80
const mostAtOnce = 6

export class Pictures {
  private readonly kept = new Map<string, Kept>()
  private readonly coming = new Map<string, Promise<Kept>>()
  private running = 0
  private readonly waiting: (() => void)[] = []

  constructor(private readonly client: ChatClient) {}

  peek(id: string, thumbnail: boolean): string | undefined {
    return this.kept.get(key(id, thumbnail))?.url
  }

  /** The picture, until release. */
  async take(p: MediaPlace, thumbnail: boolean): Promise<string> {
    const k = key(p.id, thumbnail)
    let coming = this.coming.get(k)
    const kept = this.kept.get(k)
    if (kept === undefined && coming === undefined) {
      coming = this.fetch(p, thumbnail).finally(() => this.coming.delete(k))
      this.coming.set(k, coming)
    }
    const one = kept ?? (await coming!)
    one.users++
    this.kept.delete(k)
    this.kept.set(k, one) // used last
    return one.url
  }

  release(id: string, thumbnail: boolean): void {
    const one = this.kept.get(key(id, thumbnail))
    if (one !== undefined) one.users--
    const idle = [...this.kept].filter(([, k]) => k.users <= 0)
    for (const [k, old] of idle.slice(0, Math.max(0, idle.length - mostIdle))) {
      this.kept.delete(k)
      URL.revokeObjectURL(old.url)
    }
  }

  private async fetch(p: MediaPlace, thumbnail: boolean): Promise<Kept> {
    if (this.running >= mostAtOnce) await new Promise<void>((go) => this.waiting.push(go))
    this.running++
    try {
      const r = await fetch(await linkOf(this.client, p, thumbnail))
      if (!r.ok) throw new SkeinError({ code: r.status === 404 ? "not_found" : "unavailable", message: `status ${r.status}` })
      const one = { url: URL.createObjectURL(await r.blob()), users: 0 }
      this.kept.set(key(p.id, thumbnail), one)
      return one
    } finally {
      this.running--
      this.waiting.shift()?.()
    }
  }
}

const key = (id: string, thumbnail: boolean): string => `${id}/${thumbnail ? "t" : "f"}`

/** An address that a browser fetches without a header, for some minutes. */
export async function linkOf(client: ChatClient, p: MediaPlace, thumbnail = false): Promise<string> {
  const media = p.seq > 0 ? { id: p.id, conversation: p.conversation, seq: String(p.seq) } : { id: p.id }
  const { path } = await client.call("skein.v1.MediaService/LinkMedia", { media, thumbnail })
  if (path === undefined || !path.startsWith("/media/")) throw new SkeinError({ code: "not_found" })
  return path
}

const all = new WeakMap<ChatClient, Pictures>()

export function picturesOf(client: ChatClient): Pictures {
  let p = all.get(client)
  if (p === undefined) all.set(client, (p = new Pictures(client)))
  return p
}

export interface Fetched {
  url: string | undefined
  error: SkeinError | undefined
  retry: () => void
}

/** A picture as an address of this page; undefined place: none is wanted yet. */
export function usePicture(place: MediaPlace | undefined, thumbnail: boolean): Fetched {
  const client = useClient()
  const { id = "", conversation = "", seq = 0 } = place ?? {}
  const [state, setState] = useState<{ url: string | undefined; error: SkeinError | undefined; of: string }>({ url: undefined, error: undefined, of: "" })
  const [tries, setTries] = useState(0)
  useEffect(() => {
    if (id === "") return undefined
    let over = false
    let taken = false
    const pictures = picturesOf(client)
    pictures.take({ id, conversation, seq }, thumbnail).then(
      (url) => {
        if (over) return pictures.release(id, thumbnail)
        taken = true
        setState({ url, error: undefined, of: id })
      },
      (e: unknown) => {
        if (!over) setState({ url: undefined, error: errorFrom(e), of: id })
      },
    )
    return () => {
      over = true
      if (taken) pictures.release(id, thumbnail)
    }
  }, [client, id, conversation, seq, thumbnail, tries])
  const retry = useCallback(() => setTries((n) => n + 1), [])
  const own = state.of === id ? state : { url: undefined, error: undefined }
  return { url: own.url ?? picturesOf(client).peek(id, thumbnail), error: own.error, retry }
}

/** Has the browser keep an upload as a file. */
export async function download(client: ChatClient, place: MediaPlace, name: string): Promise<void> {
  const a = document.createElement("a")
  a.href = await linkOf(client, place)
  a.download = name
  a.click()
}
