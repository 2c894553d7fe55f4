import { useMemo, useState } from "react"
import { Trans, useLingui } from "@lingui/react/macro"
import { Field } from "../ui/index.js"
import { CustomEmoji, useStickers } from "../timeline/stickers.js"
import { emoji, findEmoji, recentEmoji, usedEmoji, type GroupName } from "./emoji.js"
import s from "./EmojiPicker.module.css"

/** Emoji by groups, and by what they are called; the deployment's own among them as :name:. */
export function EmojiPicker({ onPick }: { onPick: (emoji: string) => void }) {
  const { t } = useLingui()
  const [query, setQuery] = useState("")
  const [recent] = useState(recentEmoji)
  const { emoji: own } = useStickers()
  const names: Record<GroupName, string> = { smileys: t`Faces`, hands: t`Hands and people`, hearts: t`Hearts and stars`, nature: t`Nature`, food: t`Food and drink`, doing: t`Doing things`, things: t`Things`, signs: t`Signs` }
  const found = useMemo(() => (query.trim() === "" ? undefined : [...[...own.keys()].filter((n) => n.includes(query.trim())).map((n) => `:${n}:`), ...findEmoji(query.trim(), 48).map((e) => e.char)]), [query, own])
  const pick = (char: string): void => {
    usedEmoji(char)
    onPick(char)
  }
  return (
    <div className={s.picker}>
      <Field label={t`Find an emoji`} bare placeholder={t`Find an emoji`} value={query} onChange={(e) => setQuery(e.currentTarget.value)} />
      <div className={s.scroll}>
        {found !== undefined ? found.length === 0 ? <p className={s.none}><Trans>None is called so.</Trans></p> : <Group title={t`Found`} all={found} onPick={pick} /> : (
          <>
            {recent.length > 0 && <Group title={t`Used last`} all={recent} onPick={pick} />}
            {own.size > 0 && <Group title={t`Of this place`} all={[...own.keys()].map((n) => `:${n}:`)} onPick={pick} />}
            {emoji.map((g) => <Group key={g.name} title={names[g.name]} all={g.all.map((e) => e.char)} onPick={pick} />)}
          </>
        )}
      </div>
    </div>
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
