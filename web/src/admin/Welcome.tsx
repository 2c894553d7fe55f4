import { Trans, useLingui } from "@lingui/react/macro"
import { useAction, useClient, useProfiles, useUser } from "@skein-im/react"
import { Check, ChevronRight } from "lucide-react"
import { useState, type ReactNode } from "react"
import { useLocation } from "wouter"
import { useFieldErrors } from "../settings/fields.js"
import { CopyText, Form } from "../settings/parts.js"
import { Portrait } from "../settings/Portrait.js"
import { QrCode } from "../settings/QrCode.js"
import { Brand } from "../ui/Brand.js"
import { Button, ErrorNote, Field, Loading, Note } from "../ui/index.js"
import { joinUrl } from "./links.js"
import { NewLink } from "./Links.js"
import { may } from "./access.js"
import { useRole } from "./useRole.js"
import s from "./Welcome.module.css"

type Step = "you" | "join" | "group"

/** The first minute of who set this place up: who they are, how others come in, a first group. Each step may be left out. */
export function Welcome() {
  const { t } = useLingui()
  const role = useRole()
  const [, go] = useLocation()
  const [step, setStep] = useState<Step>("you")
  if (role === undefined) return <Loading />
  const admin = may(role, "manage")
  const steps: readonly Step[] = admin ? ["you", "join", "group"] : ["you", "group"]
  const at = Math.max(0, steps.indexOf(step))
  const next = (): void => {
    const to = steps[at + 1]
    if (to === undefined) go("/", { replace: true })
    else setStep(to)
  }
  return (
    <div className={s.scroll}>
      <div className={s.page}>
        <Brand className={s.brand} />
        <ol className={s.steps} aria-label={t`Steps`}>
          {steps.map((x, i) => <li key={x} className={s.step} data-done={i < at || undefined} aria-current={i === at ? "step" : undefined}><span className="visually-hidden">{i + 1}</span>{i < at && <Check aria-hidden="true" />}</li>)}
        </ol>
        {step === "you" && <You admin={admin} onNext={next} />}
        {step === "join" && <Join onNext={next} />}
        {step === "group" && <FirstGroup onNext={next} />}
      </div>
    </div>
  )
}

function Frame({ title, about, children, onSkip, skip }: { title: string; about: ReactNode; children: ReactNode; onSkip: () => void; skip: string }) {
  return (
    <section className={s.card}>
      <h1 className={s.title}>{title}</h1>
      <p className={s.about}>{about}</p>
      {children}
      <Button look="quiet" wide onClick={onSkip}>{skip}</Button>
    </section>
  )
}

function You({ admin, onNext }: { admin: boolean; onNext: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const profiles = useProfiles()
  const me = useUser(client.user)
  const [name, setName] = useState<string | undefined>(undefined)
  const value = name ?? me?.displayName ?? ""
  const save = useAction(async () => {
    if (value.trim() !== me?.displayName) {
      const { user } = await client.call("skein.v1.UserService/UpdateProfile", { displayName: value.trim() })
      if (user !== undefined) profiles.put([user])
    }
    onNext()
  })
  const errors = useFieldErrors(save.error, "displayName")
  return (
    <Frame title={t`Welcome`} about={admin ? <Trans>You are the administrator of this server. Three short steps, and others can join you.</Trans> : <Trans>Two short steps, and you can begin.</Trans>} onSkip={onNext} skip={t`Not now`}>
      <Portrait />
      <Form onSubmit={() => void save.run()}>
        <Field label={t`Your name`} value={value} onChange={(e) => setName(e.currentTarget.value)} required maxLength={64} autoComplete="name" hint={t`This is how others see you.`} error={name !== undefined && name.trim() === "" ? t`Enter your name.` : errors.of("displayName")} />
        {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
        <Button look="primary" wide submit busy={save.pending} disabled={value.trim() === ""}><Trans>Continue</Trans></Button>
      </Form>
    </Frame>
  )
}

function Join({ onNext }: { onNext: () => void }) {
  const { t } = useLingui()
  const [made, setMade] = useState(false)
  return (
    <Frame title={t`Who can join`} about={<Trans>Share the link, or let people scan the code. It works even where registration is closed.</Trans>} onSkip={onNext} skip={made ? t`Continue` : t`Not now`}>
      <NewLink onDone={() => setMade(true)} />
      <Note><Trans>Who can register without a link is set in the server’s configuration: accounts.registration.</Trans></Note>
    </Frame>
  )
}

function FirstGroup({ onNext }: { onNext: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const [name, setName] = useState("")
  const [request] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join("-"))
  const [made, setMade] = useState<{ conversation: string; url: string } | undefined>(undefined)
  const make = useAction(async () => {
    const { group } = await client.call("skein.v1.GroupService/CreateGroup", { name: name.trim(), members: [], requestId: request })
    const conversation = group?.conversation ?? ""
    // Who has the link is in: for a first group nobody wants to be asked for each.
    await client.call("skein.v1.GroupService/UpdateGroup", { conversation, join: "JOIN_MODE_OPEN" })
    const { link } = await client.call("skein.v1.GroupService/CreateInviteLink", { conversation })
    setMade({ conversation, url: joinUrl(location.origin, link?.code ?? "") })
  })
  const errors = useFieldErrors(make.error, "name")
  if (made !== undefined) {
    return (
      <Frame title={t`${name.trim()} is ready`} about={<Trans>Anyone with an account here can join with this link.</Trans>} onSkip={onNext} skip={t`Close`}>
        <Form onSubmit={() => go(`/c/${made.conversation}`)}>
          <QrCode text={made.url} label={t`The link as a QR code`} />
          <CopyText label={t`The link`} value={made.url} />
          <Button look="primary" wide submit icon={<ChevronRight />}><Trans>Open the group</Trans></Button>
        </Form>
      </Frame>
    )
  }
  return (
    <Frame title={t`Your first group`} about={<Trans>A place for everyone. You get a link that others can join with.</Trans>} onSkip={onNext} skip={t`Not now`}>
      <Form onSubmit={() => void make.run()}>
        <Field label={t`Group name`} value={name} onChange={(e) => setName(e.currentTarget.value)} required maxLength={64} autoFocus placeholder={t`Everyone`} error={errors.of("name")} />
        {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
        <Button look="primary" wide submit busy={make.pending}><Trans>Create group</Trans></Button>
      </Form>
    </Frame>
  )
}
