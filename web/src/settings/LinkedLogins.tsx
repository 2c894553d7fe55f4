import { Trans, useLingui } from "@lingui/react/macro"
import { SkeinError, type Response } from "@skein-im/client"
import { useAction, useClient } from "@skein-im/react"
import { KeyRound } from "lucide-react"
import { useState } from "react"
import { useSearchParams } from "wouter"
import { canProvider } from "../auth/provider.js"
import { Password } from "../auth/Password.js"
import { momentOf } from "../timeline/format.js"
import { Button, Dialog, ErrorNote, Field, Note, toast } from "../ui/index.js"
import { useFieldErrors } from "./fields.js"
import { beginLinking, endLinking, verifierHere } from "./linking.js"
import { Actions, Form, Row, Section } from "./parts.js"
import { useLoad } from "./useLoad.js"

type Identity = NonNullable<Response<"skein.v1.AccountService/ListIdentities">["identities"]>[number]
type Provider = NonNullable<Response<"skein.v1.AccountService/ListLoginProviders">["providers"]>[number]

/** Other ways to log in: nothing is shown where the server has none and the account neither. */
export function LinkedLogins({ password }: { password: boolean }) {
  const { t } = useLingui()
  const client = useClient()
  const [search, setSearch] = useSearchParams()
  const back = search.get("code") ?? ""
  const [pasting, setPasting] = useState(false)
  const [removing, setRemoving] = useState<Identity | undefined>(undefined)
  const all = useLoad(async (signal) => {
    const [providers, identities] = await Promise.all([
      client.call("skein.v1.AccountService/ListLoginProviders", {}, { signal }), client.call("skein.v1.AccountService/ListIdentities", {}, { signal }),
    ])
    return { providers: providers.providers ?? [], identities: identities.identities ?? [] }
  })
  const begin = useAction(async (p: Provider) => {
    if (!(await beginLinking(client, p.name ?? ""))) setPasting(true)
  })
  const { providers = [], identities = [] } = all.data ?? {}
  if (all.error === undefined && providers.length + identities.length === 0) return null
  const titleOf = (name: string | undefined): string => providers.find((p) => p.name === name)?.title ?? name ?? ""
  const free = canProvider() ? providers.filter((p) => !identities.some((i) => i.provider === p.name)) : []
  const refused = search.get("error") ?? ""
  const clear = (): void => setSearch({}, { replace: true })
  return (
    <Section title={t`Other ways to log in`}>
      {all.error !== undefined && <ErrorNote error={all.error} onRetry={all.reload} />}
      {refused !== "" && <ErrorNote error={new SkeinError({ code: refused })} />}
      {identities.map((i) => (
        <Row key={i.id} icon={<KeyRound />} title={titleOf(i.provider)} about={[i.email || i.name, i.lastUsedAtMs === undefined ? "" : t`used ${momentOf(Number(i.lastUsedAtMs))}`].filter((x) => (x ?? "") !== "").join(" · ")}>
          <Button look="quiet" onClick={() => setRemoving(i)}><Trans>Remove</Trans></Button>
        </Row>
      ))}
      {free.map((p) => <Row key={p.name} icon={<KeyRound />} title={p.title ?? ""} about={<Trans>Not linked</Trans>}><Button busy={begin.pending} onClick={() => void begin.run(p)}><Trans>Link</Trans></Button></Row>)}
      {begin.error !== undefined && <ErrorNote error={begin.error} />}
      {(pasting || (back !== "" && verifierHere() !== "")) && <Finish code={back} password={password} onClose={() => { setPasting(false); endLinking(); clear() }} onDone={all.reload} />}
      {removing !== undefined && <Remove identity={removing} title={titleOf(removing.provider)} password={password} onClose={() => setRemoving(undefined)} onDone={all.reload} />}
    </Section>
  )
}

function Finish({ code: given, password, onClose, onDone }: { code: string; password: boolean; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [code, setCode] = useState(given)
  const [proof, setProof] = useState("")
  const link = useAction(async () => {
    await client.call("skein.v1.AccountService/LinkIdentity", { code: code.trim(), verifier: verifierHere(), password: proof })
    onDone()
    onClose()
    toast(t`From now on you can log in by it.`)
  })
  const errors = useFieldErrors(link.error, "code", "password")
  const gone = link.error?.code === "not_found" || link.error?.code === "too_late"
  return (
    <Dialog open onClose={onClose} title={t`Link this login`} size="s" about={given === "" ? t`Log in in the new window, then copy the code it shows.` : t`Was that you logging in there? Link it to this account?`}>
      <Form onSubmit={() => void link.run()}>
        {given === "" && <Field label={t`Code`} value={code} onChange={(e) => setCode(e.currentTarget.value)} required autoFocus spellCheck={false} autoComplete="off" error={errors.of("code")} />}
        {password && <Password label={t`Your password`} value={proof} onChange={(e) => setProof(e.currentTarget.value)} required autoComplete="current-password" error={errors.of("password")} />}
        {errors.rest !== undefined && (gone ? <Note tone="warning"><Trans>This took too long. Start again.</Trans></Note> : link.error?.code === "already_exists" ? <Note tone="warning"><Trans>Someone else here already uses that login.</Trans></Note> : <ErrorNote error={errors.rest} />)}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={link.pending}><Trans>Link</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}

function Remove({ identity, title, password, onClose, onDone }: { identity: Identity; title: string; password: boolean; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [proof, setProof] = useState("")
  const run = useAction(async () => {
    await client.call("skein.v1.AccountService/UnlinkIdentity", { id: identity.id ?? "", password: proof })
    onDone()
    onClose()
  })
  const errors = useFieldErrors(run.error, "password")
  return (
    <Dialog open onClose={onClose} title={t`Stop logging in with ${title}?`} size="s" about={t`Devices that are logged in stay logged in.`}>
      <Form onSubmit={() => void run.run()}>
        {password && <Password label={t`Your password`} value={proof} onChange={(e) => setProof(e.currentTarget.value)} required autoFocus autoComplete="current-password" error={errors.of("password")} />}
        {errors.rest !== undefined && (run.error?.code === "permission_denied" ? <Note tone="warning"><Trans>It is your only way to log in.</Trans></Note> : <ErrorNote error={errors.rest} />)}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="danger" submit busy={run.pending}><Trans>Remove</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
