import { Trans, useLingui } from "@lingui/react/macro"
import type { Response } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { useState } from "react"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, Form, Reading, Row, Section } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { Button, Choice, Field, toast } from "../ui/index.js"
import { Page, Refusal } from "./parts.js"
import { useCall } from "./useRole.js"

type Info = NonNullable<Response<"skein.v1.AccountService/GetServerInfo">["info"]>
type Mode = "REGISTRATION_MODE_OPEN" | "REGISTRATION_MODE_INVITATION" | "REGISTRATION_MODE_CLOSED"

/** What this server tells everybody of itself, and who may register. */
export function Place() {
  const { t } = useLingui()
  const call = useCall()
  const info = useLoad(async (signal) => (await call("skein.v1.AccountService/GetServerInfo", {}, { signal })).info ?? {} as Info)
  return (
    <Page narrow title={t`Server settings`} about={<Trans>It counts at once, on all nodes, over what is configured.</Trans>}>
      <Reading of={info}>
        {(i) => (
          <>
            <Register now={i.registration as Mode} onDone={info.set} />
            <Named now={i} onDone={info.set} />
            <Section title={t`Guests`} about={<Trans>Set in the server’s configuration: accounts.guests.</Trans>}><Row title={<Trans>Guests</Trans>} about={i.guests === true ? t`Guests are taken` : t`Guests aren’t allowed`} /></Section>
          </>
        )}
      </Reading>
    </Page>
  )
}

function Register({ now, onDone }: { now: Mode; onDone: (i: Info) => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [mode, setMode] = useState<Mode>(now)
  const save = useAction(async () => {
    const r = await call("skein.v1.AdminService/SetServerSettings", { registration: mode })
    if (r.info !== undefined) onDone(r.info)
    toast(t`Saved. It counts from now on.`)
  })
  return (
    <Section title={t`Registration`}>
      <Form onSubmit={() => void save.run()}>
        <Choice label={t`Who can register`} value={mode} onChange={setMode} options={[
          { value: "REGISTRATION_MODE_OPEN", label: t`Everybody`, about: t`Whoever reaches this server makes an account.` },
          { value: "REGISTRATION_MODE_INVITATION", label: t`Who has an invitation`, about: t`Links are made under Invitations.` },
          { value: "REGISTRATION_MODE_CLOSED", label: t`Nobody`, about: t`Administrators create accounts.` },
        ]} />
        <Refusal error={save.error} />
        <Actions><Button look="primary" submit busy={save.pending} disabled={mode === now}><Trans>Save</Trans></Button></Actions>
      </Form>
    </Section>
  )
}

function Named({ now, onDone }: { now: Info; onDone: (i: Info) => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [name, setName] = useState(now.name ?? "")
  const [picture, setPicture] = useState(now.picture ?? "")
  const save = useAction(async () => {
    const r = await call("skein.v1.AdminService/SetServerSettings", { ...(name.trim() === (now.name ?? "") ? {} : { name: name.trim() }), ...(picture.trim() === (now.picture ?? "") ? {} : { picture: picture.trim() }) })
    if (r.info !== undefined) { onDone(r.info); setName(r.info.name ?? ""); setPicture(r.info.picture ?? "") }
    toast(t`Saved. It counts from now on.`)
  })
  const errors = useFieldErrors(save.error, "name", "picture")
  return (
    <Section title={t`Name and picture`}>
      <Form onSubmit={() => void save.run()}>
        <Field label={t`Name of this server`} value={name} onChange={(e) => setName(e.currentTarget.value)} hint={t`Empty: as it is configured.`} error={errors.of("name")} />
        <Field label={t`Address of a picture`} type="url" value={picture} onChange={(e) => setPicture(e.currentTarget.value)} placeholder="https://" hint={t`Begins with https. Empty: as it is configured.`} error={errors.of("picture")} />
        <Refusal error={errors.rest} />
        <Actions><Button look="primary" submit busy={save.pending} disabled={name.trim() === (now.name ?? "") && picture.trim() === (now.picture ?? "")}><Trans>Save</Trans></Button></Actions>
      </Form>
    </Section>
  )
}
