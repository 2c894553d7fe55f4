import { useEffect, useMemo, useSyncExternalStore } from "react"
import type { Response } from "@skein-im/client"
import { useClient, type ChatClient } from "@skein-im/react"
import { usePicture } from "./media.js"
import s from "./Content.module.css"

type Page = Response<"skein.v1.MediaService/ListStickers">
export type StickerPack = NonNullable<Page["packs"]>[number]
type Emoji = NonNullable<Page["emoji"]>[number]

interface All {
  packs: readonly StickerPack[]
  emoji: ReadonlyMap<string, Emoji>
}

const nothing: All = { packs: [], emoji: new Map() }
/** A list that is older is asked for anew when it is shown. */
const fresh = 60_000

/** The deployment's stickers and emoji (SPEC §4.35), read when they are first shown. */
class Stickers {
  private state = nothing
  private askedAt = 0
  private revision = "0"
  private readonly listeners = new Set<() => void>()

  constructor(private readonly client: ChatClient) {}

  readonly getSnapshot = (): All => this.state
  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  async read(): Promise<void> {
    if (Date.now() - this.askedAt < fresh) return
    this.askedAt = Date.now()
    try {
      await this.pages()
    } catch {
      this.askedAt = 0 // names stand for the pictures; asked again when they are shown again
    }
  }

  private async pages(): Promise<void> {
    const ask = (from: number, since = "0"): Promise<Page> => this.client.call("skein.v1.MediaService/ListStickers", { since, from })
    let page = await ask(0, this.revision)
    if (page.revision === this.revision) return
    const packs = new Map<string, StickerPack>()
    const emoji = new Map<string, Emoji>()
    for (let pages = 0; pages < 100; pages++) {
      for (const p of page.packs ?? []) {
        const old = packs.get(p.name ?? "")
        packs.set(p.name ?? "", old === undefined ? p : { ...old, stickers: [...(old.stickers ?? []), ...(p.stickers ?? [])] })
      }
      for (const e of page.emoji ?? []) emoji.set(e.name ?? "", e)
      if ((page.next ?? 0) === 0) break
      page = await ask(page.next ?? 0)
    }
    this.revision = page.revision ?? "0"
    this.state = { packs: [...packs.values()], emoji }
    for (const f of [...this.listeners]) f()
  }
}

const all = new WeakMap<ChatClient, Stickers>()

export function useStickers(): All {
  const client = useClient()
  const one = useMemo(() => {
    let found = all.get(client)
    if (found === undefined) all.set(client, (found = new Stickers(client)))
    return found
  }, [client])
  useEffect(() => void one.read(), [one])
  return useSyncExternalStore(one.subscribe, one.getSnapshot)
}

export function useEmojiNames(): ReadonlyMap<string, Emoji> {
  return useStickers().emoji
}

/** An emoji of the deployment; of one that is not there any more its name. */
export function CustomEmoji({ name }: { name: string }) {
  const { emoji } = useStickers()
  const id = emoji.get(name)?.media?.id
  const { url } = usePicture(id === undefined ? undefined : { id, conversation: "", seq: 0 }, false)
  return url === undefined ? <>{`:${name}:`}</> : <img className={s.emoji} src={url} alt={`:${name}:`} title={`:${name}:`} />
}

/** A reaction: an emoji, or one of the deployment's as :name:. */
export function ReactionMark({ reaction }: { reaction: string }) {
  const m = /^:([a-z0-9_+-]{1,32}):$/.exec(reaction)
  return m === null ? <span>{reaction}</span> : <CustomEmoji name={m[1]!} />
}
