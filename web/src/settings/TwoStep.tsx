import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient } from "@skein-im/react"
import { useState } from "react"
import { Password } from "../auth/Password.js"
import { Button, Dialog, ErrorNote, Field, Note, Tag } from "../ui/index.js"
import { Proof } from "./Account.js"
import { useFieldErrors } from "./fields.js"
import { Actions, Codes, CopyText, Form, Row, Section } from "./parts.js"
import { QrCode } from "./QrCode.js"
import type { Security } from "./security.js"

/** The second factor: an authenticator app, and recovery codes. */
export function TwoStep({ now, onChanged }: { now: Security; onChanged: () => void }) {
  const { t } = useLingui()
  const [doing, setDoing] = useState<"on" | "off" | "codes" | undefined>(undefined)
  const left = now.recoveryCodesLeft ?? 0
  const close = (): void => { setDoing(undefined); onChanged() }
  return (
    <Section title={t`Two-step login`} about={<Trans>Logging in then takes your password and a code from an app on your phone. A stolen password is not enough.</Trans>}>
      {now.totp === true ? (
        <>
          <Row title={<Trans>Authenticator app</Trans>} tag={<Tag tone="success"><Trans>On</Trans></Tag>}><Button onClick={() => setDoing("off")}><Trans>Turn off</Trans></Button></Row>
          <Row title={<Trans>Recovery codes</Trans>} about={left === 0 ? <Trans>None are left. Create new ones before you need them.</Trans> : <Plural value={left} one="# is left." other="# are left." />} tag={left <= 2 ? <Tag tone="warning"><Trans>Few left</Trans></Tag> : undefined}>
            <Button onClick={() => setDoing("codes")}><Trans>New codes</Trans></Button>
          </Row>
        </>
      ) : <Row title={<Trans>Authenticator app</Trans>} tag={<Tag><Trans>Off</Trans></Tag>}><Button onClick={() => setDoing("on")}><Trans>Turn on</Trans></Button></Row>}
      {doing === "on" && <TurnOn onClose={close} />}
      {(doing === "off" || doing === "codes") && <Change what={doing} now={now} onClose={close} />}
    </Section>
  )
}

type Step = { at: "password" } | { at: "scan"; secret: string; uri: string } | { at: "codes"; codes: readonly string[] }

function TurnOn({ onClose }: { onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [step, setStep] = useState<Step>({ at: "password" })
  const [password, setPassword] = useState("")
  const [code, setCode] = useState("")
  const next = useAction(async () => {
    if (step.at === "password") {
      const { secret = "", uri = "" } = await client.call("skein.v1.AccountService/BeginTotp", { password })
      setStep({ at: "scan", secret, uri })
    } else {
      const { recoveryCodes = [] } = await client.call("skein.v1.AccountService/ConfirmTotp", { code: code.trim() })
      setStep({ at: "codes", codes: recoveryCodes })
    }
  })
  const errors = useFieldErrors(next.error, step.at === "password" ? "password" : "code")
  if (step.at === "codes") {
    return (
      <Dialog open onClose={onClose} title={t`Save your recovery codes`} about={t`Two-step login is on.`} size="s" actions={<Button look="primary" onClick={onClose}><Trans>I have saved them</Trans></Button>}>
        <Recovery codes={step.codes} />
      </Dialog>
    )
  }
  return (
    <Dialog open onClose={onClose} title={t`Turn on two-step login`} size="s" about={step.at === "password" ? t`First, your password.` : t`Scan this with an authenticator app, then enter the 6-digit code it shows.`}>
      <Form onSubmit={() => void next.run()}>
        {step.at === "password"
          ? <Password label={t`Your password`} value={password} onChange={(e) => setPassword(e.currentTarget.value)} required autoFocus autoComplete="current-password" error={errors.of("password")} />
          : (
            <>
              <QrCode text={step.uri} label={t`Secret as a QR code`} />
              <CopyText label={t`Secret, to type into an app`} value={step.secret.replace(/(.{4})(?=.)/g, "$1 ")} mono />
              <Field label={t`Code`} value={code} onChange={(e) => setCode(e.currentTarget.value)} required autoFocus inputMode="numeric" autoComplete="one-time-code" maxLength={7} error={errors.of("code")} />
            </>
          )}
        {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={next.pending}>{step.at === "password" ? <Trans>Continue</Trans> : <Trans>Turn on</Trans>}</Button></Actions>
      </Form>
    </Dialog>
  )
}

function Recovery({ codes }: { codes: readonly string[] }) {
  return (
    <>
      <Codes codes={codes} name="skein-recovery-codes.txt" />
      <Note tone="warning"><Trans>They are shown only once. Each one lets you in once if you lose the app.</Trans></Note>
    </>
  )
}

/** Turns it off, or makes new recovery codes: both need the password and a code. */
function Change({ what, now, onClose }: { what: "off" | "codes"; now: Security; onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [password, setPassword] = useState("")
  const [code, setCode] = useState("")
  const [codes, setCodes] = useState<readonly string[]>([])
  const run = useAction(async () => {
    const proof = { password, code: code.trim() }
    if (what === "off") {
      await client.call("skein.v1.AccountService/DisableTotp", proof)
      onClose()
    } else setCodes((await client.call("skein.v1.AccountService/NewRecoveryCodes", proof)).recoveryCodes ?? [])
  })
  const errors = useFieldErrors(run.error, "password", "code")
  if (codes.length > 0) {
    return (
      <Dialog open onClose={onClose} title={t`Save your recovery codes`} about={t`The old ones no longer work.`} size="s" actions={<Button look="primary" onClick={onClose}><Trans>I have saved them</Trans></Button>}>
        <Recovery codes={codes} />
      </Dialog>
    )
  }
  return (
    <Dialog open onClose={onClose} title={what === "off" ? t`Turn off two-step login?` : t`New recovery codes`} size="s">
      <Form onSubmit={() => void run.run()}>
        <Proof now={now} password={password} setPassword={setPassword} code={code} setCode={setCode} errors={errors} />
        {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look={what === "off" ? "danger" : "primary"} submit busy={run.pending}>{what === "off" ? <Trans>Turn off</Trans> : <Trans>Create new codes</Trans>}</Button></Actions>
      </Form>
    </Dialog>
  )
}
