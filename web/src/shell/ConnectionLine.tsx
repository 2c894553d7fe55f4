import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { WifiOff } from "lucide-react"
import { useEffect, useState } from "react"
import { useClient, useConnection, useView } from "@skein-im/react"
import { Button } from "../ui/index.js"
import s from "./ConnectionLine.module.css"

/** Moments without a connection are nobody's business. */
const patience = 2500

/** Says when there is no connection, since when, and what waits for it. */
export function ConnectionLine() {
  const { i18n } = useLingui()
  const client = useClient()
  const { state } = useConnection()
  const waiting = useView(client.outbox).filter((m) => m.status === "pending").length
  const off = state === "disconnected" || state === "connecting"
  const [since, setSince] = useState(0)
  useEffect(() => {
    if (!off) {
      setSince(0)
      return undefined
    }
    const from = Date.now()
    const timer = setTimeout(() => setSince(from), patience)
    return () => clearTimeout(timer)
  }, [off])
  useEffect(() => {
    const back = (): void => client.reconnect()
    addEventListener("online", back)
    return () => removeEventListener("online", back)
  }, [client])
  if (since === 0) return <div role="status" />
  const time = i18n.date(new Date(since), { timeStyle: "short" })
  return (
    <div role="status" className={s.line}>
      <WifiOff aria-hidden="true" />
      <span className={s.words}>
        <Trans>Offline since {time}.</Trans>{" "}
        {waiting > 0 ? <Plural value={waiting} one="# message waits to be sent." other="# messages wait to be sent." /> : <Trans>What you write is sent when you’re back online.</Trans>}
      </span>
      <Button look="quiet" className={s.again} onClick={() => client.reconnect()}><Trans>Try now</Trans></Button>
    </div>
  )
}
