import { Trans, useLingui } from "@lingui/react/macro"
import { languages, language, type Language } from "../i18n.js"
import { density, textSize, theme } from "../theme.js"
import { Choice, Select, Switch } from "../ui/index.js"
import { Page, Section } from "./parts.js"
import { enterSends, usePreference } from "./preferences.js"
import s from "./Settings.module.css"

/** How the app looks in this browser. */
export function Appearance() {
  const { t } = useLingui()
  const [looks, setLooks] = usePreference(theme)
  const [tight, setTight] = usePreference(density)
  const [size, setSize] = usePreference(textSize)
  const [enter, setEnter] = usePreference(enterSends)
  const [speaks, setSpeaks] = usePreference(language)
  const names: Record<typeof looks, string> = { system: t`System default`, light: t`Light`, dark: t`Dark` }
  return (
    <Page title={t`Appearance`} about={<Trans>For this browser; other devices have their own.</Trans>}>
      <Section title={t`Theme`}>
        <div className={s.looks} role="radiogroup" aria-label={t`Theme`}>
          {(["system", "light", "dark"] as const).map((look) => (
            <button key={look} type="button" role="radio" aria-checked={look === looks} className={s.look} onClick={() => setLooks(look)}
              tabIndex={look === looks ? 0 : -1} onKeyDown={(e) => step(e, ["system", "light", "dark"] as const, looks, setLooks)}>
              <span className={s.sample} data-look={look} aria-hidden="true"><i /><i /></span>
              {names[look]}
            </button>
          ))}
        </div>
      </Section>
      <Section title={t`Text and space`}>
        <div className={s.pad}>
          <Choice label={t`Text size`} value={size} onChange={setSize} options={[{ value: "small", label: t`Small` }, { value: "medium", label: t`Medium` }, { value: "large", label: t`Large` }, { value: "larger", label: t`Larger` }]} />
        </div>
        <div className={s.slot}><Switch label={t`Compact`} about={t`More on the screen, less space between.`} checked={tight === "compact"} onChange={(on) => setTight(on ? "compact" : "cosy")} /></div>
      </Section>
      <Section title={t`Writing`}>
        <div className={s.slot}><Switch label={t`Enter sends`} about={enter === "on" ? t`Shift+Enter starts a new line.` : t`Enter starts a new line; Ctrl+Enter sends.`} checked={enter === "on"} onChange={(on) => setEnter(on ? "on" : "off")} /></div>
      </Section>
      <Section title={t`Language`}>
        <div className={s.pad}>
          <Select<Language | ""> label={t`Language`} bare value={speaks} onChange={setSpeaks}
            options={[{ value: "", label: t`Browser default` }, ...(Object.keys(languages) as Language[]).map((l) => ({ value: l, label: languages[l] }))]} />
        </div>
      </Section>
    </Page>
  )
}

/** Arrow keys choose among what stands side by side, as in any radio group. */
function step<T extends string>(e: React.KeyboardEvent<HTMLElement>, all: readonly T[], now: T, set: (v: T) => void): void {
  const by = e.key === "ArrowRight" || e.key === "ArrowDown" ? 1 : e.key === "ArrowLeft" || e.key === "ArrowUp" ? -1 : 0
  if (by === 0) return
  e.preventDefault()
  const next = all[(all.indexOf(now) + by + all.length) % all.length]
  if (next === undefined) return
  set(next)
  const row = e.currentTarget.parentElement
  ;(row?.children[all.indexOf(next)] as HTMLElement | undefined)?.focus()
}
