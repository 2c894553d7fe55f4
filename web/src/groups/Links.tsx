import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { Copy, Plus, QrCode, Share2, Trash2 } from "lucide-react"
import { useEffect, useState } from "react"
import type { Response } from "@skein-im/client"
import { useAction, useClient } from "@skein-im/react"
import { Button, Confirm, Dialog, ErrorNote, Field, IconButton, Loading, Note, Select, Switch, toast } from "../ui/index.js"
import { useCalled } from "../people/Person.js"
import { isOf, useFieldError } from "../people/says.js"
import { Pane } from "./Pane.js"
import { powersIn, type Group } from "./powers.js"
import { Qr } from "./Qr.js"
import { spans, useDay, useSpan } from "./times.js"
import s from "./Groups.module.css"

type Link = NonNullable<Response<"skein.v1.GroupService/ListInviteLinks">["links"]>[number]

export const addressOf = (code: string): string => `${location.origin}/join/${code}`

/** The links by which others come in: made, shown, shared and ended. */
export function Links({ group, onBack, onDone }: { group: Group; onBack: () => void; onDone: (g: Group | undefined) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [links, setLinks] = useState<readonly Link[] | undefined>(undefined)
  const [making, setMaking] = useState(false)
  const { conversation } = group
  const load = useAction(async () => {
    const { links: all } = await client.call("skein.v1.GroupService/ListInviteLinks", { conversation, limit: 100 })
    setLinks([...(all ?? [])].sort((a, b) => Number(b.createdAtMs) - Number(a.createdAtMs)))
  })
  const open = useAction(async () => onDone((await client.call("skein.v1.GroupService/UpdateGroup", { conversation, join: "JOIN_MODE_OPEN" })).group))
  const { run } = load
  useEffect(() => void run(), [run])
  const may = powersIn(group)
  return (
    <Pane title={t`Invite links`} onBack={onBack} end={may.links && <Button look="quiet" icon={<Plus />} onClick={() => setMaking(true)}><Trans>New link</Trans></Button>}>
      {!may.links && (
        <>
          <Note tone="warning"><Trans>Only members can add people here; links are off. Turn links on?</Trans></Note>
          <Button look="primary" busy={open.pending} onClick={() => void open.run()}><Trans>Turn links on</Trans></Button>
          {open.error !== undefined && <ErrorNote error={open.error} />}
        </>
      )}
      {load.error !== undefined && <ErrorNote error={load.error} onRetry={() => void run()} />}
      {links === undefined && load.error === undefined && <Loading />}
      {links?.length === 0 && may.links && <Note><Trans>There is no link yet. Anyone who has one {group.join === "JOIN_MODE_APPROVAL" ? t`can ask to join` : t`joins at once`}.</Trans></Note>}
      {links?.map((l) => <One key={l.code} link={l} name={group.name} onGone={() => void run()} />)}
      {making && <MakeLink conversation={conversation} onClose={() => setMaking(false)} onMade={(l) => setLinks([l, ...(links ?? [])])} />}
    </Pane>
  )
}

function One({ link, name, onGone }: { link: Link; name: string; onGone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const day = useDay()
  const by = useCalled(link.creator)
  const [seen, setSeen] = useState(false)
  const [asking, setAsking] = useState(false)
  const address = addressOf(link.code)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(address).then(() => toast(t`Link copied.`), () => toast(t`Your browser doesn’t allow copying. Select the text and copy it.`, { tone: "error" }))
  }
  const end = async (): Promise<void> => {
    await client.call("skein.v1.GroupService/RevokeInviteLink", { conversation: link.conversation, code: link.code })
    onGone()
  }
  const uses = link.uses ?? 0
  return (
    <section className={s.link}>
      <p className={s.address}>{address}</p>
      <p className={s.quiet}>
        <Plural value={uses} _0="Not used yet" one="Used once" other="Used # times" />
        {(link.maxUses ?? 0) > 0 && <> · <Trans>at most {link.maxUses}</Trans></>}
        {link.expiresAtMs !== undefined && link.expiresAtMs !== "0" && <> · <Trans>until {day(link.expiresAtMs)}</Trans></>}
        {link.guests === true && <> · <Trans>also for guests</Trans></>}
        {" · "}<Trans>by {by}</Trans>
      </p>
      {seen && <div className={s.qr}><Qr text={address} /></div>}
      <div className={s.buttons}>
        <Button icon={<Copy />} onClick={() => void copy()}><Trans>Copy</Trans></Button>
        <IconButton label={t`QR code`} on={seen} onClick={() => setSeen(!seen)}><QrCode /></IconButton>
        {"share" in navigator && <IconButton label={t`Share`} onClick={() => void navigator.share({ title: name, url: address }).catch(() => undefined)}><Share2 /></IconButton>}
        <IconButton label={t`End this link`} look="danger" onClick={() => setAsking(true)}><Trash2 /></IconButton>
      </div>
      <Confirm open={asking} onClose={() => setAsking(false)} title={t`End this link?`} action={t`End it`} danger onConfirm={end}><Trans>Nobody can use it any more. Those who joined with it stay.</Trans></Confirm>
    </section>
  )
}

function MakeLink({ conversation, onClose, onMade }: { conversation: string; onClose: () => void; onMade: (l: Link) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const span = useSpan()
  const fieldError = useFieldError()
  const [lasts, setLasts] = useState(String(spans.week))
  const [uses, setUses] = useState("")
  const [guests, setGuests] = useState(false)
  const make = useAction(async () => {
    const expiresAtMs = lasts === "0" ? "0" : String(client.serverTimeMs() + Number(lasts) * 1000)
    const { link } = await client.call("skein.v1.GroupService/CreateInviteLink", { conversation, expiresAtMs, maxUses: Number(uses) || 0, guests })
    onMade(link)
    onClose()
  })
  const named = ["expires_at_ms", "max_uses"]
  return (
    <Dialog open onClose={onClose} size="s" title={t`New link`} actions={<><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" busy={make.pending} onClick={() => void make.run()}><Trans>Create link</Trans></Button></>}>
      <div className={s.form}>
        <Select label={t`It holds for`} value={lasts} onChange={setLasts} options={[spans.hour, spans.day, spans.week, 4 * spans.week, 0].map((seconds) => ({ value: String(seconds), label: seconds === 0 ? t`ever` : span(seconds) }))} />
        <Field label={t`For how many people`} type="number" inputMode="numeric" min={1} max={1_000_000} value={uses} onChange={(e) => setUses(e.currentTarget.value)} placeholder={t`any number`} error={fieldError(make.error, "max_uses")} />
        <Switch label={t`Also for guests`} about={t`People without an account, where the server allows them.`} checked={guests} onChange={setGuests} />
        {make.error !== undefined && !named.some((f) => isOf(make.error, f)) && <ErrorNote error={make.error} />}
      </div>
    </Dialog>
  )
}
