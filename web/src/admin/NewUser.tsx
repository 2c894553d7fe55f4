import { Trans, useLingui } from "@lingui/react/macro"
import type { User } from "@skein-im/react"
import { useAction } from "@skein-im/react"
import { useState } from "react"
import { Password } from "../auth/Password.js"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, CopyText, Form } from "../settings/parts.js"
import { Button, Dialog, ErrorNote, Field } from "../ui/index.js"
import { madePassword } from "./links.js"
import { useCall } from "./useRole.js"

/** Makes an account for somebody; what they log in with is shown then, to be given to them. */
export function NewUser({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [username, setUsername] = useState("")
  const [displayName, setDisplayName] = useState("")
  const [password, setPassword] = useState(() => madePassword())
  const [made, setMade] = useState<User | undefined>(undefined)
  const make = useAction(async () => {
    const { user } = await call("skein.v1.AdminService/CreateUser", { username: username.trim().toLowerCase(), displayName: displayName.trim(), password })
    setMade(user)
    onDone()
  })
  const errors = useFieldErrors(make.error, "username", "displayName", "password")
  if (made !== undefined) {
    return (
      <Dialog open onClose={onClose} title={t`Account created`} size="s" about={t`Pass this on to the new user. They can change the password in the settings.`} actions={<Button look="primary" onClick={onClose}><Trans>Done</Trans></Button>}>
        <Form onSubmit={onClose}>
          <CopyText label={t`Address`} value={`${location.origin}/login`} />
          <CopyText label={t`User name`} value={made.username ?? ""} mono />
          <CopyText label={t`Password`} value={password} mono />
        </Form>
      </Dialog>
    )
  }
  return (
    <Dialog open onClose={onClose} title={t`New user`} size="s">
      <Form onSubmit={() => void make.run()}>
        <Field label={t`Name`} value={displayName} onChange={(e) => setDisplayName(e.currentTarget.value)} maxLength={64} autoFocus autoComplete="off" hint={t`This is how others see you.`} error={errors.of("displayName")} />
        <Field label={t`User name`} value={username} onChange={(e) => setUsername(e.currentTarget.value)} required minLength={3} maxLength={32} autoCapitalize="none" spellCheck={false} autoComplete="off" error={errors.of("username")} />
        <Password label={t`Password`} value={password} onChange={(e) => setPassword(e.currentTarget.value)} required minLength={8} maxLength={200} autoComplete="new-password" error={errors.of("password")} />
        {errors.rest !== undefined && <ErrorNote error={errors.rest} />}
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={make.pending}><Trans>Create account</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
