import { Trans, useLingui } from "@lingui/react/macro"
import { useConnection } from "@skein-im/react"
import { Check, ChevronLeft, Copy, WifiOff } from "lucide-react"
import { useState, type ReactNode } from "react"
import { Link } from "wouter"
import { Button, cx, Empty, ErrorNote, IconButton, Loading } from "../ui/index.js"
import type { Loaded } from "./useLoad.js"
import s from "./Settings.module.css"

/** A page of the settings: a title, and sections. On a phone the way back stands before the title. */
export function Page({ title, about, actions, back = "/settings", children }: { title: string; about?: ReactNode; actions?: ReactNode; back?: string; children: ReactNode }) {
  const { t } = useLingui()
  return (
    <div className={s.page}>
      <header className={s.head}>
        <Link to={back} className={s.back} aria-label={t`Back`}><ChevronLeft aria-hidden="true" /></Link>
        <h1 className={s.title}>{title}</h1>
        {actions}
      </header>
      {about !== undefined && <p className={s.lead}>{about}</p>}
      {children}
    </div>
  )
}

export function Section({ title, about, children, danger = false }: { title?: string; about?: ReactNode; children: ReactNode; danger?: boolean }) {
  return (
    <section className={cx(s.section, danger && s.danger)}>
      {title !== undefined && <h2 className={s.sectionTitle}>{title}</h2>}
      <div className={s.card}>{children}</div>
      {about !== undefined && <p className={s.about}>{about}</p>}
    </section>
  )
}

/** A line: what it is, and what can be done with it. */
export function Row({ icon, title, about, tag, children }: { icon?: ReactNode; title: ReactNode; about?: ReactNode; tag?: ReactNode; children?: ReactNode }) {
  return (
    <div className={s.row}>
      {icon !== undefined && <span className={s.sign}>{icon}</span>}
      <div className={s.words}>
        <span className={s.rowTitle}><bdi>{title}</bdi>{tag}</span>
        {about !== undefined && <span className={s.quiet}>{about}</span>}
      </div>
      {children !== undefined && <div className={s.acts}>{children}</div>}
    </div>
  )
}

/** What is being read, could not be, or is here. */
export function Reading<T>({ of, children }: { of: Loaded<T>; children: (data: T) => ReactNode }) {
  const { t } = useLingui()
  const offline = useConnection().state !== "connected"
  if (of.data !== undefined) {
    return <>{of.error !== undefined && <ErrorNote error={of.error} onRetry={of.reload} />}{children(of.data)}</>
  }
  if (of.error !== undefined) return <ErrorNote error={of.error} onRetry={of.reload} />
  if (offline) return <Empty icon={<WifiOff />} title={t`You are offline`}><Trans>This is shown as soon as you’re online.</Trans></Empty>
  return <Loading />
}

/** Text that is there to be taken away: a link, a secret. */
export function CopyText({ label, value, mono = false }: { label: string; value: string; mono?: boolean }) {
  const { t } = useLingui()
  const [copied, setCopied] = useState(false)
  const copy = (): void => {
    void copyText(value).then((ok) => {
      setCopied(ok)
      if (ok) setTimeout(() => setCopied(false), 2000)
    })
  }
  return (
    <div className={s.copy}>
      <output className={cx(s.copied, mono && s.mono)} aria-label={label} tabIndex={0}>{value}</output>
      <IconButton label={copied ? t`Copied` : t`Copy`} onClick={copy}>{copied ? <Check /> : <Copy />}</IconButton>
    </div>
  )
}

/** Puts text on the clipboard; false where the browser does not let it (a page of plain http). */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement("textarea")
    area.value = text
    area.style.position = "fixed"
    area.style.opacity = "0"
    document.body.append(area)
    area.select()
    const ok = document.execCommand("copy")
    area.remove()
    return ok
  }
}

/** The buttons of a form, below it. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className={s.actions}>{children}</div>
}

/** A form in a card. */
export function Form({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  return <form className={s.form} onSubmit={(e) => { e.preventDefault(); onSubmit() }}>{children}</form>
}

/** Has the browser keep a text as a file. */
export function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
  const a = document.createElement("a")
  a.href = url
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** Codes that are shown once: to be copied or kept as a file. */
export function Codes({ codes, name }: { codes: readonly string[]; name: string }) {
  const { t } = useLingui()
  const [copied, setCopied] = useState(false)
  const text = codes.join("\n")
  return (
    <div className={s.codes}>
      <ul className={s.codeList} aria-label={t`Recovery codes`}>{codes.map((c) => <li key={c} className={s.mono}>{c}</li>)}</ul>
      <Actions>
        <Button icon={copied ? <Check /> : <Copy />} onClick={() => void copyText(text).then(setCopied)}>{copied ? <Trans>Copied</Trans> : <Trans>Copy</Trans>}</Button>
        <Button onClick={() => saveText(name, text + "\n")}><Trans>Save as a file</Trans></Button>
      </Actions>
    </div>
  )
}
