import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient, useConversations } from "@skein-im/react"
import type { Summary } from "@skein-im/client"
import { BellOff } from "lucide-react"
import { useState } from "react"
import { Link } from "wouter"
import { momentOf } from "../timeline/format.js"
import { useName } from "../timeline/names.js"
import { Button, ErrorNote, Note, Switch, Tag } from "../ui/index.js"
import { canPush, settle, wanted } from "../push.js"
import { Pushes } from "./Pushes.js"
import { usePreference } from "./preferences.js"
import { Page, Row, Section } from "./parts.js"
import s from "./Settings.module.css"

/** A mute that is further away than this is meant for ever. */
const forEver = 10 * 366 * 24 * 3600_000

/** Whether this browser may notify me, and which conversations are muted. */
export function Notifications() {
  const { t } = useLingui()
  const client = useClient()
  const muted = useConversations((all) => all.filter((c) => (c.mine.mutedUntilMs ?? 0) > client.serverTimeMs()))
  return (
    <Page title={t`Notifications`}>
      <Section title={t`This browser`}><Permission /></Section>
      <Pushes />
      <Section title={t`Muted conversations`} about={<Trans>They still count as unread, but don’t notify you. Mute a conversation in its details.</Trans>}>
        {muted.length === 0 && <Row icon={<BellOff />} title={<Trans>None</Trans>} about={<Trans>All conversations can notify you.</Trans>} />}
        {muted.map((c) => <Muted key={c.id} of={c} />)}
      </Section>
    </Page>
  )
}

function Permission() {
  const { t } = useLingui()
  const can = "Notification" in globalThis && window.isSecureContext
  const client = useClient()
  const [now, setNow] = useState<NotificationPermission>(can ? Notification.permission : "denied")
  const [push, setPush] = usePreference(wanted)
  const settled = useAction(() => settle(client))
  if (!can) return <div className={s.pad}><Note><Trans>This browser shows notifications only for secure (https) pages.</Trans></Note></div>
  const ask = (): void => void Notification.requestPermission().then((p) => {
    setNow(p)
    return settled.run()
  })
  const want = (on: boolean): void => {
    setPush(on ? "on" : "off")
    void settled.run()
  }
  return (
    <>
      <Row title={<Trans>Notifications</Trans>}
        tag={now === "granted" ? <Tag tone="success"><Trans>Allowed</Trans></Tag> : now === "denied" ? <Tag tone="danger"><Trans>Blocked</Trans></Tag> : <Tag><Trans>Not asked yet</Trans></Tag>}
        about={now === "denied" ? t`Notifications are blocked for this page. You can allow them next to the address bar.` : undefined}>
        {now === "default" && <Button look="primary" onClick={ask}><Trans>Allow</Trans></Button>}
      </Row>
      {now === "granted" && canPush() && (
        <div className={s.pad}><Switch label={t`Even when Skein is closed`} about={t`They reach you encrypted, through your browser’s push service.`} checked={push === "on"} disabled={settled.pending} onChange={want} /></div>
      )}
      {settled.error !== undefined && <ErrorNote error={settled.error} />}
    </>
  )
}

function Muted({ of }: { of: Summary }) {
  const client = useClient()
  const peer = useName(of.kind === "dm" ? of.peer : undefined)
  const end = useAction(() => client.conversation(of.id).setMyState({ mutedUntilMs: "0" }))
  const until = of.mine.mutedUntilMs ?? 0
  return (
    <Row icon={<BellOff />} title={<Link href={`/c/${of.id}`}>{of.kind === "dm" ? peer : of.title}</Link>}
      about={end.error !== undefined ? <ErrorNote error={end.error} /> : until - Date.now() > forEver ? <Trans>Muted</Trans> : <Trans>Until {momentOf(until)}</Trans>}>
      <Button look="quiet" busy={end.pending} onClick={() => void end.run()}><Trans>Unmute</Trans></Button>
    </Row>
  )
}
