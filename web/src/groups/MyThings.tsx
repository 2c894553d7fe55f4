import { Trans, useLingui } from "@lingui/react/macro"
import { Bell, BellOff, EyeOff, Folder, MailWarning, Pin, Timer } from "lucide-react"
import { useState, type ReactNode } from "react"
import { useLocation } from "wouter"
import type { ChatConversation, Summary } from "@skein-im/client"
import { useAction, useClient, useConversation, useConversations } from "@skein-im/react"
import { Button, Dialog, ErrorNote, Field, Menu, MenuItem, Select, Switch } from "../ui/index.js"
import { isOf, useFieldError } from "../people/says.js"
import { Way } from "./Pane.js"
import { PushLevel } from "./PushLevel.js"
import { forEver, spans, useDay, useSpan } from "./times.js"
import s from "./Groups.module.css"

type Change = Parameters<ChatConversation["setMyState"]>[0]

/** What the user set for themselves in a conversation: nobody else sees it. */
export function MyThings({ conversation, children }: { conversation: string; children?: ReactNode }) {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const summary = useConversation(conversation)
  const [filing, setFiling] = useState(false)
  const set = useAction((change: Change) => client.conversation(conversation).setMyState(change))
  const mine = summary?.mine
  return (
    <section className={s.block}>
      <h3 className={s.heading}><Trans>For you</Trans></h3>
      {set.error !== undefined && <ErrorNote error={set.error} />}
      <Mute until={mine?.mutedUntilMs ?? 0} now={client.serverTimeMs()} onChange={(until) => void set.run({ mutedUntilMs: String(until) })} />
      <PushLevel now={mine?.pushLevel} onChange={(pushLevel) => void set.run({ pushLevel })} />
      <div className={s.switched}><Pin aria-hidden="true" /><Switch label={t`Keep at the top`} checked={mine?.pinned === true} onChange={(pinned) => void set.run({ pinned })} /></div>
      {children}
      <Way icon={<Folder />} end={mine?.folder || t`none`} onClick={() => setFiling(true)}><Trans>Folder</Trans></Way>
      <Way icon={<MailWarning />} disabled={summary?.markedUnread === true} onClick={() => void set.run({ unread: true })}><Trans>Mark as unread</Trans></Way>
      <Way icon={<EyeOff />} about={t`Until there is a new message`} onClick={() => void set.run({ hidden: true }).then(() => go("/"))}><Trans>Hide from the list</Trans></Way>
      {filing && <FolderDialog now={mine?.folder ?? ""} onClose={() => setFiling(false)} save={(folder) => client.conversation(conversation).setMyState({ folder })} />}
    </section>
  )
}

function Mute({ until, now, onChange }: { until: number; now: number; onChange: (until: number) => void }) {
  const { t, i18n } = useLingui()
  const span = useSpan()
  const day = useDay()
  const muted = until > now
  const end = !muted ? t`on` : until >= forEver ? t`off` : until - now < spans.day * 1000 ? t`off until ${i18n.date(new Date(until), { timeStyle: "short" })}` : t`off until ${day(until)}`
  const trigger = (
    <button type="button" className={s.way}>
      {muted ? <BellOff /> : <Bell />}
      <span className={s.wayWords}><Trans>Notifications</Trans></span>
      <span className={s.wayEnd}>{end}</span>
    </button>
  )
  return (
    <Menu trigger={trigger}>
      {muted && <MenuItem icon={<Bell />} onClick={() => onChange(0)}><Trans>Notify me again</Trans></MenuItem>}
      {[spans.hour, 8 * spans.hour, spans.day, spans.week].map((seconds) => <MenuItem key={seconds} icon={<Timer />} onClick={() => onChange(now + seconds * 1000)}><Trans>Mute for {span(seconds)}</Trans></MenuItem>)}
      <MenuItem icon={<BellOff />} onClick={() => onChange(forEver)}><Trans>Mute forever</Trans></MenuItem>
    </Menu>
  )
}

const foldersOf = (all: readonly Summary[]): string[] => [...new Set(all.map((c) => c.mine.folder ?? "").filter((f) => f !== ""))].sort()

function FolderDialog({ now, save, onClose }: { now: string; save: (folder: string) => Promise<void>; onClose: () => void }) {
  const { t } = useLingui()
  const folders = foldersOf(useConversations())
  const fieldError = useFieldError()
  const [name, setName] = useState(now)
  const put = useAction(async (folder: string) => {
    await save(folder)
    onClose()
  })
  return (
    <Dialog
      open onClose={onClose} size="s" title={t`Folder`} about={t`A folder exists as long as there is a conversation in it.`}
      actions={<>{now !== "" && <Button onClick={() => void put.run("")}><Trans>Remove it</Trans></Button>}<Button look="primary" busy={put.pending} onClick={() => void put.run(name.trim())}><Trans>Save</Trans></Button></>}
    >
      <form className={s.form} onSubmit={(e) => { e.preventDefault(); void put.run(name.trim()) }}>
        <Field label={t`Folder name`} value={name} onChange={(e) => setName(e.currentTarget.value)} maxLength={64} autoFocus error={fieldError(put.error, "folder")} />
        {folders.length > 0 && <div className={s.buttons}>{folders.map((f) => <Button key={f} icon={<Folder />} onClick={() => void put.run(f)}>{f}</Button>)}</div>}
        {put.error !== undefined && !isOf(put.error, "folder") && <ErrorNote error={put.error} />}
      </form>
    </Dialog>
  )
}

/** After how long what is said from now on disappears: who may set it, chooses; others read it. */
export function Lifetime({ conversation, may }: { conversation: string; may: boolean }) {
  const { t } = useLingui()
  const client = useClient()
  const span = useSpan()
  const now = useConversation(conversation)?.lifetimeS ?? 0
  const set = useAction((seconds: number) => client.conversation(conversation).setLifetime(seconds))
  const usual = [0, spans.hour, spans.day, spans.week, 4 * spans.week]
  const words = (seconds: number): string => (seconds === 0 ? t`never` : t`after ${span(seconds)}`)
  if (!may) return now === 0 ? null : <p className={s.quiet}><Timer aria-hidden="true" /> <Trans>Messages disappear {words(now)}.</Trans></p>
  const all = usual.includes(now) ? usual : [...usual, now].sort((a, b) => a - b)
  return (
    <div className={s.block}>
      <Select label={t`Messages disappear`} value={String(now)} disabled={set.pending} options={all.map((seconds) => ({ value: String(seconds), label: words(seconds) }))} onChange={(v) => void set.run(Number(v))} />
      {set.error !== undefined && <ErrorNote error={set.error} />}
    </div>
  )
}
