import { SkeinError } from "@skein-im/client"
import { Trans, useLingui } from "@lingui/react/macro"
import { useEffect, useRef, useState } from "react"
import { Button, ErrorNote, Loading } from "../ui/index.js"
import { Frame } from "./Frame.js"
import { http } from "./http.js"
import { takeVerifier } from "./provider.js"
import { begin, device } from "./session.js"
import { Totp } from "./Totp.js"

/** Back from a provider: finishes the login with the code in the address. */
export function ProviderReturn({ code, refused, onDone }: { code: string; refused: string; onDone: () => void }) {
  const { t } = useLingui()
  const [error, setError] = useState<unknown>(refused === "" ? undefined : new SkeinError({ code: refused }))
  const [ticket, setTicket] = useState("")
  const begun = useRef(false)
  useEffect(() => {
    if (begun.current || refused !== "") return // a code is good once
    begun.current = true
    http("skein.v1.AccountService/FinishProviderLogin", { code, verifier: takeVerifier(), device: device(), stayLoggedIn: true })
      .then((r) => { begin(r, ""); onDone() }, (e: unknown) => {
        if (e instanceof SkeinError && e.code === "totp_required") setTicket(e.ticket)
        else setError(e)
      })
  }, [code, refused, onDone])
  if (ticket !== "") return <Totp ticket={ticket} username="" onBack={onDone} />
  return (
    <Frame title={error === undefined ? t`Logging in` : t`That didn’t work`}>
      {error === undefined ? <Loading /> : <><ErrorNote error={error} /><Button look="primary" wide onClick={onDone}><Trans>Back</Trans></Button></>}
    </Frame>
  )
}
