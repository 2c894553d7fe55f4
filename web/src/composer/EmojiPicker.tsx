import { useMemo, useState } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { Field } from "../ui/index.js"
import { usePicture } from "../timeline/media.js"
import { CustomEmoji, useStickers, type StickerPack } from "../timeline/stickers.js"
import { emoji, findEmoji, recentEmoji, usedEmoji, type GroupName } from "./emoji.js"
import s from "./EmojiPicker.module.css"

export interface PickedSticker {
  pack: string
  name: string
  alt: string
}

/** Emoji by groups, and by what they are called; the deployment's own among them as :name:. With `onSticker` its stickers, too. */
export function EmojiPicker({ onPick, onSticker }: { onPick: (emoji: string) => void; onSticker?: ((s: PickedSticker) => void) | undefined }) {
  const { t } = useLingui()
  const { packs } = useStickers()
  const [stickers, setStickers] = useState(false)
  if (onSticker === undefined || !packs.some((p) => (p.stickers ?? []).length > 0)) return <div className={s.picker}><AllEmoji onPick={onPick} /></div>
  return (
    <div className={s.picker}>
      <div className={s.kinds} role="group" aria-label={t`Show`}>
        <button type="button" className={s.kind} aria-pressed={!stickers} onClick={() => setStickers(false)}><Trans>Emoji</Trans></button>
        <button type="button" className={s.kind} aria-pressed={stickers} onClick={() => setStickers(true)}><Trans>Stickers</Trans></button>
      </div>
      {stickers ? <div className={s.scroll}>{packs.map((p) => <Pack key={p.name} pack={p} onPick={onSticker} />)}</div> : <AllEmoji onPick={onPick} />}
    </div>
  )
}

function Pack({ pack, onPick }: { pack: StickerPack; onPick: (s: PickedSticker) => void }) {
  const title = pack.title || pack.name || ""
  return (
    <section aria-label={title}>
      <h3 className={s.title}>{title}</h3>
      <div className={s.stickers}>
        {(pack.stickers ?? []).map((one) => <StickerTile key={one.name} id={one.media?.id ?? ""} alt={one.alt ?? one.name ?? ""} onPick={() => onPick({ pack: pack.name ?? "", name: one.name ?? "", alt: one.alt ?? "" })} />)}
      </div>
    </section>
  )
}

function StickerTile({ id, alt, onPick }: { id: string; alt: string; onPick: () => void }) {
  const { url } = usePicture(id === "" ? undefined : { id, conversation: "", seq: 0 }, false)
  return <button type="button" className={s.sticker} onClick={onPick} title={alt} aria-label={alt}>{url !== undefined && <img src={url} alt="" loading="lazy" />}</button>
}

function AllEmoji({ onPick }: { onPick: (emoji: string) => void }) {
  const { t } = useLingui()
  const [query, setQuery] = useState("")
  const [recent] = useState(recentEmoji)
  const { emoji: own } = useStickers()
  const names: Record<GroupName, string> = { smileys: t`Smileys`, hands: t`Hands and people`, hearts: t`Hearts and stars`, nature: t`Nature`, food: t`Food and drink`, doing: t`Activities`, things: t`Things`, signs: t`Symbols` }
  const found = useMemo(() => (query.trim() === "" ? undefined : [...[...own.keys()].filter((n) => n.includes(query.trim())).map((n) => `:${n}:`), ...findEmoji(query.trim(), 48).map((e) => e.char)]), [query, own])
  const pick = (char: string): void => {
    usedEmoji(char)
    onPick(char)
  }
  return (
    <>
      <Field label={t`Find an emoji`} bare placeholder={t`Find an emoji`} value={query} onChange={(e) => setQuery(e.currentTarget.value)} />
      <div className={s.scroll}>
        {found !== undefined ? found.length === 0 ? <p className={s.none}><Trans>No matching emoji.</Trans></p> : <Group title={t`Found`} all={found} onPick={pick} /> : (
          <>
            {recent.length > 0 && <Group title={t`Recent`} all={recent} onPick={pick} />}
            {own.size > 0 && <Group title={t`Custom`} all={[...own.keys()].map((n) => `:${n}:`)} onPick={pick} />}
            {emoji.map((g) => <Group key={g.name} title={names[g.name]} all={g.all.map((e) => e.char)} onPick={pick} />)}
          </>
        )}
      </div>
    </>
  )
}

function Group({ title, all, onPick }: { title: string; all: readonly string[]; onPick: (char: string) => void }) {
  return (
    <section aria-label={title}>
      <h3 className={s.title}>{title}</h3>
      <div className={s.grid}>
        {all.map((c) => {
          const own = /^:([a-z0-9_+-]+):$/.exec(c)
          return <button key={c} type="button" className={s.one} onClick={() => onPick(c)} title={own === null ? nameOf(c) : c}>{own === null ? c : <CustomEmoji name={own[1]!} />}</button>
        })}
      </div>
    </section>
  )
}

function nameOf(char: string): string {
  for (const g of emoji) for (const e of g.all) if (e.char === char) return `:${e.words[0] ?? ""}:`
  return ""
}
