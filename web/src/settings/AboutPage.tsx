import { Trans, useLingui } from "@lingui/react/macro"
import { useClient, useConnection } from "@skein-im/react"
import { BookOpen, Code } from "lucide-react"
import type { ReactNode } from "react"
import { sizeOf } from "../timeline/format.js"
import { Page, Row, Section } from "./parts.js"
import { useSpan } from "./spans.js"
import s from "./Settings.module.css"

/** What this server allows, and where to read more. */
export function AboutPage() {
  const { t } = useLingui()
  const client = useClient()
  const state = useConnection().state
  const span = useSpan()
  const l = client.limits
  const facts: (readonly [string, ReactNode])[] = [
    [t`Server`, location.host],
    [t`Connection`, state === "connected" ? t`Connected` : t`Not connected`],
    [t`Longest message`, l.contentBytes === undefined ? "—" : sizeOf(l.contentBytes)],
    [t`Largest file`, l.mediaBytes === undefined || l.mediaBytes === 0 ? t`Files are turned off` : sizeOf(l.mediaBytes)],
    [t`Messages can be edited`, (l.editWindowMs ?? 0) === 0 ? t`Not at all` : span(l.editWindowMs ?? 0)],
    [t`Messages can be deleted for everyone`, (l.recallWindowMs ?? 0) === 0 ? t`At any time` : span(l.recallWindowMs ?? 0)],
    [t`Keep messages`, (l.retentionMs ?? 0) === 0 ? t`Forever` : span(l.retentionMs ?? 0)],
  ]
  return (
    <Page title={t`About`} about={<Trans>Skein, instant messaging on a server of your own.</Trans>}>
      <Section title={t`This server`}>
        <dl className={s.facts}>{facts.map(([name, value]) => [<dt key={`${name} t`}>{name}</dt>, <dd key={`${name} d`}>{value}</dd>])}</dl>
      </Section>
      <Section title={t`Read more`}>
        <a href="/docs/" className={s.rowButton}><Row icon={<BookOpen />} title={<Trans>Documents</Trans>} about={<Trans>How this server is set up.</Trans>} /></a>
        <a href="/api/docs" className={s.rowButton}><Row icon={<Code />} title={<Trans>API</Trans>} about={<Trans>For developers.</Trans>} /></a>
      </Section>
      <Section about={<Trans>Skein is free software under the Apache License 2.0.</Trans>}><Row title={<Trans>Your id</Trans>} about={client.user} /></Section>
    </Page>
  )
}
