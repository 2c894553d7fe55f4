import { Plural, Trans, useLingui } from "@lingui/react/macro"
import type { Response } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { Link2, Plus } from "lucide-react"
import { useState } from "react"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, CopyText, Form, Reading, Row, Section } from "../settings/parts.js"
import { QrCode } from "../settings/QrCode.js"
import { useLoad } from "../settings/useLoad.js"
import { momentOf } from "../timeline/format.js"
import { Button, Confirm, Dialog, Empty, ErrorNote, Field, Select } from "../ui/index.js"
import { may } from "./access.js"
import { day, registrationUrl, usesLeft } from "./links.js"
import { Page } from "./parts.js"
import { useCall, useRole } from "./useRole.js"

export type RegistrationLink = NonNullable<Response<"skein.v1.AdminService/ListRegistrationLinks">["links"]>[number]

/** Links by which people register where not everybody may. */
export function Links() {
  const { t } = useLingui()
  const call = useCall()
  const manage = may(useRole(), "manage")
  const [making, setMaking] = useState(false)
  const [ending, setEnding] = useState<RegistrationLink | undefined>(undefined)
  const all = useLoad(async (signal) => (await call("skein.v1.AdminService/ListRegistrationLinks", {}, { signal })).links ?? [])
  return (
    <Page narrow title={t`Invitations`} about={<Trans>Anyone with such a link can create an account here, even where registration is by invitation.</Trans>}
      actions={manage && <Button look="primary" icon={<Plus />} onClick={() => setMaking(true)}><Trans>New link</Trans></Button>}>
      <Reading of={all}>
        {(links) => links.length === 0
          ? <Empty icon={<Link2 />} title={t`No active links`}><Trans>Create one and share it with those you want to let in. Its code is shown once.</Trans></Empty>
          : (
            <Section about={<Trans>People who registered with a link stay when it expires.</Trans>}>
              {links.map((l) => (
                <Row key={l.id} icon={<Link2 />} title={l.note || t`Without a note`} about={<><Uses of={l} /> · <Trans>until {momentOf(Number(l.expiresAtMs ?? 0))}</Trans></>}>
                  {manage && <Button look="quiet" onClick={() => setEnding(l)}><Trans>End</Trans></Button>}
                </Row>
              ))}
            </Section>
          )}
      </Reading>
      <Dialog open={making} onClose={() => setMaking(false)} title={t`New invitation`} size="s"><NewLink onDone={all.reload} onClose={() => setMaking(false)} /></Dialog>
      <Confirm open={ending !== undefined} onClose={() => setEnding(undefined)} danger title={t`End this link?`} action={t`End the link`}
        onConfirm={async () => { await call("skein.v1.AdminService/RevokeRegistrationLink", { id: ending?.id ?? "" }); all.reload() }}>
        <Trans>Nobody can register with it any more.</Trans>
      </Confirm>
    </Page>
  )
}

function Uses({ of }: { of: RegistrationLink }) {
  const left = usesLeft(of)
  const used = of.uses ?? 0
  return left === undefined ? <Plural value={used} _0="not used yet" one="used once" other="used # times" /> : <Plural value={left} _0="used up" one="# use left" other="# uses left" />
}

/** Makes a link, and shows it once: as an address and as a code for a camera. */
export function NewLink({ onDone, onClose }: { onDone?: () => void; onClose?: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [note, setNote] = useState("")
  const [uses, setUses] = useState("")
  const [days, setDays] = useState("7")
  const [made, setMade] = useState<RegistrationLink | undefined>(undefined)
  const make = useAction(async () => {
    const { link } = await call("skein.v1.AdminService/CreateRegistrationLink", { note: note.trim(), maxUses: Number(uses === "" ? 0 : uses), lifetimeMs: String(Number(days) * day) })
    setMade(link)
    onDone?.()
  })
  const errors = useFieldErrors(make.error, "note", "maxUses", "lifetimeMs")
  if (made !== undefined) {
    const url = registrationUrl(location.origin, made.code ?? "")
    return (
      <Form onSubmit={() => onClose?.()}>
        <QrCode text={url} label={t`The link as a QR code`} />
        <CopyText label={t`The link`} value={url} />
        <p><Trans>It is shown only once, and is valid until {momentOf(Number(made.expiresAtMs ?? 0))}.</Trans></p>
        {onClose !== undefined && <Actions><Button look="primary" submit><Trans>Done</Trans></Button></Actions>}
      </Form>
    )
  }
  return (
    <Form onSubmit={() => void make.run()}>
      <Field label={t`Note`} value={note} onChange={(e) => setNote(e.currentTarget.value)} maxLength={100} hint={t`For yourself: whom it is for.`} error={errors.of("note")} />
      <Field label={t`How many people can use it`} type="number" min={1} max={100_000} value={uses} onChange={(e) => setUses(e.currentTarget.value)} placeholder={t`Any number`} error={errors.of("maxUses")} />
      <Select label={t`Valid for`} value={days} onChange={setDays} options={[{ value: "1", label: t`A day` }, { value: "7", label: t`A week` }, { value: "30", label: t`30 days` }, { value: "365", label: t`A year` }]} />
      {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
      <Actions><Button look="primary" submit busy={make.pending}><Trans>Create link</Trans></Button></Actions>
    </Form>
  )
}
