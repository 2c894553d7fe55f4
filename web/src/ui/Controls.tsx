import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox"
import { Radio } from "@base-ui/react/radio"
import { RadioGroup } from "@base-ui/react/radio-group"
import { Switch as BaseSwitch } from "@base-ui/react/switch"
import { Tabs as BaseTabs } from "@base-ui/react/tabs"
import { Check } from "lucide-react"
import { useId, type ReactNode, type SelectHTMLAttributes } from "react"
import s from "./Controls.module.css"

interface OnOff {
  label: string
  about?: ReactNode
  checked: boolean
  onChange: (now: boolean) => void
  disabled?: boolean
}

/** A setting that is on or off, with its label; the whole line is what is touched. */
export function Switch({ label, about, checked, onChange, disabled = false }: OnOff) {
  const id = useId()
  return (
    <div className={s.line}>
      <label className={s.words} htmlFor={id}>
        <span id={`${id}-l`}>{label}</span>
        {about !== undefined && <span className={s.about}>{about}</span>}
      </label>
      <BaseSwitch.Root id={id} aria-labelledby={`${id}-l`} className={s.switch} checked={checked} onCheckedChange={(now) => onChange(now)} disabled={disabled}>
        <BaseSwitch.Thumb className={s.thumb} />
      </BaseSwitch.Root>
    </div>
  )
}

/** One of several that may be chosen. */
export function Checkbox({ label, about, checked, onChange, disabled = false }: OnOff) {
  return (
    <label className={s.choice}>
      <BaseCheckbox.Root className={s.checkbox} checked={checked} onCheckedChange={(now) => onChange(now)} disabled={disabled}>
        <BaseCheckbox.Indicator className={s.check}><Check /></BaseCheckbox.Indicator>
      </BaseCheckbox.Root>
      <span className={s.words}>
        <span>{label}</span>
        {about !== undefined && <span className={s.about}>{about}</span>}
      </span>
    </label>
  )
}

export interface Option<V extends string> {
  value: V
  label: string
  about?: ReactNode
}

/** One of a few, all of which are seen. */
export function Choice<V extends string>({ label, value, options, onChange, disabled = false }: { label: string; value: V; options: readonly Option<V>[]; onChange: (v: V) => void; disabled?: boolean }) {
  const id = useId()
  return (
    <div className={s.group}>
      <span id={id} className={s.legend}>{label}</span>
      <RadioGroup aria-labelledby={id} value={value} onValueChange={(v) => onChange(v as V)} disabled={disabled} className={s.choices}>
        {options.map((o) => (
          <label key={o.value} className={s.choice}>
            <Radio.Root value={o.value} className={s.radio}><Radio.Indicator className={s.bullet} /></Radio.Root>
            <span className={s.words}>
              <span>{o.label}</span>
              {o.about !== undefined && <span className={s.about}>{o.about}</span>}
            </span>
          </label>
        ))}
      </RadioGroup>
    </div>
  )
}

type Native = Omit<SelectHTMLAttributes<HTMLSelectElement>, "onChange" | "value">

/** One of many: the platform's own list, which phones show in their way. */
export function Select<V extends string>({ label, bare = false, value, options, onChange, ...rest }: Native & { label: string; bare?: boolean; value: V; options: readonly Option<V>[]; onChange: (v: V) => void }) {
  const id = useId()
  return (
    <div className={s.group}>
      <label htmlFor={id} className={bare ? "visually-hidden" : s.legend}>{label}</label>
      <select id={id} className={s.select} value={value} onChange={(e) => onChange(e.currentTarget.value as V)} {...rest}>
        {options.map((o) => <option key={o.value} value={o.value}>{o.label}</option>)}
      </select>
    </div>
  )
}

export interface Tab<V extends string> {
  value: V
  label: ReactNode
  content?: ReactNode
}

/** Views of one thing, side by side. Without contents it is a choice of views. */
export function Tabs<V extends string>({ label, value, tabs, onChange }: { label: string; value: V; tabs: readonly Tab<V>[]; onChange: (v: V) => void }) {
  return (
    <BaseTabs.Root value={value} onValueChange={(v) => onChange(v as V)} className={s.tabs}>
      <BaseTabs.List className={s.list} aria-label={label} activateOnFocus>
        {tabs.map((t) => <BaseTabs.Tab key={t.value} value={t.value} className={s.tab}>{t.label}</BaseTabs.Tab>)}
        <BaseTabs.Indicator className={s.indicator} />
      </BaseTabs.List>
      {tabs.map((t) => t.content === undefined ? <BaseTabs.Panel key={t.value} value={t.value} hidden /> : <BaseTabs.Panel key={t.value} value={t.value} className={s.panel}>{t.content}</BaseTabs.Panel>)}
    </BaseTabs.Root>
  )
}
