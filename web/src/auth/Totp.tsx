import { Trans, useLingui } from "@lingui/react/macro"
import { useState } from "react"
import { Button, ErrorNote, Field } from "../ui/index.js"
import { Frame } from "./Frame.js"
import { http } from "./http.js"
import { begin, device } from "./session.js"
import { useSubmit } from "./useSubmit.js"

/** The second step of a login: a code of an authenticator app, or a recovery code. */
export function Totp({ ticket, username, onBack }: { ticket: string; username: string; onBack: () => void }) {
  const { t } = useLingui()
  const [code, setCode] = useState("")
  const { busy, error, onSubmit } = useSubmit(async () => {
    begin(await http("skein.v1.AccountService/LoginWithCode", { ticket, code: code.trim(), device: device(), stayLoggedIn: true }), username)
  })
  return (
    <Frame title={t`One more step`} about={<Trans>Enter the 6-digit code from your authenticator app, or a recovery code.</Trans>}>
      <form onSubmit={onSubmit}>
        <Field label={t`Code`} value={code} onChange={(e) => setCode(e.currentTarget.value)} required autoFocus autoComplete="one-time-code" autoCapitalize="characters" spellCheck={false} />
        {error !== undefined && <ErrorNote error={error} />}
        <Button look="primary" wide submit busy={busy}><Trans>Log in</Trans></Button>
        <Button look="quiet" wide onClick={onBack}><Trans>Back</Trans></Button>
      </form>
    </Frame>
  )
}
