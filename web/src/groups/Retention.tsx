import { Trans, useLingui } from "@lingui/react/macro"
import { useEffect, useState } from "react"
import { SkeinError, type ChatClient, type Response } from "@skein-im/client"
import { useAction, useClient } from "@skein-im/react"
import { ErrorNote, Select } from "../ui/index.js"
import { spans, useSpan } from "./times.js"
import s from "./Groups.module.css"

type Kept = Response<"skein.v1.AdminService/GetRetention">

/** Clients whose user is no administrator of the server: they are asked once. */
const others = new WeakSet<ChatClient>()
const day = spans.day

/** For administrators of the server: how long messages of a conversation are kept for everybody. */
export function Retention({ conversation }: { conversation: string }) {
  const { t } = useLingui()
  const client = useClient()
  const span = useSpan()
  const [kept, setKept] = useState<Kept | undefined>(undefined)
  useEffect(() => {
    if (others.has(client)) return
    client.call("skein.v1.AdminService/GetRetention", { conversation }).then(setKept, (e: unknown) => {
      if (e instanceof SkeinError && e.code === "permission_denied") others.add(client)
    })
  }, [client, conversation])
  const set = useAction(async (value: string) => {
    const seconds = Number(value)
    const kind = value === "default" ? "RETENTION_KIND_UNSPECIFIED" : value === "ever" ? "RETENTION_KIND_FOREVER" : "RETENTION_KIND_TIME"
    await client.call("skein.v1.AdminService/SetRetention", { conversation, kind, retentionS: kind === "RETENTION_KIND_TIME" ? seconds : 0 })
    setKept(await client.call("skein.v1.AdminService/GetRetention", { conversation }))
  })
  if (kept === undefined) return null
  const now = kept.kind === "RETENTION_KIND_TIME" ? String(kept.retentionS ?? 0) : kept.kind === "RETENTION_KIND_FOREVER" ? "ever" : "default"
  const times = [7 * day, 30 * day, 90 * day, 365 * day].map(String)
  const all = [...(times.includes(now) || now === "default" || now === "ever" ? times : [now, ...times])]
  return (
    <div className={s.block}>
      <Select
        label={t`Kept on the server (you are its administrator)`} value={now} disabled={set.pending} onChange={(v) => void set.run(v)}
        options={[{ value: "default", label: t`server default` }, { value: "ever", label: t`forever` }, ...all.map((v) => ({ value: v, label: t`for ${span(Number(v))}` }))]}
      />
      <p className={s.quiet}><Trans>Older messages are deleted for everyone.</Trans></p>
      {set.error !== undefined && <ErrorNote error={set.error} />}
    </div>
  )
}
