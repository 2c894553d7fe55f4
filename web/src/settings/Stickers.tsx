import { Trans, useLingui } from "@lingui/react/macro"
import type { ChatClient, Response } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { Sticker as Sign } from "lucide-react"
import { usePicture } from "../timeline/media.js"
import { Empty, Skeleton } from "../ui/index.js"
import { Page, Reading, Section } from "./parts.js"
import { useLoad } from "./useLoad.js"
import s from "./Settings.module.css"

type Answer = Response<"skein.v1.MediaService/ListStickers">
export type Pack = NonNullable<Answer["packs"]>[number]
type Emoji = NonNullable<Answer["emoji"]>[number]

/** All packs and emoji. */
export async function allStickers(call: ChatClient["call"], signal: AbortSignal): Promise<{ packs: Pack[]; emoji: Emoji[] }> {
  const packs = new Map<string, Pack>()
  const emoji: Emoji[] = []
  let from = 0
  do {
    const page = await call("skein.v1.MediaService/ListStickers", { from }, { signal })
    for (const p of page.packs ?? []) { // a pack on two pages is one
      const was = packs.get(p.name ?? "")
      packs.set(p.name ?? "", was === undefined ? p : { ...was, stickers: [...(was.stickers ?? []), ...(p.stickers ?? [])] })
    }
    emoji.push(...(page.emoji ?? []))
    from = page.next ?? 0
  } while (from !== 0)
  return { packs: [...packs.values()], emoji }
}

/** The stickers and emoji that this place has. Administrators choose them. */
export function Stickers() {
  const { t } = useLingui()
  const client = useClient()
  const all = useLoad((signal) => allStickers(client.call.bind(client), signal))
  return (
    <Page title={t`Stickers`} about={<Trans>Your administrators choose what is available.</Trans>}>
      <Reading of={all}>
        {({ packs, emoji }) => packs.length + emoji.length === 0 ? <Empty icon={<Sign />} title={t`None`}><Trans>An administrator can add custom stickers and emoji.</Trans></Empty> : (
          <>
            {packs.map((p) => (
              <Section key={p.name} title={p.title ?? p.name ?? ""}>
                <div className={s.stickers}>{(p.stickers ?? []).map((x) => <StickerPicture key={x.name} id={x.media?.id ?? ""} alt={x.alt ?? x.name ?? ""} />)}</div>
              </Section>
            ))}
            {emoji.length > 0 && <Section title={t`Emoji`}><div className={s.stickers}>{emoji.map((e) => <StickerPicture key={e.name} id={e.media?.id ?? ""} alt={`:${e.name ?? ""}:`} />)}</div></Section>}
          </>
        )}
      </Reading>
    </Page>
  )
}

export function StickerPicture({ id, alt }: { id: string; alt: string }) {
  const { url } = usePicture({ id, conversation: "", seq: 0 }, false)
  return <span className={s.sticker} title={alt}>{url === undefined ? <Skeleton round /> : <img src={url} alt={alt} loading="lazy" />}</span>
}
